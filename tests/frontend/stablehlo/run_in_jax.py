#!/usr/bin/env python3
"""Runs programs that `spmdc compile --emit=stablehlo` writes in JAX, on a CPU client of 12 devices, and compares the results.

    run_in_jax.py --spmdc build/release/bin/spmdc [--only REGEX] [FILE ...]

Needs JAX 0.10. A FILE is

- NAME.json beside NAME.mlir: an export of JAX with arguments and JAX's results (data/, made by make_exported.py);
- another .json: programs of the language with arguments and JAX's results (tests/programs/jax, tests/programs/jax/cases);
- NAME.spmd: the results are those of `spmdc run` for random inputs.

Without FILE: all of these in the tree. The text is compiled as it is: JAX's MLIR context parses it, and XLA partitions it
by its Shardy annotations, but without those of arguments and results that do not divide a dimension: JAX's arrays cannot
hold uneven shards.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=12"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402
import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "examples/jax"))
from load import load_text  # noqa: E402

jax.config.update("jax_enable_x64", True)

DTYPES = {"f64": np.float64, "f32": np.float32, "bf16": ml_dtypes.bfloat16, "f16": np.float16, "i64": np.int64,
          "i32": np.int32, "i16": np.int16, "i8": np.int8, "i1": np.bool_, "ui64": np.uint64, "ui32": np.uint32,
          "ui16": np.uint16, "ui8": np.uint8, "u64": np.uint64, "u32": np.uint32, "u16": np.uint16, "u8": np.uint8,
          "bool": np.bool_}
NARROW = {name: getattr(ml_dtypes, f"float8_{name[2:].lower()}") for name in
          ("f8E4M3FN", "f8E5M2", "f8E4M3", "f8E4M3FNUZ", "f8E5M2FNUZ", "f8E4M3B11FNUZ")}
NARROW |= {"i4": ml_dtypes.int4, "ui4": ml_dtypes.uint4, "i2": ml_dtypes.int2, "ui2": ml_dtypes.uint2}
# As ULPS in tests/programs/jax/cases/oracle.py.
UNITS = {"float64": 2.0**-49, "float32": 2.0**-20, "bfloat16": 2.0**-7, "float16": 2.0**-10}

Test = collections.namedtuple("Test", "name file arguments expected tolerances")


def array_of(value):
    numbers = [float(v) if isinstance(v, str) else v for v in value["values"]]
    return np.array(numbers).astype(DTYPES[value["dtype"]]).reshape(value["shape"])


# ---- Programs ----

def write(folder, name, text):
    path = folder / name
    path.write_text(text)
    return path


def case_tests(folder, file, groups):
    """The groups of JaxCasesTest.cpp: expressions over the same parameters, on the first of the group's meshes."""
    for group in groups:
        run = group["meshes"][0]
        parameters = ", ".join(
            f"{p['name']}: {p['dtype']}[" + ", ".join(f"{s}{m}" for s, m in zip(p["shape"], run["marks"][p["name"]])) + "]"
            for p in group["parameters"])
        for case in group["cases"]:
            text = f"mesh m({run['mesh']})\n{group['declare']}\nfn main({parameters}) {{\n  return ({case['text']});\n}}\n"
            name = f"{file.stem}.{group['group']}.{case['name']}"
            tolerance = (case.get("ulps", 0.0), case.get("absolute", 0.0))
            yield Test(name, write(folder, "case.spmd", text), [array_of(p) for p in group["parameters"]],
                       [array_of(r) for r in case["results"]], [tolerance] * len(case["results"]))


def json_tests(folder, file):
    values = json.loads(file.read_text())
    if isinstance(values, list) and "group" in values[0]:
        yield from case_tests(folder, file, values)
        return
    for value in values if isinstance(values, list) else [values]:
        is_export = not isinstance(values, list)
        program = file.with_suffix(".mlir") if is_export else write(folder, "program.spmd", value["program"])
        yield Test(file.stem if is_export else f"{file.stem}.{value['name']}", program,
                   [array_of(a) for a in value["arguments"]], [array_of(r) for r in value["results"]],
                   [(None, value["tolerance"])] * len(value["results"]))


def random_array(shape, dtype, random):
    if dtype == np.bool_:
        return random.integers(0, 2, shape).astype(dtype)
    if np.issubdtype(dtype, np.integer):
        return random.integers(0, 8, shape).astype(dtype)
    return random.normal(size=shape).astype(np.float32).astype(dtype)


def program_test(args, folder, file, text):
    """A program whose results `spmdc run` computes, for random inputs of the types of the emitted function."""
    random = np.random.default_rng(1)
    signature = re.search(r"func.func @main\((.*)$", text, re.M).group(1)
    parameters, results = signature.split(") -> ", 1) if ") -> " in signature else (signature, "")
    command = [args.spmdc, "run", str(file), "--steps", "1"]
    arguments = []
    for number, match in enumerate(re.finditer(r"tensor<([^>]*)>[^%]*? loc\(\"([^\"]*)\"\)", parameters)):
        *shape, dtype = match.group(1).split("x")
        arguments.append(random_array([int(s) for s in shape], DTYPES[dtype], random))
        np.save(folder / f"in{number}.npy", arguments[-1])
        name = re.sub(r"\['?(\w+)'?\]", r".\1", match.group(2))
        command += ["--input", f"{name}={folder}/in{number}.npy"]
    # Results are written by the first part of their names; a struct's arrays are the members of a .npz.
    results = [(match.group(1), re.findall(r"\w+", match.group(2)))
               for match in re.finditer(r"tensor<([^>]*)> \{jax.result_info = \"result([^\"]*)\"", results)]
    roots = list(dict.fromkeys(path[0] for _, path in results))
    outputs = {root: f"{folder}/out{number}." + ("npz" if any(len(path) > 1 and path[0] == root for _, path in results) else "npy")
               for number, root in enumerate(roots)}
    for number, root in enumerate(roots):
        command += ["--output", f"{number}={outputs[root]}"]
    made = subprocess.run(command, capture_output=True, text=True)
    if made.returncode:
        raise RuntimeError("not run: " + made.stderr.strip())
    expected = []
    for type_text, path in results:
        dtype = DTYPES[type_text.split("x")[-1]]
        value = np.load(outputs[path[0]])
        value = value[".".join(path[1:])] if len(path) > 1 else value
        expected.append(value.view(dtype) if value.dtype.kind == "V" else value)
    return Test(file.stem, file, arguments, expected, [(None, 2e-5)] * len(expected))


# ---- Runs ----

def emit(args, file):
    made = subprocess.run([args.spmdc, "compile", str(file), "--emit=stablehlo"], capture_output=True, text=True)
    if made.returncode:
        raise RuntimeError("not emitted: " + made.stderr.strip())
    return made.stdout


def axes_of(text):
    mesh = re.search(r"sdy.mesh @mesh = <\[(.*?)\]>", text)
    return {name: int(size) for name, size in re.findall(r'"(\w+)"=(\d+)', mesh.group(1))} if mesh else {}


def divides(axes, shape, sharding):
    for size, dim in zip(shape.split("x")[:-1], re.findall(r"\{[^}]*\}", sharding)):
        shards = 1
        for name, part in re.findall(r'"(\w+)"(?::\(\d+\)(\d+))?', dim):
            shards *= int(part) if part else axes[name]
        if int(size) % shards:
            return False
    return True


def with_even_signature(text):
    """The text without the shardings of arguments and results that do not divide their dimensions."""
    axes = axes_of(text)

    def keep(match):
        sharding = match.group(4)
        return match.group(0) if divides(axes, match.group(1), sharding) else f"tensor<{match.group(1)}> {{{match.group(2)}}}"

    lines = text.split("\n")
    at = next(i for i, line in enumerate(lines) if "func.func @main" in line)
    lines[at] = re.sub(r"tensor<([^>]*)> \{((?:jax.result_info = \"[^\"]*\")?)(, )?"
                       r"sdy.sharding = #sdy.sharding<@mesh, \[([^\]]*)\][^>]*>\}", keep, lines[at])
    return "\n".join(lines)


def difference(expected, actual, relative, absolute):
    """Where two results differ; empty if they are equal. A relative tolerance is in units of the type."""
    if (expected.dtype, expected.shape) != (actual.dtype, actual.shape):
        return f"is {actual.dtype}{actual.shape}, expected {expected.dtype}{expected.shape}"
    if expected.dtype.kind in "biu":
        return "" if np.array_equal(expected, actual) else f"differs: {expected.ravel()[:8]} and {actual.ravel()[:8]}"
    want, have = expected.astype(np.float64), actual.astype(np.float64)
    finite = np.abs(want[np.isfinite(want)])
    with np.errstate(invalid="ignore"):
        limit = absolute * finite.max(initial=0) + (relative or 0) * UNITS[str(expected.dtype)] * np.abs(want)
        same = (want == have) | (np.isnan(want) & np.isnan(have)) | (np.abs(want - have) <= limit)
    if same.all():
        return ""
    at = np.unravel_index(np.argmin(same), same.shape)
    return f"element {tuple(int(i) for i in at)} is {have[at]!r}, expected {want[at]!r}"


def with_narrow_numbers(text, arguments):
    """The arguments with the narrow types of the signature, whose bytes the test has."""
    signature = re.search(r"func.func @main\((.*?)(\) ->|\{$|$)", text, re.M).group(1)
    types = [match.group(1).split("x")[-1] for match in re.finditer(r"%arg\d+: tensor<([^>]*)>", signature)]
    return [array.view(NARROW[name]) if name in NARROW else array for name, array in zip(types, arguments, strict=True)]


def as_bytes(array):
    if array.dtype not in [np.dtype(dtype) for dtype in NARROW.values()]:
        return array
    return array.astype(np.int8) if str(array.dtype).startswith("int") else array.view(np.uint8)


def check(args, test):
    """How the program in JAX differs; empty if it does not. The second value: whether its mesh had more than one device."""
    text = with_even_signature(emit(args, test.file))
    results = load_text(text)(*with_narrow_numbers(text, test.arguments))
    actual = [as_bytes(np.asarray(result)) for result in results]
    if len(actual) != len(test.expected):
        return f"has {len(actual)} results", axes_of(text)
    for number, (want, have, tolerance) in enumerate(zip(test.expected, actual, test.tolerances)):
        if problem := difference(want, have, *tolerance):
            return f"result {number} {problem}", axes_of(text)
    return "", axes_of(text)


def tests_of(args, folder, file):
    if file.suffix == ".json":
        yield from json_tests(folder, file)
    else:
        yield program_test(args, folder, file, emit(args, file))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--spmdc", required=True)
    parser.add_argument("--only", default="", help="run the programs whose name matches this regular expression")
    parser.add_argument("--names", action="store_true", help="print the name of each program before it runs")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    args = parser.parse_args()
    files = args.files or sorted([*(ROOT / "tests/frontend/stablehlo/data").glob("*.json"),
                                  *(ROOT / "tests/programs/jax").glob("**/*.json"), *(ROOT / "examples").glob("*.spmd")])
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as name:
        for file in files:
            try:
                for test in tests_of(args, pathlib.Path(name), file):
                    if not re.search(args.only, test.name):
                        continue
                    if args.names:
                        print(test.name, flush=True)
                    try:
                        problem, axes = check(args, test)
                    except Exception as error:  # Any failure of JAX is a result of this check.
                        problem, axes = str(error).strip()[:600], {}
                    counts["differs" if problem else "equal, sharded" if axes and max(axes.values()) > 1 else "equal"] += 1
                    if problem:
                        print(f"{test.name}: {problem}", flush=True)
            except Exception as error:
                counts["not emitted"] += 1
                print(f"{file}: {str(error).strip()[:600]}", flush=True)
    print(", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    return 1 if counts["differs"] else 0


if __name__ == "__main__":
    sys.exit(main())
