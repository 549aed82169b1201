"""The cases and their parts: types, operands, and the text of a result."""

import math

import jax
import ml_dtypes
import numpy as np

jax.config.update("jax_enable_x64", True)

BF16 = np.dtype(ml_dtypes.bfloat16)
NAMES = {
    np.dtype(np.float64): "f64", np.dtype(np.float32): "f32", BF16: "bf16", np.dtype(np.float16): "f16",
    np.dtype(np.int64): "i64", np.dtype(np.int32): "i32", np.dtype(np.int16): "i16", np.dtype(np.int8): "i8",
    np.dtype(np.uint64): "u64", np.dtype(np.uint32): "u32", np.dtype(np.uint16): "u16", np.dtype(np.uint8): "u8",
    np.dtype(np.bool_): "bool",
}
DTYPES = {name: dtype for dtype, name in NAMES.items()}
FLOATS = ["f64", "f32", "bf16", "f16"]
SIGNED = ["i64", "i32", "i16", "i8"]
UNSIGNED = ["u64", "u32", "u16", "u8"]
INTS = SIGNED + UNSIGNED
MLIR_NAMES = {"u64": "ui64", "u32": "ui32", "u16": "ui16", "u8": "ui8", "bool": "i1"}

cases = []
differences = []
rng = np.random.default_rng(1)


def is_float(dtype):
    return NAMES[np.dtype(dtype)] in FLOATS


def array(values, dtype):
    with np.errstate(all="ignore"):
        return np.asarray(values).astype(DTYPES[dtype] if isinstance(dtype, str) else dtype)


def wrap(values, dtype):
    """Integers of any size, modulo the width of the type."""
    info = np.iinfo(DTYPES[dtype])
    bits = info.bits
    flat = [int(v) % (1 << bits) for v in np.asarray(values, dtype=object).reshape(-1)]
    if info.min < 0:
        flat = [v - (1 << bits) if v >> (bits - 1) else v for v in flat]
    return np.array(flat, dtype=DTYPES[dtype]).reshape(np.asarray(values, dtype=object).shape)


def text(x):
    return f"<{NAMES[x.dtype]}[{', '.join(map(str, x.shape))}]>"


def encode(x):
    width = x.dtype.itemsize
    return {"dtype": NAMES[x.dtype], "shape": list(x.shape),
            "bits": "".join(x.reshape(-1)[i:i + 1].tobytes()[::-1].hex().zfill(2 * width) for i in range(x.size))}


def ulp_distance(a, b):
    """Elementwise, in units of the type; 0 where both are NaN or equal."""
    if not is_float(a.dtype):
        return np.where(a == b, 0, np.inf)
    kind = {8: np.int64, 4: np.int32, 2: np.int16}[a.dtype.itemsize]
    order = []
    for x in (a, b):
        bits = np.ascontiguousarray(x).view(kind).astype(object)
        order.append(np.where(bits < 0, -(bits & ((1 << (8 * a.dtype.itemsize - 1)) - 1)), bits))
    difference = np.abs(order[0] - order[1])
    with np.errstate(invalid="ignore"):
        nan_a, nan_b = np.isnan(a.astype(np.float64)), np.isnan(b.astype(np.float64))
    difference = np.where(nan_a | nan_b, np.where(nan_a & nan_b, 0, 10**18), difference)
    return difference


def case(op, name, body, operands, result, ulp=0, jax_result=None, jax_ulp=None):
    """One case. `body` is the operation's text with operands %0, %1, ... and without its name."""
    operands = [np.asarray(x) for x in operands]
    result = np.asarray(result)
    if jax_result is not None:
        got = np.asarray(jax_result)
        if got.dtype != result.dtype or got.shape != result.shape:
            differences.append(f"{op}_{name}: JAX has {got.dtype}{got.shape}, here {result.dtype}{result.shape}")
        else:
            distance = ulp_distance(got, result)
            limit = ulp if jax_ulp is None else jax_ulp
            if is_float(result.dtype):
                # JAX may flush subnormal numbers.
                tiny = float(ml_dtypes.finfo(result.dtype).smallest_normal)
                small = (np.abs(got.astype(np.float64)) <= tiny) & (np.abs(result.astype(np.float64)) <= tiny)
                distance = np.where(small, 0, distance)
            if np.any(distance > limit):
                at = np.argmax(distance > limit)
                differences.append(f"{op}_{name}: element {at}: JAX {got.reshape(-1)[at]}, "
                                   f"here {result.reshape(-1)[at]} "
                                   f"({', '.join(str(x.reshape(-1)[at]) for x in operands if x.size == got.size)})")
    arguments = ", ".join(f"%{i}: !spmd.array{text(x)}" for i, x in enumerate(operands))
    ir = (f"func.func @main({arguments}) -> !spmd.array{text(result)} {{\n"
          f"  %r = array.{op} {body}\n  return %r : !spmd.array{text(result)}\n}}")
    cases.append({"op": op, "name": f"{op}_{name}", "ir": ir, "inputs": [encode(x) for x in operands],
                  "output": encode(result), "ulp": ulp})


# ---- Operands -----------------------------------------------------------------------------------------------------

def float_values(dtype):
    """Ordinary values of many magnitudes, and all special values."""
    finfo = ml_dtypes.finfo(DTYPES[dtype])
    values = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 1.5, 2.5, -2.5, 0.1, -0.3, 3.1415926535, 7.25, -9.75, 1e-3,
              -1e-4, 100.0, -33.3, 0.999, -0.999, math.inf, -math.inf, math.nan, float(finfo.max), float(finfo.min),
              float(finfo.smallest_normal)]
    return array(values, dtype)


def int_values(dtype):
    info = np.iinfo(DTYPES[dtype])
    values = [0, 1, 2, 3, 5, 7, 10, 100, info.max, info.max - 1, info.max // 2]
    if info.min < 0:
        values += [-1, -2, -3, -7, -100, info.min, info.min + 1]
    return np.array(values, dtype=DTYPES[dtype])


def pairs(values, others=None):
    others = values if others is None else others
    return np.repeat(values, len(others)), np.tile(others, len(values))


def rounded(values, dtype):
    """Rounds doubles to the type, once."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(values, dtype=np.float64).astype(DTYPES[dtype])


def numbers(*shape, dtype="f32"):
    return array(np.arange(math.prod(shape)).reshape(shape) % 251, dtype)
