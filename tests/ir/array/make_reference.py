#!/usr/bin/env python3
"""Makes reference.json: what every operation of the array dialect is for literal operands.

Each case is a function of one operation as MLIR text, its operands, and its result. Results are computed here with
NumPy and the standard library, in double precision or exactly, and rounded once to the result's type; where JAX has
the operation, its answer is compared too and a difference stops the script (`jax` below; JAX's own error in the
transcendental functions is a few units in the last place). Nothing of this project is run.

    python -m venv .venv && .venv/bin/pip install "jax[cpu]" numpy
    .venv/bin/python tests/ir/array/make_reference.py      # writes tests/ir/array/reference.json

Format: elements are hexadecimal bits, of fixed width, the most significant digit first, in row-major order; bool takes
one byte. `ulp` is how many units in the last place an evaluation in double precision may be off.
"""

import json
import math
import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")
import jax

jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import jax.scipy.special
import ml_dtypes
import numpy as np
from jax import lax

BF16 = np.dtype(ml_dtypes.bfloat16)
NAMES = {
    np.dtype(np.float64): "f64", np.dtype(np.float32): "f32", BF16: "bf16", np.dtype(np.float16): "f16",
    np.dtype(np.int64): "i64", np.dtype(np.int32): "i32", np.dtype(np.int8): "i8", np.dtype(np.uint32): "u32",
    np.dtype(np.uint8): "u8", np.dtype(np.bool_): "bool",
}
DTYPES = {name: dtype for dtype, name in NAMES.items()}
FLOATS = ["f64", "f32", "bf16", "f16"]
SIGNED = ["i64", "i32", "i8"]
UNSIGNED = ["u32", "u8"]
INTS = SIGNED + UNSIGNED
MLIR_NAMES = {"u32": "ui32", "u8": "ui8", "bool": "i1"}

cases = []
differences = []


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
    """Ordinary values of many sizes, and every edge."""
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
    """Doubles to the type, once."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(values, dtype=np.float64).astype(DTYPES[dtype])


# ---- Functions of floats ------------------------------------------------------------------------------------------

def scalar(function, domain=None):
    """math's function as an array function; NaN where it is not defined, infinities where it overflows."""
    def apply(values):
        result = []
        for x in values:
            try:
                result.append(function(float(x)))
            except OverflowError:
                result.append(math.inf)
            except ValueError:
                result.append(math.nan)
        return np.array(result, dtype=np.float64)
    return apply


def erf_inv(x):
    """Newton on erf (erfc in the tails) in double precision: independent of any polynomial."""
    if math.isnan(x) or abs(x) > 1:
        return math.nan
    if abs(x) == 1:
        return math.copysign(math.inf, x)
    if abs(x) < 1e-9:
        return x * math.sqrt(math.pi) / 2
    low, high = 0.0, 6.0
    for _ in range(200):
        middle = (low + high) / 2
        is_below = math.erf(middle) < abs(x) if abs(x) < 0.5 else math.erfc(middle) > 1 - abs(x)
        low, high = (middle, high) if is_below else (low, middle)
    return math.copysign((low + high) / 2, x)


def quiet(function):
    def apply(values):
        with np.errstate(all="ignore"):
            return function(np.asarray(values, dtype=np.float64))
    return apply


def sinh(x):
    return math.copysign(math.inf, x) if math.isfinite(x) and abs(x) > 711 else math.sinh(x)


def expm1(x):
    return math.inf if x > 710 else math.expm1(x)


FUNCTIONS = [
    ("exp", quiet(np.exp), jnp.exp), ("exp2", quiet(np.exp2), jnp.exp2), ("expm1", scalar(expm1), jnp.expm1),
    ("log", quiet(np.log), jnp.log), ("log1p", quiet(np.log1p), jnp.log1p), ("log2", quiet(np.log2), jnp.log2),
    ("sqrt", quiet(np.sqrt), jnp.sqrt), ("rsqrt", quiet(lambda x: 1 / np.sqrt(x)), lax.rsqrt),
    ("cbrt", quiet(np.cbrt), jnp.cbrt), ("sin", quiet(np.sin), jnp.sin), ("cos", quiet(np.cos), jnp.cos),
    ("tan", quiet(np.tan), jnp.tan), ("tanh", quiet(np.tanh), jnp.tanh), ("sinh", scalar(sinh), jnp.sinh),
    ("cosh", quiet(np.cosh), jnp.cosh), ("asin", quiet(np.arcsin), jnp.arcsin), ("acos", quiet(np.arccos), jnp.arccos),
    ("atan", quiet(np.arctan), jnp.arctan), ("erf", scalar(math.erf), jax.scipy.special.erf),
    ("erf_inv", scalar(erf_inv), jax.scipy.special.erfinv),
    ("logistic", quiet(lambda x: 1 / (1 + np.exp(-x))), jax.nn.sigmoid),
    ("floor", quiet(np.floor), jnp.floor), ("ceil", quiet(np.ceil), jnp.ceil),
    ("round_nearest_even", quiet(np.rint), jnp.round),
]
EXACT = {"floor", "ceil", "round_nearest_even", "sqrt"}
# A sine of the largest finite number is a question of argument reduction, where JAX's answer is another one.
PERIODIC = {"sin", "cos", "tan"}
# JAX composes these of others, so that its error grows with the argument.
LOOSE = {"sinh": 64, "cosh": 64, "log1p": 64, "expm1": 64, "erf": 64, "erf_inv": 256, "acos": 64, "asin": 64,
         "logistic": 64, "cbrt": 16, "tan": 16, "tanh": 64, "exp2": 64, "log2": 16}

for op, function, in_jax in FUNCTIONS:
    for dtype in FLOATS:
        x = float_values(dtype)
        if op in PERIODIC:
            x = x[np.abs(x.astype(np.float64)) < 1e4 if dtype != "f64" else np.abs(x) < 1e9]
            x = np.concatenate([x, array([math.inf, math.nan], dtype)])
        want = rounded(function(x.astype(np.float64)), dtype)
        # JAX computes some of these in half precision; its f32 answer is the one to compare with.
        half = dtype in ("bf16", "f16")
        compared = in_jax(x.astype(np.float32)).astype(x.dtype) if half else in_jax(x)
        ulp = 0 if op in EXACT else 4 if op == "erf_inv" else 1
        case(op, dtype, f"%0 : {text(x)}", [x], want, ulp=ulp, jax_result=compared,
             jax_ulp=LOOSE.get(op, 8))

# ---- Unary operations of any number -------------------------------------------------------------------------------

for dtype in FLOATS:
    x = float_values(dtype)
    wide = x.astype(np.float64)
    for name in ("stop_gradient", "optimization_barrier"):
        case(name, dtype, f"%0 : {text(x)}", [x], x)
    case("abs", dtype, f"%0 : {text(x)}", [x], rounded(np.abs(wide), dtype), jax_result=jnp.abs(x))
    case("negate", dtype, f"%0 : {text(x)}", [x], rounded(-wide, dtype), jax_result=lax.neg(x))
    case("sign", dtype, f"%0 : {text(x)}", [x], rounded(np.where(wide == 0, wide, np.sign(wide)), dtype),
         jax_result=lax.sign(x))
    case("is_finite", dtype, f"%0 : {text(x)} -> <bool[{x.size}]>", [x], np.isfinite(wide),
         jax_result=lax.is_finite(x))

for dtype in INTS:
    x = int_values(dtype)
    exact = [int(v) for v in x]
    case("negate", dtype, f"%0 : {text(x)}", [x], wrap([-v for v in exact], dtype), jax_result=lax.neg(x))
    case("abs", dtype, f"%0 : {text(x)}", [x], wrap([abs(v) for v in exact], dtype),
         jax_result=lax.abs(x) if dtype in SIGNED else None)
    case("sign", dtype, f"%0 : {text(x)}", [x], wrap([(v > 0) - (v < 0) for v in exact], dtype),
         jax_result=lax.sign(x))
    case("not", dtype, f"%0 : {text(x)}", [x], wrap([~v for v in exact], dtype), jax_result=lax.bitwise_not(x))
    bits = np.iinfo(x.dtype).bits
    case("popcnt", dtype, f"%0 : {text(x)}", [x], wrap([bin(v % (1 << bits)).count("1") for v in exact], dtype),
         jax_result=lax.population_count(x))
bools = np.array([False, True])
case("not", "bool", f"%0 : {text(bools)}", [bools], ~bools, jax_result=lax.bitwise_not(bools))

# ---- Binary operations --------------------------------------------------------------------------------------------

FLOAT_BINARY = [
    ("add", np.add, lax.add, 0), ("subtract", np.subtract, lax.sub, 0), ("multiply", np.multiply, lax.mul, 0),
    ("divide", np.divide, lax.div, 0), ("remainder", np.fmod, lax.rem, 0), ("power", np.power, lax.pow, 1),
    ("atan2", np.arctan2, lax.atan2, 1), ("maximum", np.maximum, lax.max, 0), ("minimum", np.minimum, lax.min, 0),
]
for op, function, in_jax, ulp in FLOAT_BINARY:
    for dtype in FLOATS:
        values = float_values(dtype)
        if op in ("maximum", "minimum"):
            values = values[~(np.signbit(values.astype(np.float64)) & (values == 0))]
        values = np.concatenate([values[:20:2], values[-6:-1]])
        x, y = pairs(values)
        if op == "remainder":
            # The quotient of the largest and a small number has more digits than JAX's remainder keeps.
            keep = ~((np.abs(x.astype(np.float64)) > 1e4) & (np.abs(y.astype(np.float64)) < 1e4))
            keep |= ~np.isfinite(x.astype(np.float64))
            x, y = x[keep], y[keep]
        with np.errstate(all="ignore"):
            want = rounded(function(x.astype(np.float64), y.astype(np.float64)), dtype)
        case(op, dtype, f"%0, %1 : {text(x)}", [x, y], want, ulp=ulp, jax_result=in_jax(x, y),
             jax_ulp={"power": 64, "atan2": 16}.get(op, 1 if dtype in ("bf16", "f16") else 0))


def int_divide(x, y, dtype):
    if y == 0:
        return -1
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def int_remainder(x, y, dtype):
    return x if y == 0 else int(math.copysign(1, x)) * (abs(x) % abs(y))


def int_power(x, y, dtype):
    if y >= 0:
        return pow(x, y, 1 << 64)
    return {1: 1, -1: 1 if y % 2 == 0 else -1}.get(x, 0)


def shift_left(x, y, dtype):
    bits = np.iinfo(DTYPES[dtype]).bits
    y %= 1 << bits
    return 0 if y >= bits else x << y


def shift_right_logical(x, y, dtype):
    bits = np.iinfo(DTYPES[dtype]).bits
    y %= 1 << bits
    return 0 if y >= bits else (x % (1 << bits)) >> y


def shift_right_arithmetic(x, y, dtype):
    bits = np.iinfo(DTYPES[dtype]).bits
    y %= 1 << bits
    return x >> min(y, bits) if dtype in SIGNED else shift_right_logical(x, y, dtype)


INT_BINARY = [
    ("add", lambda x, y, d: x + y, lax.add), ("subtract", lambda x, y, d: x - y, lax.sub),
    ("multiply", lambda x, y, d: x * y, lax.mul), ("divide", int_divide, lax.div),
    ("remainder", int_remainder, lax.rem), ("power", int_power, None),
    ("maximum", lambda x, y, d: max(x, y), lax.max), ("minimum", lambda x, y, d: min(x, y), lax.min),
    ("and", lambda x, y, d: x & y, lax.bitwise_and), ("or", lambda x, y, d: x | y, lax.bitwise_or),
    ("xor", lambda x, y, d: x ^ y, lax.bitwise_xor), ("shift_left", shift_left, lax.shift_left),
    ("shift_right_arithmetic", shift_right_arithmetic, lax.shift_right_arithmetic),
    ("shift_right_logical", shift_right_logical, lax.shift_right_logical),
]
for op, function, in_jax in INT_BINARY:
    for dtype in INTS:
        x, y = pairs(int_values(dtype))
        if op.startswith("shift"):
            bits = np.iinfo(x.dtype).bits
            x, y = pairs(int_values(dtype), np.array([0, 1, 3, bits - 1, bits, bits + 1, 100], dtype=x.dtype))
        want = wrap([function(int(a), int(b), dtype) for a, b in zip(x, y)], dtype)
        compared = in_jax
        if op == "shift_right_arithmetic" and dtype in UNSIGNED:
            compared = None  # XLA copies the top bit of unsigned numbers; here an unsigned shift brings zeros
        case(op, dtype, f"%0, %1 : {text(x)}", [x, y], want, jax_result=compared(x, y) if compared else None)

x, y = pairs(bools)
for op, want in [("and", x & y), ("or", x | y), ("xor", x ^ y), ("add", x | y), ("multiply", x & y),
                 ("maximum", x | y), ("minimum", x & y)]:
    case(op, "bool", f"%0, %1 : {text(x)}", [x, y], want)

DIRECTIONS = [("eq", np.equal, lax.eq), ("ne", np.not_equal, lax.ne), ("lt", np.less, lax.lt),
              ("le", np.less_equal, lax.le), ("gt", np.greater, lax.gt), ("ge", np.greater_equal, lax.ge)]
for direction, function, in_jax in DIRECTIONS:
    for dtype in FLOATS + INTS + ["bool"]:
        values = bools if dtype == "bool" else int_values(dtype)[::2] if dtype in INTS else float_values(dtype)[::2]
        x, y = pairs(values)
        with np.errstate(invalid="ignore"):
            want = function(x, y)
        case("compare", f"{direction}_{dtype}", f"{direction} %0, %1 : {text(x)}, {text(y)} -> <bool[{x.size}]>",
             [x, y], want, jax_result=in_jax(x, y))

# ---- Three operands -----------------------------------------------------------------------------------------------

for dtype in FLOATS + INTS:
    values = int_values(dtype) if dtype in INTS else float_values(dtype)
    p = np.arange(values.size) % 3 == 0
    other = values[::-1].copy()
    case("select", dtype, f"%0, %1, %2 : {text(p)}, {text(values)}, {text(other)} -> {text(values)}",
         [p, values, other], np.where(p, values, other), jax_result=lax.select(p, values, other))
    low, high = array(np.full(values.shape, 1), dtype), array(np.full(values.shape, 7), dtype)
    wide = values.astype(np.float64) if dtype in FLOATS else values
    want = np.minimum(np.maximum(low.astype(wide.dtype), wide), high.astype(wide.dtype)).astype(values.dtype)
    case("clamp", dtype, f"%0, %1, %2 : {text(values)}", [low, values, high], want,
         jax_result=lax.clamp(low, values, high))
# Where the bounds are the wrong way around the upper one wins.
x = array([0.0, 2.0, 9.0], "f32")
low, high = array([5.0] * 3, "f32"), array([1.0] * 3, "f32")
case("clamp", "bounds_crossed", f"%0, %1, %2 : {text(x)}", [low, x, high], array([1.0] * 3, "f32"),
     jax_result=lax.clamp(low, x, high))

# ---- Conversions --------------------------------------------------------------------------------------------------

for source in FLOATS + INTS + ["bool"]:
    values = bools if source == "bool" else int_values(source) if source in INTS else float_values(source)
    if source in FLOATS:
        values = np.concatenate([values, array([300.7, -300.7, 255.5, 127.9, -128.9, 4294967295.0, 2147483648.0, 1e19,
                                                -1e19], source)])
    for target in FLOATS + INTS + ["bool"]:
        if target == "bool":
            want = values != 0
        elif target in FLOATS:
            want = rounded(values, target)
        elif source in FLOATS:
            info = np.iinfo(DTYPES[target])
            want = np.array([0 if math.isnan(v) else info.max if v >= info.max else info.min if v <= info.min else int(v)
                             for v in values.astype(np.float64).tolist()], dtype=DTYPES[target])
        else:
            want = wrap([int(v) for v in values], target)
        case("convert", f"{source}_{target}", f"%0 : {text(values)} -> <{target}[{values.size}]>", [values], want,
             jax_result=lax.convert_element_type(values, DTYPES[target]), jax_ulp=1)
for source, target in [("f32", "i32"), ("f32", "u32"), ("i32", "f32"), ("u32", "f32"), ("f64", "i64"), ("i64", "f64"),
                       ("i32", "u32"), ("u32", "i32"), ("i8", "u8"), ("u8", "i8"), ("bf16", "f16"), ("f16", "bf16")]:
    values = int_values(source) if source in INTS else float_values(source)
    if source in FLOATS:
        values = values[~np.isnan(values.astype(np.float64))]
    elif target in FLOATS:
        values = values[np.isfinite(values.view(DTYPES[target]).astype(np.float64))]
    case("bitcast_convert", f"{source}_{target}", f"%0 : {text(values)} -> <{target}[{values.size}]>", [values],
         values.view(DTYPES[target]), jax_result=lax.bitcast_convert_type(values, DTYPES[target]))

# ---- Creation -----------------------------------------------------------------------------------------------------

for dtype, literal, value in [
        ("f32", "dense<[1.5, -0.0]> : tensor<2xf32>", [1.5, -0.0]), ("bf16", "dense<0.1> : tensor<2xbf16>", [0.1, 0.1]),
        ("i32", "dense<[-7, 2147483647]> : tensor<2xi32>", [-7, 2147483647]),
        ("u32", "dense<[0, 4294967295]> : tensor<2xui32>", [0, 4294967295]),
        ("bool", "dense<[true, false]> : tensor<2xi1>", [True, False]),
        ("f64", "dense<[0x7FF0000000000000, 1.0e-300]> : tensor<2xf64>", [math.inf, 1e-300])]:
    x = array(value, dtype)
    case("constant", dtype, f"{literal} -> {text(x)}", [], x)
for dtype in FLOATS + INTS:
    want = np.arange(6)[None, :].repeat(2, 0)
    case("iota", f"{dtype}_columns", f"dim 1 : <{dtype}[2, 6]>", [], array(want, dtype),
         jax_result=lax.broadcasted_iota(DTYPES[dtype], (2, 6), 1))
case("iota", "bf16_rounds", "dim 0 : <bf16[600]>", [], array(np.arange(600), "bf16"),
     jax_result=lax.broadcasted_iota(DTYPES["bf16"], (600,), 0))
case("iota", "i8_wraps", "dim 0 : <i8[300]>", [], wrap(list(range(300)), "i8"))
case("iota", "empty", "dim 1 : <f32[3, 0]>", [], np.zeros((3, 0), np.float32))

# ---- Shape --------------------------------------------------------------------------------------------------------

def numbers(*shape, dtype="f32"):
    return array(np.arange(math.prod(shape)).reshape(shape) % 251, dtype)


def broadcast(name, x, dims, shape):
    case("broadcast_in_dim", name, f"%0 dims {list(dims)} : {text(x)} -> <{NAMES[x.dtype]}{list(shape)}>", [x],
         np.asarray(lax.broadcast_in_dim(x, shape, dims)),
         jax_result=np.broadcast_to(x.reshape([x.shape[dims.index(d)] if d in dims else 1 for d in range(len(shape))]),
                                    shape))


broadcast("scalar", numbers(), (), (2, 3))
broadcast("rows", numbers(3), (1,), (2, 3))
broadcast("columns", numbers(3), (0,), (3, 2))
broadcast("ones", numbers(3, 1, 2), (0, 1, 2), (3, 4, 2))
broadcast("middle", numbers(2, 3), (0, 2), (2, 5, 3))
broadcast("bool", np.array([True, False]), (0,), (2, 2))
broadcast("to_empty", numbers(1, 3), (0, 1), (0, 3))

for name, source, target in [("split", (6,), (2, 3)), ("merge", (2, 3), (6,)), ("mixed", (4, 6), (3, 8)),
                             ("ones", (3, 1), (1, 3, 1)), ("empty", (0, 4), (2, 0)), ("to_scalar", (1, 1), ())]:
    x = numbers(*source)
    case("reshape", name, f"%0 : {text(x)} -> <f32{list(target)}>", [x], x.reshape(target),
         jax_result=jnp.reshape(x, target))

for name, shape, perm in [("matrix", (2, 3), (1, 0)), ("rotate", (2, 3, 4), (1, 2, 0)), ("same", (2, 3), (0, 1)),
                          ("scalar", (), ()), ("empty", (0, 3), (1, 0))]:
    x = numbers(*shape)
    want = x.transpose(perm)
    case("transpose", name, f"%0 perm {list(perm)} : {text(x)} -> {text(want)}", [x], want,
         jax_result=lax.transpose(x, perm))

for name, shape, starts, limits, steps in [
        ("middle", (5, 4), (1, 1), (4, 3), (1, 1)), ("strided", (7,), (1,), (7,), (3,)),
        ("all", (2, 3), (0, 0), (2, 3), (1, 1)), ("empty", (4, 3), (2, 0), (2, 3), (1, 1)),
        ("stride_past_end", (5,), (0,), (5,), (4,))]:
    x = numbers(*shape)
    want = x[tuple(slice(*s) for s in zip(starts, limits, steps))]
    case("slice", name, f"%0 {list(starts)} to {list(limits)} step {list(steps)} : {text(x)} -> {text(want)}", [x],
         want, jax_result=lax.slice(x, starts, limits, steps))

for name, shape, low, high, interior in [
        ("around", (2, 3), (1, 2), (0, 1), (0, 0)), ("interior", (3,), (1,), (2,), (2,)),
        ("cut", (4, 4), (-1, 0), (-1, -2), (0, 0)), ("cut_and_spread", (4,), (-1,), (2,), (1,)),
        ("empty", (0, 2), (1, 0), (2, 0), (0, 0)), ("nothing", (2, 2), (0, 0), (0, 0), (0, 0)),
        ("cut_interior", (3,), (-2,), (-2,), (2,))]:
    x, value = numbers(*shape), array(-5.0, "f32")
    spread = np.full([s + max(s - 1, 0) * i for s, i in zip(shape, interior)], value)
    spread[tuple(slice(None, None, i + 1) for i in interior)] = x
    want = np.pad(spread, [(max(l, 0), max(h, 0)) for l, h in zip(low, high)], constant_values=value)
    want = want[tuple(slice(max(-l, 0), want.shape[d] - max(-h, 0)) for d, (l, h) in enumerate(zip(low, high)))]
    case("pad", name, f"%0 with %1 low {list(low)} high {list(high)} interior {list(interior)} : {text(x)}, "
         f"{text(value)} -> {text(want)}", [x, value], want,
         jax_result=lax.pad(x, value, list(zip(low, high, interior))))

for name, shapes, dim in [("rows", [(2, 3), (1, 3)], 0), ("columns", [(2, 1), (2, 3), (2, 2)], 1),
                          ("one", [(2,)], 0), ("empty", [(2, 3), (0, 3)], 0)]:
    parts = [numbers(*shape) + 10 * i for i, shape in enumerate(shapes)]
    parts = [array(part, "f32") for part in parts]
    want = np.concatenate(parts, dim)
    operands = ", ".join(f"%{i}" for i in range(len(parts)))
    types = ", ".join(f"!spmd.array{text(part)}" for part in parts)
    case("concatenate", name, f"{operands} dim {dim} : {types} -> !spmd.array{text(want)}", parts, want,
         jax_result=lax.concatenate(parts, dim))

for name, shape, dims in [("rows", (3, 2), (0,)), ("both", (3, 2), (0, 1)), ("none", (3,), ()), ("empty", (0, 2), (0,))]:
    x = numbers(*shape)
    case("reverse", name, f"%0 dims {list(dims)} : {text(x)} -> {text(x)}", [x], np.flip(x, dims),
         jax_result=lax.rev(x, dims))

# ---- Contractions -------------------------------------------------------------------------------------------------

def dot(name, x, y, contract, batch=((), ()), result=None, ulp=0):
    lhs, rhs = x.astype(object), y.astype(object)
    letters = iter("abcdefghijkl")
    left, right = [None] * x.ndim, [None] * y.ndim
    for l, r in list(zip(*batch)) + list(zip(*contract)):
        left[l] = right[r] = next(letters)
    left = [letter or next(letters) for letter in left]
    right = [letter or next(letters) for letter in right]
    out = [left[l] for l in batch[0]]
    out += [letter for d, letter in enumerate(left) if d not in batch[0] and d not in contract[0]]
    out += [letter for d, letter in enumerate(right) if d not in batch[1] and d not in contract[1]]
    signature = f"{''.join(left)},{''.join(right)}->{''.join(out)}"
    dtype = result or NAMES[x.dtype]
    if is_float(x.dtype):
        want = rounded(np.einsum(signature, x.astype(np.float64), y.astype(np.float64)), dtype)
    elif dtype == "bool":
        want = np.einsum(signature, x.astype(np.int64), y.astype(np.int64)) > 0
    else:
        want = wrap(np.einsum(signature, x.astype(np.int64), y.astype(np.int64)).astype(object), dtype)
    compare = None
    if result is None and dtype != "bool":
        compare = lax.dot_general(x, y, (contract, batch))
    case("dot_general", name, f"%0, %1 contract {list(contract[0])} x {list(contract[1])} batch {list(batch[0])} x "
         f"{list(batch[1])} : {text(x)}, {text(y)} -> {text(want)}", [x, y], want, ulp=ulp, jax_result=compare,
         jax_ulp=max(ulp, 1))


rng = np.random.default_rng(1)
for dtype in FLOATS:
    x, y = array(rng.integers(-8, 8, (3, 5)), dtype), array(rng.integers(-8, 8, (5, 4)), dtype)
    dot(f"matrix_{dtype}", x, y, ((1,), (0,)))
# Divided by 32: products and sums of these are exact in every order, so that JAX's must be equal.
dot("matrix_fractions", array(rng.integers(-99, 99, (7, 33)) / 32, "f32"), array(rng.integers(-99, 99, (33, 5)) / 32, "f32"),
    ((1,), (0,)))
dot("transposed", numbers(5, 3), numbers(4, 5), ((0,), (1,)))
dot("batched", numbers(2, 3, 4), numbers(2, 4, 5), ((2,), (1,)), ((0,), (0,)))
dot("batch_inside", numbers(3, 2, 4), numbers(4, 5, 2), ((2,), (0,)), ((1,), (2,)))
dot("two_batches", numbers(2, 3, 4, 2), numbers(2, 3, 2, 5), ((3,), (2,)), ((0, 1), (0, 1)))
dot("two_contracted", numbers(2, 3, 4), numbers(4, 3, 5), ((1, 2), (1, 0)))
dot("inner", numbers(6), numbers(6), ((0,), (0,)))
dot("outer", numbers(2), numbers(3), ((), ()))
dot("matrix_vector", numbers(3, 4), numbers(4), ((1,), (0,)))
dot("contracts_nothing", np.zeros((2, 0), np.float32), np.zeros((0, 3), np.float32), ((1,), (0,)))
dot("empty_result", np.zeros((0, 3), np.float32), numbers(3, 2), ((1,), (0,)))
dot("bf16_to_f32", array(rng.integers(-8, 8, (3, 40)), "bf16"), array(rng.integers(-8, 8, (40, 2)), "bf16"),
    ((1,), (0,)), result="f32")
# 256 ones: a bf16 accumulator would stop at 256 as well, 300 would not pass it.
dot("bf16_accumulates_wide", array(np.ones((1, 300)), "bf16"), array(np.ones((300, 1)), "bf16"), ((1,), (0,)))
for dtype in INTS:
    dot(f"matrix_{dtype}", wrap(rng.integers(-100, 100, (3, 9)).astype(object), dtype),
        wrap(rng.integers(-100, 100, (9, 2)).astype(object), dtype), ((1,), (0,)))
dot("matrix_bool", rng.integers(0, 2, (3, 3)) > 0, rng.integers(0, 2, (3, 4)) > 0, ((1,), (0,)), result="bool")
with_nan = numbers(2, 2)
with_nan[0, 1] = math.nan
dot("nan", with_nan, np.array([[1, 0], [0, 1]], np.float32), ((1,), (0,)))

# ---- Reductions ---------------------------------------------------------------------------------------------------

def lowest(dtype):
    return -math.inf if dtype in FLOATS else bool(0) if dtype == "bool" else np.iinfo(DTYPES[dtype]).min


def highest(dtype):
    return math.inf if dtype in FLOATS else bool(1) if dtype == "bool" else np.iinfo(DTYPES[dtype]).max


def reduce_exactly(kind, values, dtype):
    values = [v if dtype in FLOATS else int(v) for v in values]
    if dtype == "bool" and kind in ("sum", "prod"):
        return int(any(values)) if kind == "sum" else int(all(values))  # StableHLO: + of bools is or, * is and
    if kind == "sum":
        if dtype in FLOATS:
            return sum(values, 0.0) if not all(map(math.isfinite, values)) else math.fsum(values)
        return sum(values)
    if kind == "prod":
        return math.prod(values)
    if kind in ("max", "min"):
        if any(v != v for v in values):
            return math.nan
        return max(values, default=lowest(dtype)) if kind == "max" else min(values, default=highest(dtype))
    result = -1 if kind == "and" else 0
    for v in values:
        result = result & v if kind == "and" else result | v
    return result


def store(values, shape, dtype):
    values = np.array(values, dtype=object).reshape(shape)
    if dtype == "bool":
        return (values & 1).astype(bool) if values.size else np.zeros(shape, bool)
    return rounded(values.astype(np.float64), dtype) if dtype in FLOATS else wrap(values, dtype)


JAX_REDUCE = {"sum": jnp.sum, "prod": jnp.prod, "max": jnp.max, "min": jnp.min}


def reduce(name, kind, x, dims, ulp=0, compare=True):
    dtype = NAMES[x.dtype]
    kept = [d for d in range(x.ndim) if d not in dims]
    shape = [x.shape[d] for d in kept]
    moved = x.transpose(kept + list(dims)).reshape(math.prod(shape), -1) if x.size else np.zeros(
        (math.prod(shape), 0), x.dtype)
    rows = moved.astype(np.float64).tolist() if dtype in FLOATS else moved.tolist()
    want = store([reduce_exactly(kind, row, dtype) for row in rows], shape, dtype)
    compared = None
    if compare and kind in JAX_REDUCE and (x.size or kind in ("sum", "prod")) and dtype != "bool":
        compared = JAX_REDUCE[kind](x, axis=tuple(dims)).astype(x.dtype)
    case("reduce", name, f"{kind} %0 dims {list(dims)} : {text(x)} -> {text(want)}", [x], want, ulp=ulp,
         jax_result=compared, jax_ulp=max(ulp, 4))


for dtype in FLOATS:
    x = array(rng.integers(-4, 5, (3, 7)), dtype)
    for kind in ("sum", "max", "min"):
        reduce(f"{kind}_{dtype}", kind, x, [1])
    reduce(f"prod_{dtype}", "prod", array(rng.integers(1, 3, (2, 5)), dtype), [0])
for dtype in INTS:
    x = wrap(rng.integers(-2**40, 2**40, (3, 7)).astype(object), dtype)
    for kind in ("sum", "prod", "max", "min", "and", "or"):
        reduce(f"{kind}_{dtype}", kind, x, [1])
x = rng.integers(0, 2, (4, 3)) > 0
for kind in ("sum", "prod", "max", "min", "and", "or"):
    reduce(f"{kind}_bool", kind, x, [1])
reduce("all_dims", "sum", numbers(2, 3, 4), [0, 1, 2])
reduce("outer_dims", "sum", numbers(2, 3, 4), [0, 2])
reduce("no_dims", "sum", numbers(2, 3), [])
reduce("rounds_once", "sum", rng.standard_normal((3, 100)).astype(np.float32), [1], ulp=1, compare=False)
reduce("half_is_wide", "sum", array(np.ones(300), "bf16"), [0])
reduce("half_is_wide_f16", "sum", array(np.ones(4000), "f16"), [0])
edges = array([[1, math.nan, 2], [math.inf, -math.inf, 1], [math.inf, 1, 2], [-math.inf, 0, 1]], "f32")
for kind in ("sum", "prod", "max", "min"):
    reduce(f"{kind}_edges", kind, edges, [1])
for dtype in ("f32", "bf16", "i32", "i8", "u32", "bool"):
    for kind in ("sum", "prod", "max", "min") + (() if dtype in FLOATS else ("and", "or")):
        reduce(f"{kind}_empty_{dtype}", kind, np.zeros((2, 0), DTYPES[dtype]), [1], compare=False)
reduce("sum_of_negative_zeros", "sum", array([-0.0, -0.0], "f32"), [0], compare=False)

for is_max in (True, False):
    function = np.argmax if is_max else np.argmin
    flag = "true" if is_max else "false"
    in_jax = jnp.argmax if is_max else jnp.argmin
    samples = {dtype: array(rng.integers(0, 5, (4, 6)), dtype) for dtype in FLOATS + INTS}
    samples["nan"] = array([[1, math.nan, 3, math.nan], [2, 2, 1, 1], [math.inf, 0, math.inf, -math.inf],
                            [0.0, -0.0, 0.0, -0.0]], "f32")
    for name, x in samples.items():
        want = function(x.astype(np.float64) if is_float(x.dtype) else x, axis=1).astype(np.int32)
        case("arg_reduce", f"{'max' if is_max else 'min'}_{name}",
             f"%0 max = {flag} dim 1 : {text(x)} -> <i32[{x.shape[0]}]>", [x], want,
             jax_result=in_jax(x, axis=1).astype(np.int32))
    x = numbers(3, 2)
    case("arg_reduce", f"{'max' if is_max else 'min'}_first_dim", f"%0 max = {flag} dim 0 : {text(x)} -> <i32[2]>", [x],
         function(x, axis=0).astype(np.int32))
    x = numbers(4)
    case("arg_reduce", f"{'max' if is_max else 'min'}_vector", f"%0 max = {flag} dim 0 : {text(x)} -> <i32[]>", [x],
         np.asarray(function(x)).astype(np.int32))


def cumulative(name, kind, x, dim, ulp=0, reverse=False):
    dtype = NAMES[x.dtype]
    moved = np.moveaxis(np.flip(x, dim) if reverse else x, dim, -1)
    rows = moved.reshape(math.prod(moved.shape[:-1]), x.shape[dim])
    rows = rows.astype(np.float64).tolist() if dtype in FLOATS else rows.tolist()
    want = store([[reduce_exactly(kind, row[:i + 1], dtype) for i in range(len(row))] for row in rows], moved.shape,
                 dtype)
    want = np.moveaxis(want, -1, dim)
    want = np.ascontiguousarray(np.flip(want, dim) if reverse else want)
    in_jax = {"sum": lax.cumsum, "prod": lax.cumprod, "max": lax.cummax, "min": lax.cummin}.get(kind)
    case("cumulative", name, f"{kind} %0 dim {dim}{' reversed' * reverse} : {text(x)} -> {text(x)}", [x], want, ulp=ulp,
         jax_result=in_jax(x, dim, reverse) if in_jax and x.size and dtype != "bool" else None, jax_ulp=4)


for dtype in FLOATS + INTS:
    x = array(rng.integers(1, 4, (3, 4)), dtype)
    for kind in ("sum", "prod", "max", "min"):
        cumulative(f"{kind}_{dtype}", kind, x, 1)
cumulative("first_dim", "sum", numbers(3, 2), 0)
cumulative("nan", "max", array([1, 3, math.nan, 5], "f32"), 0)
cumulative("empty", "sum", np.zeros((2, 0), np.float32), 1)
for kind in ("sum", "prod", "max", "min"):
    cumulative(f"{kind}_reversed", kind, numbers(3, 5), 1, reverse=True)
cumulative("first_dim_reversed", "sum", numbers(3, 2), 0, reverse=True)
cumulative("nan_reversed", "max", array([1, 3, math.nan, 5], "f32"), 0, reverse=True)
cumulative("one_reversed", "sum", numbers(3, 1), 1, reverse=True)
cumulative("empty_reversed", "sum", np.zeros((2, 0), np.float32), 1, reverse=True)
for kind in ("and", "or"):
    cumulative(f"{kind}_u8", kind, wrap([7, 5, 8, 1], "u8"), 0)

# ---- Run-time indices, order, random bits ---------------------------------------------------------------------------

INDICES = array([[2, 0, -1], [7, 1, 2]], "i32")  # some outside


def sample(dtype, *shape):
    if dtype == "bool":
        return rng.integers(0, 2, shape) > 0
    return array(rng.integers(0 if dtype in UNSIGNED else -9, 10, shape), dtype)


def scalars(*values):
    return [array(value, "i32") for value in values]


def dynamic_slice(name, x, starts, sizes):
    starts = scalars(*starts)
    first = [int(np.clip(s, 0, n - size)) for s, n, size in zip(starts, x.shape, sizes)]
    want = x[tuple(slice(f, f + size) for f, size in zip(first, sizes))]
    names = ", ".join(f"%{i + 1}" for i in range(len(starts)))
    types = ", ".join(f"!spmd.array{text(s)}" for s in [x] + starts)
    case("dynamic_slice", name, f"%0 at ({names}) sizes {list(sizes)} : ({types}) -> !spmd.array{text(want)}",
         [x] + starts, want, jax_result=lax.dynamic_slice(x, starts, sizes))


def dynamic_update_slice(name, x, update, starts):
    starts = scalars(*starts)
    first = [int(np.clip(s, 0, n - size)) for s, n, size in zip(starts, x.shape, update.shape)]
    want = x.copy()
    want[tuple(slice(f, f + size) for f, size in zip(first, update.shape))] = update
    names = ", ".join(f"%{i + 2}" for i in range(len(starts)))
    types = ", ".join(f"!spmd.array{text(s)}" for s in [x, update] + starts)
    case("dynamic_update_slice", name, f"%0, %1 at ({names}) : ({types}) -> !spmd.array{text(want)}",
         [x, update] + starts, want, jax_result=lax.dynamic_update_slice(x, update, starts))


def take(name, x, indices, dim):
    want = np.take(x, indices, axis=dim, mode="clip")
    case("take", name, f"%0, %1 dim {dim} : {text(x)}, {text(indices)} -> {text(want)}", [x, indices], want,
         jax_result=jnp.take(x, indices, axis=dim, mode="clip"))


def take_along(name, x, indices, dim):
    want = np.take_along_axis(x, np.clip(indices, 0, x.shape[dim] - 1), axis=dim)
    case("take_along", name, f"%0, %1 dim {dim} : {text(x)}, {text(indices)} -> {text(want)}", [x, indices], want,
         jax_result=jnp.take_along_axis(x, np.clip(indices, 0, x.shape[dim] - 1), axis=dim))


def scatter_add(op, name, x, indices, updates, dim, ulp=0, compare=True):
    dtype = NAMES[x.dtype]
    exact = x.astype(np.float64 if dtype in FLOATS else object)
    for at in np.ndindex(*updates.shape):
        if op == "scatter_add":
            target = at[:dim] + (int(indices[at[dim:dim + indices.ndim]]),) + at[dim + indices.ndim:]
        else:
            target = at[:dim] + (int(indices[at]),) + at[dim + 1:]
        if 0 <= target[dim] < x.shape[dim]:
            exact[target] = exact[target] + (float if dtype in FLOATS else int)(updates[at])
    want = exact > 0 if dtype == "bool" else rounded(exact, dtype) if dtype in FLOATS else wrap(exact, dtype)
    inside = np.where(indices < 0, x.shape[dim], indices)  # JAX would wrap negative ones
    if op == "scatter_add":
        place = (slice(None),) * dim + (inside,)
    else:
        place = tuple(inside if d == dim else np.arange(n).reshape([-1 if e == d else 1 for e in range(x.ndim)])
                      for d, n in enumerate(updates.shape))
    in_jax = jnp.asarray(x).at[place].add(updates) if compare and dtype != "bool" and updates.size else None
    case(op, name, f"%0, %1, %2 dim {dim} : {text(x)}, {text(indices)}, {text(updates)} -> {text(want)}",
         [x, indices, updates], want, ulp=ulp, jax_result=in_jax)


def argsort(name, x, dim, descending=False):
    def key(v):
        if dtype not in FLOATS:
            return v
        sign = math.copysign(1, v) if descending else 1  # lax.top_k goes by the sign of zeros and of NaN.
        return (sign, 0, 0) if math.isnan(v) else (0, v, sign if v == 0 else 0)

    def before(line):
        keys = [key(v) for v in (line.astype(np.float64) if dtype in FLOATS else line).tolist()]
        return sorted(range(len(keys)), key=keys.__getitem__, reverse=False) if not descending else [
            len(keys) - 1 - i for i in sorted(range(len(keys)), key=keys[::-1].__getitem__)][::-1]

    dtype = NAMES[x.dtype]
    moved = np.moveaxis(x, dim, -1)
    want = np.array([before(line) for line in moved.reshape(math.prod(moved.shape[:-1]), -1 if x.size else 0)],
                    np.int32).reshape(moved.shape)
    want = np.ascontiguousarray(np.moveaxis(want, -1, dim))
    case("argsort", name, f"%0 dim {dim} descending = {'true' if descending else 'false'} : {text(x)} -> {text(want)}",
         [x], want, jax_result=np.moveaxis(lax.top_k(jnp.moveaxis(x, dim, -1), x.shape[dim])[1], -1, dim) if descending
         else jnp.argsort(x, axis=dim, stable=True).astype(np.int32))


for dtype in FLOATS + INTS + ["bool"]:
    x = sample(dtype, 5, 4)
    dynamic_slice(dtype, x, (1, 2), (3, 2))
    dynamic_update_slice(dtype, x, sample(dtype, 2, 3), (2, 1))
    take(dtype, x, INDICES, 0)
    take_along(dtype, x, array([[1, 9], [0, 0], [-3, 3], [2, 1], [3, 3]], "i32"), 1)
    scatter_add("scatter_add", dtype, x, INDICES, sample(dtype, 2, 3, 4), 0)
    scatter_add("scatter_add_along", dtype, x, array([[1, 1], [0, 4], [-3, 3], [2, 1], [3, 3]], "i32"),
                sample(dtype, 5, 2), 1)
    for descending in (False, True):
        argsort(f"{dtype}_{'down' if descending else 'up'}", sample(dtype, 3, 23), 1, descending)
x = numbers(3, 4, 2)
for starts in ((0, 0, 0), (-5, 2, 1), (9, 9, 9), (1, -2147483648, 2147483647)):
    name = "_".join(map(str, starts)).replace("-", "minus_")
    dynamic_slice(name, x, starts, (2, 3, 1))
    dynamic_update_slice(name, x, numbers(2, 3, 1), starts)
dynamic_slice("whole", x, (1, 1, 1), (3, 4, 2))
dynamic_slice("empty", x, (1, 1, 1), (3, 0, 2))
dynamic_slice("scalar", numbers(), (), ())
dynamic_update_slice("whole", x, numbers(3, 4, 2), (1, 1, 1))
dynamic_update_slice("empty", x, numbers(3, 0, 2), (1, 1, 1))
dynamic_update_slice("vector", numbers(7), numbers(1), (3,))
for dim in range(3):
    take(f"dim_{dim}", x, INDICES, dim)
    take(f"one_of_dim_{dim}", x, array(1, "i32"), dim)
    scatter_add("scatter_add", f"dim_{dim}", x, array([1, 0, 1, 5], "i32"),
                numbers(*[4 if d == dim else n for d, n in enumerate(x.shape)]), dim)
    scatter_add("scatter_add", f"one_of_dim_{dim}", x, array(1, "i32"),
                numbers(*[n for d, n in enumerate(x.shape) if d != dim]), dim)
    argsort(f"dim_{dim}", sample("i8", 3, 40, 2) if dim == 1 else sample("f32", 6, 3, 9), dim)
    indices = rng.integers(-1, 5, [6 if d == dim else n for d, n in enumerate(x.shape)]).astype(np.int32)
    take_along(f"dim_{dim}", x, indices, dim)
    scatter_add("scatter_add_along", f"dim_{dim}", x, indices, numbers(*indices.shape), dim)
take("empty", x, np.zeros((0, 2), np.int32), 1)
take("of_empty", np.zeros((0, 3), np.float32), np.zeros(0, np.int32), 0)
take("extremes", numbers(5), array([-2147483648, 2147483647, 4], "i32"), 0)
take_along("empty", x, np.zeros((3, 0, 2), np.int32), 1)
scatter_add("scatter_add", "empty", x, np.zeros(0, np.int32), np.zeros((3, 0, 2), np.float32), 1)
scatter_add("scatter_add", "extremes", numbers(5), array([-2147483648, 2147483647, 4, 5], "i32"), numbers(4), 0)
scatter_add("scatter_add", "half_is_wide", array(np.zeros(2), "bf16"), array(np.zeros(600), "i32"),
            array(np.ones(600), "bf16"), 0, compare=False)
scatter_add("scatter_add_along", "empty", x, np.zeros((3, 0, 2), np.int32), np.zeros((3, 0, 2), np.float32), 1)
edges = array([[1, math.nan, -0.0, 0.0, math.inf], [0.0, -0.0, -math.inf, math.nan, -0.0], [2, 2, 1, 1, 2],
               [-math.nan, 5, math.nan, -5, -math.nan]], "f32")
for descending in (False, True):
    argsort(f"edges_{'down' if descending else 'up'}", edges, 1, descending)
argsort("one", numbers(3, 1), 1)
argsort("empty", np.zeros((2, 0), np.float32), 1)
argsort("many", rng.integers(0, 50, 1000).astype(np.int32), 0)
# The known answers of the cipher's authors (Random123, kat_vectors), and random ones from JAX.
KNOWN = [((0, 0), (0, 0), (0x6b200159, 0x99ba4efe)),
         ((0xffffffff, 0xffffffff), (0xffffffff, 0xffffffff), (0x1cb996fc, 0xbb002be7)),
         ((0x13198a2e, 0x03707344), (0x243f6a88, 0x85a308d3), (0xc4923a9c, 0x483df7a0))]
words = rng.integers(0, 2**32, (4, 9), dtype=np.uint64).astype(np.uint32)
from jax.extend.random import threefry_2x32
for key, counter, _ in KNOWN:
    words = np.concatenate([words, np.array(key + counter, np.uint32)[:, None]], axis=1)
encrypted = np.array([np.asarray(threefry_2x32(w[:2], w[2:])) for w in words.T]).T
for (_, _, want), got in zip(KNOWN, encrypted.T[-3:]):
    if tuple(got) != want:
        differences.append(f"threefry: {got} instead of {want}")
for word in (0, 1):
    case("threefry2x32", f"word_{word}",
         f"word {word} %0, %1, %2, %3 : {', '.join(text(w) for w in words)} -> {text(words[0])}", list(words),
         encrypted[word])

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
