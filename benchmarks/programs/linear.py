"""Times of linear algebra by the size of matrices, in us: spmdc beside JAX, which calls LAPACK.

    python linear.py BINARIES [--before SPMDC] [--only NAMES] [--sizes 8,32,...] [--types f32,f64] [--batch 64] [--rounds 3]

Run by a Python that has jax. BINARIES is the folder of spmdc and spmd-run; --before names an earlier spmdc to measure as
well. One process of as many threads as there are cores. All take turns, and a time is the least of all rounds: neighbours only
ever add to it. Prints Markdown, with the ratio JAX / now. A program is not measured where a call of spmdc takes longer than
--limit seconds.
"""

import argparse
import os
import pathlib
import re
import subprocess
import tempfile
import time

import jax
import jax.numpy as jnp
import jax.scipy
import numpy
import turns

jax.config.update("jax_enable_x64", True)

SECONDS = 0.4  # Of calls in a round.
TYPES = {"f32": "float32", "f64": "float64", "c64": "complex64", "c128": "complex128"}


def positive(a):
    return a @ a.conj().swapaxes(-1, -2) / a.shape[-1] + numpy.eye(a.shape[-1], dtype=a.dtype)


def symmetric(a):
    return a + a.conj().swapaxes(-1, -2)


def triangular(a):
    return numpy.tril(a) + a.shape[-1] * numpy.eye(a.shape[-1], dtype=a.dtype)


#: name: (the function, what makes its matrix of random numbers)
PROGRAMS = {
    "cholesky": (jnp.linalg.cholesky, positive),
    "solve": (lambda a: jnp.linalg.solve(a, a[..., :1] + 1), None),
    "inv": (jnp.linalg.inv, None),
    "triangular_solve": (lambda a: jax.scipy.linalg.solve_triangular(a, a + 1, lower=True), triangular),
    "lu": (lambda a: jax.lax.linalg.lu(a), None),
    "qr": (jnp.linalg.qr, None),
    "eigh": (jnp.linalg.eigh, symmetric),
    "eigvalsh": (jnp.linalg.eigvalsh, symmetric),
    "svd": (lambda a: jnp.linalg.svd(a, full_matrices=False), None),
    "svdvals": (lambda a: jnp.linalg.svd(a, compute_uv=False), None),
    "eig": (jnp.linalg.eig, None),
    "lstsq": (lambda a: jnp.linalg.lstsq(a, a[:, 0] + 1)[0], None),
    "slogdet": (jnp.linalg.slogdet, None),
}


def time_spmdc(run, artifact, file, limit):
    def call(times):
        done = subprocess.run([run, artifact, "--repeat", str(times), "--input", f"a={file}"], capture_output=True, text=True, check=True, timeout=limit * 20 + 60)
        found = re.search(r"minimum ([\d.]+) *(\S+)", done.stdout + done.stderr)
        return float(found[1]) * {"us": 1, "ms": 1e3, "s": 1e6}[found[2].rstrip(",;.")]

    first = call(2)
    if first > limit * 1e6:
        return first
    return min(first, call(max(3, min(2000, int(SECONDS * 1e6 / first)))))


def time_jax(function, a):
    function(a)
    times, began = [], time.perf_counter()
    while len(times) < 3 or (time.perf_counter() - began < SECONDS and len(times) < 2000):
        start = time.perf_counter_ns()
        jax.block_until_ready(function(a))
        times.append(time.perf_counter_ns() - start)
    return min(times) / 1e3


def measure(arguments, name, size, dtype, batch, folder):
    function, make = PROGRAMS[name]
    shape = (batch, size, size) if batch else (size, size)
    random = numpy.random.default_rng(size)
    a = random.standard_normal(shape)
    if dtype.startswith("c"):
        a = a + 1j * random.standard_normal(shape)
    a = a.astype(TYPES[dtype])
    a = make(a).astype(a.dtype) if make else a
    file, source = folder / "a.npy", folder / "program.mlir"
    numpy.save(file, a)
    compiled = jax.jit(lambda a: function(a))
    source.write_text(compiled.lower(a).as_text(debug_info=True))
    run, own = arguments.binaries / "spmd-run", jnp.asarray(a)
    return turns.measure(arguments, source, lambda artifact: time_spmdc(run, artifact, file, arguments.limit),
                         lambda: time_jax(compiled, own))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    turns.add_arguments(parser, rounds=3)
    parser.add_argument("--sizes", default="8,32,64,128,256")
    parser.add_argument("--types", default="f32,f64")
    parser.add_argument("--batch", type=int, default=0, help="so many matrices in a call, instead of one")
    parser.add_argument("--limit", type=float, default=5)
    arguments = parser.parse_args()
    sizes = [int(size) for size in arguments.sizes.split(",")]
    turns.print_header(arguments, "us a call and JAX / now", sizes)
    with tempfile.TemporaryDirectory() as folder:
        for name in turns.choose(arguments.only, PROGRAMS):
            for dtype in arguments.types.split(","):
                print(f"| {name} {dtype} |", end="", flush=True)
                for size in sizes:
                    times = measure(arguments, name, size, dtype, arguments.batch, pathlib.Path(folder))
                    print(" " + ", ".join(f"{time:.4g}" for time in times) + f"; {times[-1] / times[-2]:.2f} |", end="", flush=True)
                    if times[-2] > arguments.limit * 1e6:
                        break
                print(flush=True)


if __name__ == "__main__":
    main()
