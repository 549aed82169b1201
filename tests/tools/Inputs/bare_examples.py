"""Runs and inspects every example without options, and compares what it prints with example_values.json.

bare_examples.py EXAMPLES_FOLDER: the commands run in an empty folder. make_example_values.py has written the values, from JAX,
NumPy and scikit-learn; a program without values there is an error.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

VALUES = json.loads(pathlib.Path(__file__).with_name("example_values.json").read_text())

# Each number may differ by RELATIVE of itself and by ABSOLUTE. The default is the rounding of sums in f32.
RELATIVE, ABSOLUTE = 1e-4, 2e-6
# 1,200 steps amplify the rounding of the first ones: an image of the 359 may change sides, and the loss a per cent.
ALLOWED = {"digits_mlp": (1e-2, 1 / 359 + 1e-6)}


def numbers(text):
    text = text.replace("True", "1").replace("False", "0")
    return [float(word) for word in re.findall(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?", text)]


def printed_values(output):
    """The lines of the program itself as `printed`, then each result by its name."""
    parts = re.split(r"^([\w.]+): \w+\[[\d, ]*\] @ .*$", output, flags=re.M)
    return {"printed": numbers(parts[0]), **{name: numbers(text) for name, text in zip(parts[1::2], parts[2::2])}}


def compare(name, output):
    """A sentence about the first difference, or nothing."""
    actual = printed_values(output)
    relative, absolute = ALLOWED.get(name, (RELATIVE, ABSOLUTE))
    for key, expected in VALUES[name].items():
        values = actual.get(key, [])
        if len(values) != len(expected):
            return f"prints {len(values)} numbers of {key} instead of {len(expected)}"
        for i, (x, y) in enumerate(zip(values, expected)):
            if not abs(x - y) <= relative * abs(y) + absolute:
                return f"prints {x} as number {i} of {key} instead of {y}"
    return ""


def spmdc(*words, folder):
    return subprocess.run(["spmdc", *words], cwd=folder, text=True, capture_output=True, timeout=300)


def main():
    examples = sorted(pathlib.Path(sys.argv[1]).resolve().glob("*.spmd"))
    failed = 0
    for path in examples:
        with tempfile.TemporaryDirectory() as folder:
            run, inspect = spmdc("run", path, folder=folder), spmdc("inspect", path, folder=folder)
            left = [file.name for file in pathlib.Path(folder).iterdir()]
        if run.returncode or inspect.returncode:
            problem = f"ends with {run.returncode}, inspected with {inspect.returncode}: {run.stderr}{inspect.stderr}"
        elif not run.stderr.startswith(f"spmdc: {path}:") or "the run line" not in run.stderr or run.stderr.count("\n") > 1:
            problem = f"says instead of one line about its run lines: {run.stderr}"
        elif "main" not in inspect.stdout or inspect.stderr:
            problem = f"is inspected as {inspect.stdout}{inspect.stderr}"
        elif left:
            problem = f"leaves {left}"
        else:
            problem = compare(path.stem, run.stdout)
        if problem:
            print(path.name, problem)
            failed += 1
    print(f"{len(examples) - failed} of {len(examples)} examples run bare")
    return 1 if failed or {path.stem for path in examples} != set(VALUES) else 0


if __name__ == "__main__":
    sys.exit(main())
