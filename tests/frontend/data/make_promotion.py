"""Writes promotion.txt: JAX's type of `a + b` for every two dtypes of the language and for literals.

Run with JAX 0.10 in a virtual environment: python make_promotion.py > promotion.txt
64-bit types are on here, since the language has i64, u64 and f64 where they are named. One pair differs from JAX: i8 with u8 is
i32 (LANGUAGE.md).
"""

import os

os.environ["JAX_ENABLE_X64"] = "1"
import jax
import jax.numpy as jnp

NAMES = {"f64": "float64", "f32": "float32", "bf16": "bfloat16", "f16": "float16", "i64": "int64", "i32": "int32",
         "i16": "int16", "i8": "int8", "u64": "uint64", "u32": "uint32", "u16": "uint16", "u8": "uint8", "bool": "bool"}
BACK = {v: k for k, v in NAMES.items()}
operands = {name: jnp.zeros((), dtype) for name, dtype in NAMES.items()} | {"int*": 1, "float*": 1.0}

print(f"# a b result of a + b; made by make_promotion.py with JAX {jax.__version__}")
for a, x in operands.items():
    for b, y in operands.items():
        if "*" in a and "*" in b:
            continue  # Two literals are folded, not promoted.
        z = jnp.add(x, y)
        name = "i32" if {a, b} == {"i8", "u8"} else BACK[z.dtype.name]
        if z.weak_type:
            name = "int*" if z.dtype.name == "int64" else "float*"
        print(a, b, name)
