#!/usr/bin/env python3
"""Writes data/narrow.json: the numbers of narrow floats as ml_dtypes has them.

Run by hand with NumPy and ml_dtypes; the result is kept in the repository. For each format, `values` has the bits in f32 of all 256
codes, and `rounded` the code of every f16: [bits, code] where the code changes, in the order of the bits.
"""
import json
import pathlib

import ml_dtypes
import numpy as np

FORMATS = {
    "f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2, "f8E4M3": ml_dtypes.float8_e4m3,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz, "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "f8E4M3B11FNUZ": ml_dtypes.float8_e4m3b11fnuz, "f8E3M4": ml_dtypes.float8_e3m4,
    "f8E8M0FNU": ml_dtypes.float8_e8m0fnu, "f4E2M1FN": ml_dtypes.float4_e2m1fn,
}
tables = {}
for name, dtype in FORMATS.items():
    values = np.arange(256, dtype=np.uint8).view(dtype).astype(np.float32).view(np.uint32)
    codes = np.arange(65536, dtype=np.uint16).view(np.float16).astype(dtype).view(np.uint8)
    changes = [0, *(1 + np.flatnonzero(codes[1:] != codes[:-1]))]
    tables[name] = {"values": values.tolist(), "rounded": [[int(i), int(codes[i])] for i in changes]}
path = pathlib.Path(__file__).parent / "data" / "narrow.json"
path.write_text("{\n" + ",\n".join(f'"{name}": {json.dumps(table)}' for name, table in tables.items()) + "\n}\n")
