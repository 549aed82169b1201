"""Runs the tests of StableHLO's own interpreter here, and compares the results with the values that they expect.

    specification.py SPMDC CHECKOUT [--match TEXT] [--failures]

CHECKOUT is a copy of github.com/openxla/stablehlo. Its `stablehlo/testdata` has programs that JAX exported, with inputs and
expected results; its `stablehlo/tests/interpret` has the examples of the specification. Each test's checks become results of its
function, pairs of what is computed and what is expected. Compared: integers and bools exactly, floats within 1e-5 of the largest
element (16-bit ones within 2e-2, 8-bit ones within 0.15); NaN equals NaN. Prints a row for each folder, and the refusals by their
message; --failures prints each test that does not agree.

A test of several processes (`interpreter.run_parallel`) that run the same function is one program for a mesh of devices
(parallel_tests.py), which runs on a process for each device.

Not run: tests of dynamic shapes; of what the interpreter prints (printing.mlir); processes that run different functions, as
sends and receives between hosts (send_recv.mlir) do; and infeed and outfeed (infeed.mlir, outfeed.mlir), which read and write
queues of the interpreter.
"""

import argparse
import collections
import dataclasses
import pathlib
import re
import subprocess
import tempfile

import ml_dtypes
import numpy as np
import parallel_tests

CHECK = re.compile(r"^\s*(?:stablehlo\.custom_call @)?\"?check\.expect_(\w+)\"?.*$", re.M)
CALL = re.compile(r"check\.expect_\w+\"?\((%[\w#.]+), (%[\w#.]+)\).*?: \((.+)\) -> \(\)")
CONSTANT = re.compile(r"check\.expect_\w+_const (%[\w#.]+), (dense<.*>) : (tensor<.*>)$")
PAIR = re.compile(
    r"check\.expect_\w+ (%[\w#.]+), (%[\w#.]+)(?:, \w+ = [^:,]+)*(?: \{.*\})? : (tensor<.*?>)(?:, (tensor<.*>))?$")


def split_types(text):
    """The types of a list; commas between angle brackets are parts of a type."""
    parts, depth = [""], 0
    for character in text:
        depth += {"<": 1, ">": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def program_of(function):
    """The text of one checking function with its checks as results; None if it has none of a known form."""
    results, types = [], []

    def take(match):
        line = match[0].strip()
        if found := CONSTANT.search(line):
            name = f"%expected{len(results)}"
            results.extend([found[1], name])
            types.extend([found[3]] * 2)
            return f"    {name} = stablehlo.constant {found[2]} : {found[3]}"
        if found := CALL.search(line):
            results.extend([found[1], found[2]])
            types.extend(split_types(found[3])[:2])
            return ""
        if found := PAIR.search(line):
            results.extend([found[1], found[2]])
            types.extend([found[3], found[4] or found[3]])
            return ""
        return match[0]

    body = CHECK.sub(take, function)
    if not results or "check." in body:
        return None
    head, rest = body.split("{\n", 1) if body.split("\n", 1)[0].endswith("{") else (body, "")
    values = f"func.return {', '.join(results)} : {', '.join(types)}"
    returned = re.sub(r"^(\s*)(?:func\.)?return\b.*$", rf"\1{values}", rest, flags=re.M)
    return f"func.func @main() -> ({', '.join(types)}) {{\n" + returned, len(results)


@dataclasses.dataclass
class Test:
    """A program whose results are pairs of what is computed and expected, or that has several processes. The text is None if
    it cannot be run."""
    name: str
    text: str = None
    count: int = 0
    parallel: parallel_tests.Parallel = None


def tests_of(path):
    for number, text in enumerate(re.split(r"^// -----.*$", path.read_text(), flags=re.M)):
        text = re.sub(r"^\s*//.*$| *// .*$", "", text, flags=re.M)
        if "func.func" not in text:
            continue
        named = re.search(r"^module @(\w+)", text, re.M)
        name = path.stem + (f".{named[1]}" if named else f".{number}" if number else "")
        # Functions end at a brace of their own indentation.
        functions = [f for _, f in re.findall(r"^( *)(func\.func .*?^\1\}\n)", text + "\n", flags=re.M | re.S)]
        if "interpreter.run_parallel" in text:
            parallel = parallel_tests.parallel_test(functions)
            yield Test(name, parallel and parallel.text, parallel=parallel)
            continue
        if "interpreter." in text or "tensor<?" in text or "x?x" in text:
            yield Test(name)
            continue
        helpers = [f for f in functions if "check." not in f]
        for function in functions:
            if "check." not in function:
                continue
            made = program_of(function)
            yield Test(name, made and "module {\n" + "".join(helpers) + made[0] + "}\n", made[1] if made else 0)


def agrees(want, have, tolerance):
    if want.shape != have.shape or want.dtype != have.dtype:
        return False
    if want.dtype.kind in "biuV":
        return np.array_equal(want.view(np.uint8) if want.dtype.kind == "V" and want.ndim else want,
                              have.view(np.uint8) if have.dtype.kind == "V" and have.ndim else have)
    if want.dtype.kind == "c":
        return agrees(want.real, have.real, tolerance) and agrees(want.imag, have.imag, tolerance)
    x, y = want.astype(np.float64), have.astype(np.float64)
    finite = x[np.isfinite(x)]
    scale = max(np.abs(finite).max() if finite.size else 0, 1e-30)
    with np.errstate(invalid="ignore"):
        return bool(((x == y) | (np.isnan(x) & np.isnan(y)) | (np.abs(x - y) <= tolerance * scale)).all())


# Elements that NumPy's files have as bytes.
NAMES = {"bf16": "bfloat16", "f8E4M3FN": "float8_e4m3fn", "f8E5M2": "float8_e5m2", "f8E4M3": "float8_e4m3",
         "f8E4M3FNUZ": "float8_e4m3fnuz", "f8E5M2FNUZ": "float8_e5m2fnuz", "f8E4M3B11FNUZ": "float8_e4m3b11fnuz"}


def as_numbers(array, element):
    if element not in NAMES or array.dtype.kind != "V":
        return array
    return array.view(getattr(ml_dtypes, NAMES[element])).astype(np.float32)


def tolerance_of(element):
    return 0.15 if element.startswith("f8") else 2e-2 if element in ("bf16", "f16") else 1e-5


def run_program(spmdc, text, types, processes, folder):
    """The results, or an outcome and its message."""
    program = folder / "test.mlir"
    program.write_text(text)
    command = [spmdc, "run", str(program), "--print=false", "--num-processes", str(processes)]
    for i in range(len(types)):
        command += ["--output", f"{i}={folder / f'out{i}.npy'}"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        return None, ("crash", "no end after 120 s")
    if result.returncode:
        lines = [line for line in result.stderr.splitlines() if "error:" in line] or result.stderr.splitlines() or [""]
        crashed = result.returncode < 0 or "internal error" in result.stderr
        return None, ("crash" if crashed else "refused", re.sub(r"^.*?error: ", "", lines[0]))
    elements = [re.search(r"[x<]((?:bf|f|i|ui)\d\w*)>+$", name)[1] for name in types]
    return [(as_numbers(np.load(folder / f"out{i}.npy"), element), element) for i, element in enumerate(elements)], None


def run(spmdc, test, folder):
    if test.parallel:
        parallel = test.parallel
        results, failure = run_program(spmdc, test.text, parallel.types, parallel.devices, folder)
        pairs = [(np.array(want, have.dtype), have, element)
                 for want, (have, element) in zip(parallel.expected, results or [])]
    else:
        types = split_types(re.search(r"@main\(\) -> \((.*)\) \{", test.text)[1])
        results, failure = run_program(spmdc, test.text, types, 1, folder)
        pairs = [(want[0], have[0], element) for have, want in zip((results or [])[::2], (results or [])[1::2])
                 for element in [have[1]]]
    if failure:
        return failure
    for i, (want, have, element) in enumerate(pairs):
        if not agrees(want, have, tolerance_of(element)):
            return "differs", f"result {i}"
    return "agrees", ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("spmdc")
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("--match", default="")
    parser.add_argument("--failures", action="store_true")
    options = parser.parse_args()
    outcomes = ("agrees", "differs", "refused", "crash", "not run")
    refusals = collections.Counter()
    print("| folder | " + " | ".join(outcomes) + " |\n| --- |" + " --- |" * len(outcomes))
    with tempfile.TemporaryDirectory() as folder:
        for name in ("stablehlo/testdata", "stablehlo/tests/interpret"):
            counts = collections.Counter()
            for path in sorted((options.checkout / name).glob("*.mlir")):
                if options.match not in path.name:
                    continue
                for test in tests_of(path):
                    outcome, detail = run(options.spmdc, test, pathlib.Path(folder)) if test.text else ("not run", "")
                    counts[outcome] += 1
                    if outcome == "refused":
                        refusals[detail] += 1
                    if options.failures and outcome != "agrees":
                        print(f"{outcome}: {test.name}: {detail}", flush=True)
            print(f"| {name} | " + " | ".join(str(counts[outcome]) for outcome in outcomes) + " |", flush=True)
    for message, count in refusals.most_common():
        print(f"- {count} refused: {message}")


if __name__ == "__main__":
    main()
