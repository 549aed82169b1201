"""Common code of this folder's measurements: programs of the language as text, and spmdc's output for them."""

import argparse
import json
import math
import os
import pathlib
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

# Every measurement compiles from scratch, and leaves no files.
os.environ["SPMD_NO_CACHE"] = "1"

BUILD = pathlib.Path(__file__).resolve().parents[2] / "build/release"


def arguments(description):
    """A parser that knows --build, and shows a module's documentation as it is written."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=BUILD)
    return parser


def mesh(axes):
    """`axes`: the size of each by its name."""
    return "mesh devices(" + ", ".join(f"{axis}={size}" for axis, size in axes.items()) + ")\n"


def array(shape, layout):
    """The type of an f32 array. `layout`: a tuple of the axes of each dimension, the major first; () is replicated."""
    def dim(size, axes):
        return f"{size}@{'(' + ','.join(axes) + ')' if len(axes) > 1 else axes[0] if axes else '_'}"
    return f"f32[{', '.join(map(dim, shape, layout))}]"


def spmdc(build, command, text, *options):
    """Runs `spmdc COMMAND FILE OPTIONS` on the text; what it prints. Where it fails, its message ends the measurement."""
    with tempfile.NamedTemporaryFile("w", suffix=".spmd") as file:
        file.write(text)
        file.flush()
        result = subprocess.run([build / "bin/spmdc", command, file.name, *options], capture_output=True, text=True)
    if result.returncode:
        raise SystemExit(result.stderr)
    return result.stdout


def inspect(build, text, rates=None):
    """`main` as `spmdc inspect --json` describes it. `rates`: the contents of a cost model file."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(rates or {}, file)
        file.flush()
        return json.loads(spmdc(build, "inspect", text, "--json", "--cost-model", file.name))["functions"][0]


def inspect_all(build, texts, rates=None):
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda text: inspect(build, text, rates), texts))


def operations(function):
    return [collective["op"] for collective in function["collectives"]]


def ratio(ours, least):
    return 1.0 if ours == least else ours / least if least else math.inf


def geometric_mean(ratios):
    """The geometric mean of the finite values."""
    finite = [value for value in ratios if math.isfinite(value)]
    return math.exp(sum(map(math.log, finite)) / len(finite))


def print_worst(count, rows):
    """`rows`: (ratio, bytes sent, least bytes, function, text) of each case."""
    for value, ours, least, function, text in sorted(rows, key=lambda row: -row[0])[:count]:
        print(f"  {value:.2f}: {ours:.0f} bytes where {least:.0f} are enough, {' '.join(operations(function))}: "
              f"{text.splitlines()[1]}")
