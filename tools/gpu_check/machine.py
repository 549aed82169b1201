"""Prints versions and rates of the machine as one line of JSON. The check runs it as a process of its own, since torch takes
seconds to load and may fail.

    copy_bytes_per_second   of a copy of 1 GiB on the device, bytes read and bytes written
    copy_seconds            pairs of the bytes that a copy moves (read and written) and its seconds, launch included
    copy_alone_seconds      the same without the launch, as CUPTI records it for torch's profiler; absent if it records none
    flops_per_second        of cuBLASLt through torch.matmul, by element type: bf16 of size 8192, f32 (no tf32) of size 4096
"""

import importlib.metadata
import json
import platform
import statistics
import subprocess

PACKAGES = ("numpy", "torch", "jax", "jaxlib", "triton", "nvidia-nccl-cu13", "nvidia-nccl-cu12", "nvidia-cublas",
            "nvidia-cublas-cu12")
CALLS = 20


def versions():
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            pass
    try:
        fields = "name,driver_version,memory.total,clocks.max.sm"
        query = subprocess.run(["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader"], capture_output=True, text=True,
                               timeout=30, check=True)
        found["gpu"] = query.stdout.strip().splitlines()[0]
    except (OSError, subprocess.SubprocessError, IndexError):
        found["gpu"] = "no nvidia-smi"
    return found


def device_seconds(torch, work, before=lambda: None):
    """The median of single calls, by events on the device. While the device is busy with `before`, the host queues `work` and
    its events: so the time of a short call has nothing of the host's."""
    for _ in range(3):
        work()
    pairs = []
    for _ in range(CALLS):
        before()
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        work()
        end.record()
        pairs.append((begin, end))
    torch.cuda.synchronize()
    return statistics.median(begin.elapsed_time(end) for begin, end in pairs) / 1e3


def alone_seconds(torch, work):
    """The median of single calls of one kernel or copy, as torch's profiler (CUPTI) records them; None if it does not."""
    try:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
            for _ in range(CALLS):
                work()
            torch.cuda.synchronize()
        times = [event.time_range.elapsed_us() for event in profile.events()
                 if event.device_type == torch.autograd.DeviceType.CUDA]
    except (RuntimeError, AttributeError):
        return None
    return statistics.median(times) / 1e6 if len(times) == CALLS else None


def rates():
    import torch
    if not torch.cuda.is_available():
        return {"failure": "torch sees no GPU"}
    torch.backends.cuda.matmul.allow_tf32 = False
    source = torch.empty(2 ** 30, dtype=torch.uint8, device="cuda").random_()
    target = torch.empty_like(source)
    copies, alone = [], []
    for size in (2 ** power for power in range(16, 31, 2)):
        copies.append((2 * size, device_seconds(torch, lambda: target[:size].copy_(source[:size]),
                                                before=lambda: target.copy_(source))))
        alone.append((2 * size, alone_seconds(torch, lambda: target[:size].copy_(source[:size]))))
    found = {"copy_bytes_per_second": copies[-1][0] / copies[-1][1], "copy_seconds": copies, "flops_per_second": {}}
    if all(seconds for _, seconds in alone):
        found["copy_alone_seconds"] = alone
    del source, target
    for dtype, size in (("bf16", 8192), ("f32", 4096)):
        type_ = {"bf16": torch.bfloat16, "f32": torch.float32}[dtype]
        # Random numbers: a product of zeros takes less power, so that its clock is higher.
        x, y = (torch.randn(size, size, device="cuda").to(type_) for _ in range(2))
        found["flops_per_second"][dtype] = 2 * size ** 3 / device_seconds(torch, lambda: torch.matmul(x, y))
    return found


def main():
    found = {"versions": versions()}
    print(json.dumps(found), flush=True)
    try:
        found.update(rates())
    except Exception as error:  # noqa: BLE001: the check goes on without these rates.
        found["failure"] = f"{type(error).__name__}: {error}"[:200]
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
