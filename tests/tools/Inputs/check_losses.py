"""Compares the losses that an example prints with JAX's, step by step.

python3 check_losses.py NAME < OUTPUT: the line of char_transformer.txt that begins with NAME, within 1e-4. make_examples.py
prints those lines.
"""

import pathlib
import sys

lines = pathlib.Path(__file__).with_name("char_transformer.txt").read_text().splitlines()
expected = [line.split(": ")[1] for line in lines if line.startswith(sys.argv[1] + ":")][0].split()
actual = [line.split()[1] for line in sys.stdin if line.startswith("loss ")]
assert len(actual) == len(expected) == 20, actual
for step, (x, y) in enumerate(zip(actual, expected)):
    assert abs(float(x) - float(y)) <= 1e-4, f"step {step}: {x}, JAX has {y}"
