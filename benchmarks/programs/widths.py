"""Time of an element, in ns, by the width of rows: spmdc beside JAX, on one core.

    python widths.py BINARIES [--before SPMDC] [--only NAMES] [--widths 4,8,...] [--rounds 5]

Run by a Python that has jax. BINARIES is the folder of spmdc and spmd-run; --before names an earlier spmdc to measure as
well. Arrays have 2^20 elements. All take turns, and a time is the least of all rounds: neighbours only ever add to it. Prints
Markdown.
"""

import argparse
import os
import pathlib
import re
import subprocess
import tempfile
import time

os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # Before jax creates its threads.

import jax
import jax.numpy as jnp
import numpy
import turns

ELEMENTS, CALLS = 1 << 20, 30
#: name: (the expression in spmdc's language, a function for JAX)
PROGRAMS = {
    "softmax": ("softmax(x, axis=1)", lambda x: jax.nn.softmax(x, axis=1)),
    "max": ("max(x, axis=1)", lambda x: x.max(1)),
    "argmax": ("argmax(x, axis=1)", lambda x: x.argmax(1)),
    "tanh of all but a column": ("tanh(x[:, 1:])", lambda x: jnp.tanh(x[:, 1:])),
    "all but a column + 1": ("x[:, 1:] + 1.0", lambda x: x[:, 1:] + 1.0),
    "sum of rows": ("sum(x, axis=0)", lambda x: x.sum(0)),
    "softmax of columns": ("softmax(x, axis=0)", lambda x: jax.nn.softmax(x, axis=0)),
    "times a vector": ("x @ x[0]", lambda x: x @ x[0]),
    "exp of row - first row": ("exp(x - x[0])", lambda x: jnp.exp(x - x[0])),
    "outer products of rows": ("x[:, :, None] * x[:, None, :]", lambda x: x[:, :, None] * x[:, None, :]),
    "roll": ("roll(x, 1, axis=1)", lambda x: jnp.roll(x, 1, axis=1)),
}


def time_spmdc(run, artifact):
    done = subprocess.run([run, artifact, "--repeat", str(CALLS), "--input", "x=normal:1"], capture_output=True, text=True, check=True)
    return float(re.search(r"minimum ([\d.]+)", done.stdout + done.stderr)[1]) * 1e3


def time_jax(function, x):
    times = []
    for _ in range(CALLS):
        began = time.perf_counter_ns()
        function(x).block_until_ready()
        times.append(time.perf_counter_ns() - began)
    return min(times)


def measure(arguments, name, width, folder):
    rows = max(1, ELEMENTS // width)
    expression, function = PROGRAMS[name]
    source = folder / "program.spmd"
    source.write_text(f"fn main(x: f32[{rows}, {width}]) {{ return {expression}; }}\n")
    x = jnp.asarray(numpy.random.default_rng(1).standard_normal((rows, width), dtype="float32"))
    compiled = jax.jit(function)
    compiled(x).block_until_ready()
    run = arguments.binaries / "spmd-run"
    times = turns.measure(arguments, source, lambda artifact: time_spmdc(run, artifact), lambda: time_jax(compiled, x))
    return [time / (rows * width) for time in times]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    turns.add_arguments(parser, rounds=5)
    parser.add_argument("--widths", default="4,8,12,15,20,28,44,60,100,1000")
    arguments = parser.parse_args()
    widths = [int(width) for width in arguments.widths.split(",")]
    turns.print_header(arguments, "ns an element", widths)
    with tempfile.TemporaryDirectory() as folder:
        for name in turns.choose(arguments.only, PROGRAMS):
            row = [", ".join(f"{time:.2f}" for time in measure(arguments, name, width, pathlib.Path(folder))) for width in widths]
            print(f"| {name} | " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
