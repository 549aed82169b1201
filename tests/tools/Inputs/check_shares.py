"""The least time of a kernel, by tools/gpu_check/report.py: both times of a share include a launch, or none does."""

import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools"))

from gpu_check import report  # noqa: E402

BY_EVENTS = {"copy_seconds": [(1000, 5e-6), (2000, 6e-6)], "flops_per_second": {"bf16": 1e12}}
BY_BOTH = {**BY_EVENTS, "copy_alone_seconds": [(1000, 1e-6), (2000, 2e-6)]}


def least(machine, moved, flops=None, **row):
    return report.least_us({"bytes": moved, "flops": flops or {}, **row}, machine)


def expect(actual, expected):
    assert abs(actual - expected) < 1e-9, (actual, expected)


expect(least(BY_BOTH, 2000), 6)
expect(least(BY_BOTH, 1500, has_launch=True), 5.5)
expect(least(BY_BOTH, 1500, has_launch=False), 1.5)
expect(least(BY_BOTH, 4000, has_launch=False), 4)
expect(least(BY_EVENTS, 1500, has_launch=False), 5.5)  # Torch's profiler has recorded nothing.
expect(least(BY_BOTH, 1000, {"bf16": 3_000_000}, has_launch=False), 3)
assert least(BY_BOTH, 1000, {"f32": 1}) is None
print("all as they should be")
