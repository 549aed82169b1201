"""Writes gradients.json: JAX's gradients of programs with loops, branches and shard_map, on eight devices of the CPU.

Run with JAX 0.10 in a virtual environment: python make_gradients.py
Each case: a program of the language (its mesh line is put before it), the same in Python, arguments, and meshes. The
global programs have the same results on every mesh. Those with shard_map are differentiated with JAX's varying types
(check_vma); if JAX has no such type for a collective's result, the Python program is written without devices.

The cases are in gradients/, a module for each kind of program; importing one adds its cases.
"""

import importlib
import json
import os
import pathlib

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
from gradients.cases import CASES  # noqa: E402

# In this order: each module continues the random numbers of those before it.
for module in ("loops", "branches", "manual", "training", "groups"):
    importlib.import_module(f"gradients.{module}")

pathlib.Path(__file__).with_name("gradients.json").write_text(
    "[\n" + ",\n".join(json.dumps(c) for c in CASES) + "\n]\n")
