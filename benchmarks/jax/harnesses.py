"""Runs JAX's own test cases for exports here, and compares the results with JAX's.

    harnesses.py SPMDC [--group NAME] [--each N] [--failures]

The cases are those of jax._src.internal_test_util.test_harnesses (in JAX's wheel). Each is exported, run by `spmdc run`, and
compared: integers and bools exactly, floats within 1e-5 of the largest element (16-bit ones within 2e-2), eigenvectors and
singular vectors up to a factor of modulus 1 and within 1e-4. --each takes at most N cases of a group, evenly. Prints a row
for each group, and the refusals by their message; --failures prints each case that differs or crashes.
"""

import argparse
import collections
import pathlib
import re
import subprocess
import tempfile

import jax
import ml_dtypes
import numpy as np
from jax._src.internal_test_util import test_harnesses


def run_case(spmdc, harness, folder):
    """The outcome and its detail."""
    arguments = harness.dyn_args_maker(np.random.RandomState(1))
    function = jax.jit(harness.dyn_fun, keep_unused=True)
    try:
        expected = jax.tree.leaves(function(*arguments))
        text = function.lower(*arguments).as_text()
    except Exception as error:  # JAX itself refuses some cases on this platform.
        return "no export", type(error).__name__
    program = folder / "case.mlir"
    program.write_text(text)
    command = [spmdc, "run", str(program), "--print=false"]
    leaves = [np.asarray(jax.numpy.asarray(x)) for x in jax.tree.leaves(arguments)]  # In JAX's types.
    for number, leaf in enumerate(leaves):
        np.save(folder / f"in{number}.npy", leaf)
        command += ["--input", f"{number}={folder / f'in{number}.npy'}"]
    for number in range(len(expected)):
        command += ["--output", f"{number}={folder / f'out{number}.npy'}"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if result.returncode:
        lines = [line for line in result.stderr.splitlines() if "error:" in line] or result.stderr.splitlines() or [""]
        message = re.sub(r"^.*?error: ", "", lines[0])
        crashed = result.returncode < 0 or "internal error" in result.stderr
        return ("crash" if crashed else "refused"), message
    for number, want in enumerate(expected):
        have = np.load(folder / f"out{number}.npy")
        if have.dtype.kind == "V":  # NumPy's files have no bfloat16.
            have = have.view(ml_dtypes.bfloat16)
        want = np.asarray(want)
        is_vector = harness.group_name in VECTORS and agrees_up_to_phase(want, have)
        if not is_vector and not agrees(want, have):
            return "differs", f"result {number}"
    return "agrees", ""


# Groups whose results contain vectors that are defined up to a factor.
VECTORS = ("eig", "eigh", "svd")


def agrees_up_to_phase(want, have):
    """Whether each column, or each row, is that of JAX times a number of modulus 1."""
    if want.shape != have.shape or want.ndim < 2 or 0 in want.shape:
        return False

    def normal(x, axis):
        largest = np.take_along_axis(x, np.abs(want).argmax(axis, keepdims=True), axis)
        return x * (largest.conj() / np.maximum(np.abs(largest), 1e-30))

    return any(agrees(normal(want, axis), normal(have, axis), 1e-4) for axis in (-1, -2))


def agrees(want, have, tolerance=1e-5):
    if want.shape != have.shape:
        return False
    if want.dtype.name in ("bool",) or np.issubdtype(want.dtype, np.integer):
        return np.array_equal(want, have)
    if np.issubdtype(want.dtype, np.complexfloating):
        return agrees(want.real, have.real, tolerance) and agrees(want.imag, have.imag, tolerance)
    narrow = want.dtype.itemsize < 4
    x, y = want.astype(np.float64), have.astype(np.float64)
    finite = x[np.isfinite(x)]
    scale = max(np.abs(finite).max() if finite.size else 0, 1e-30)
    with np.errstate(invalid="ignore"):
        same = (x == y) | (np.isnan(x) & np.isnan(y)) | (np.abs(x - y) <= (2e-2 if narrow else tolerance) * scale)
    return bool(same.all())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("spmdc")
    parser.add_argument("--group")
    parser.add_argument("--each", type=int, default=0)
    parser.add_argument("--failures", action="store_true")
    options = parser.parse_args()
    groups = collections.defaultdict(list)
    for harness in test_harnesses.all_harnesses:
        if not options.group or harness.group_name == options.group:
            groups[harness.group_name].append(harness)
    totals, refusals = collections.Counter(), collections.Counter()
    outcomes = ("agrees", "differs", "refused", "crash", "no export")
    print("| group | " + " | ".join(outcomes) + " |\n| --- |" + " --- |" * len(outcomes))
    with tempfile.TemporaryDirectory() as folder:
        for name, harnesses in sorted(groups.items()):
            if options.each and len(harnesses) > options.each:
                harnesses = [harnesses[i * len(harnesses) // options.each] for i in range(options.each)]
            counts = collections.Counter()
            for harness in harnesses:
                outcome, detail = run_case(options.spmdc, harness, pathlib.Path(folder))
                counts[outcome] += 1
                if outcome == "refused":
                    refusals[detail] += 1
                if options.failures and outcome in ("differs", "crash"):
                    print(f"{outcome}: {harness.fullname}: {detail}", flush=True)
            totals += counts
            print(f"| {name} | " + " | ".join(str(counts[outcome]) for outcome in outcomes) + " |", flush=True)
    print("| all | " + " | ".join(str(totals[outcome]) for outcome in outcomes) + " |\n")
    for message, count in refusals.most_common():
        print(f"- {count} refused: {message}")


if __name__ == "__main__":
    main()
