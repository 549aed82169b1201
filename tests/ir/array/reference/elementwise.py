"""Operations on each element: functions of floats, arithmetic, comparisons, conversions."""

import math

from reference.cases import (
    DTYPES, FLOATS, INTS, SIGNED, UNSIGNED, array, case, float_values, int_values, pairs, rounded, text, wrap,
)

import jax.scipy.special
import jax.numpy as jnp
import numpy as np
from jax import lax


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
# The sine of the largest finite number depends on argument reduction, and JAX's result differs.
PERIODIC = {"sin", "cos", "tan"}
# JAX composes these of other functions, so that its error grows with the argument.
LOOSE = {"sinh": 64, "cosh": 64, "log1p": 64, "expm1": 64, "erf": 64, "erf_inv": 256, "acos": 64, "asin": 64,
         "logistic": 64, "cbrt": 16, "tan": 16, "tanh": 64, "exp2": 64, "log2": 16}

for op, function, in_jax in FUNCTIONS:
    for dtype in FLOATS:
        x = float_values(dtype)
        if op in PERIODIC:
            x = x[np.abs(x.astype(np.float64)) < 1e4 if dtype != "f64" else np.abs(x) < 1e9]
            x = np.concatenate([x, array([math.inf, math.nan], dtype)])
        want = rounded(function(x.astype(np.float64)), dtype)
        # JAX computes some of these in half precision; the comparison is with its f32 result.
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
# If the bounds are in the wrong order, the upper one wins.
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
            # Integers become half precision by way of f32.
            via = values.astype(np.float32) if source in INTS and target in ("bf16", "f16") else values
            want = rounded(via, target) if source in FLOATS else via.astype(DTYPES[target])
        elif source in FLOATS:
            info = np.iinfo(DTYPES[target])
            want = np.array([0 if math.isnan(v) else info.max if v >= info.max else info.min if v <= info.min else int(v)
                             for v in values.astype(np.float64).tolist()], dtype=DTYPES[target])
        else:
            want = wrap([int(v) for v in values], target)
        case("convert", f"{source}_{target}", f"%0 : {text(values)} -> <{target}[{values.size}]>", [values], want,
             jax_result=lax.convert_element_type(values, DTYPES[target]), jax_ulp=1)
for source, target in [("f32", "i32"), ("f32", "u32"), ("i32", "f32"), ("u32", "f32"), ("f64", "i64"), ("i64", "f64"),
                       ("i32", "u32"), ("u32", "i32"), ("i8", "u8"), ("u8", "i8"), ("bf16", "f16"), ("f16", "bf16"),
                       ("f64", "u64"), ("u64", "f64"), ("i64", "u64"), ("u64", "i64"), ("i16", "u16"), ("u16", "bf16"),
                       ("f16", "i16"), ("bf16", "u16")]:
    values = int_values(source) if source in INTS else float_values(source)
    if source in FLOATS:
        values = values[~np.isnan(values.astype(np.float64))]
    elif target in FLOATS:
        values = values[np.isfinite(values.view(DTYPES[target]).astype(np.float64))]
    case("bitcast_convert", f"{source}_{target}", f"%0 : {text(values)} -> <{target}[{values.size}]>", [values],
         values.view(DTYPES[target]), jax_result=lax.bitcast_convert_type(values, DTYPES[target]))
