#!/usr/bin/env python3
"""Writes reference.json: the results of every operation of the array dialect for literal operands.

Each case is a function of one operation as MLIR text, its operands, and its result. Results are computed here with
NumPy and the standard library, in double precision or exactly, and rounded once to the result's type; if JAX has the
operation, its result is compared, too, and a difference stops the script (`jax_result`; JAX's own error in the
transcendental functions is a few units in the last place). Nothing of this project is run.

    python -m venv .venv && .venv/bin/pip install "jax[cpu]" numpy
    .venv/bin/python tests/ir/array/make_reference.py      # writes tests/ir/array/reference.json

The cases are in reference/, a module for each kind of operation; importing one adds its cases.

Format: elements are hexadecimal bits, of fixed width, the most significant digit first, in row-major order; bool takes
one byte. `ulp` is how many units in the last place an evaluation in double precision may be off.
"""

import importlib
import json
import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")
import jax
import numpy as np

from reference.cases import cases, differences

# In this order: each continues the sequence of random numbers of those before.
for module in ("elementwise", "shapes", "contractions", "reductions", "indices", "einsums", "scatters", "fourier"):
    importlib.import_module(f"reference.{module}")

if differences:
    raise SystemExit("\n".join(differences))
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "reference.json")
with open(path, "w") as file:
    header = {"about": "Made by make_reference.py, which says how; do not edit.", "jax": jax.__version__,
              "numpy": np.__version__}
    file.write(json.dumps(header)[:-1] + ', "cases": [\n')
    file.write(",\n".join(json.dumps(entry) for entry in cases))
    file.write("\n]}\n")
print(f"{len(cases)} cases, {len({entry['op'] for entry in cases})} operations")
