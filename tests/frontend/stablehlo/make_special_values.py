"""Writes special_values.json: functions of one number and of two at zeros, infinities, NaN, the largest and smallest
numbers, integers, halves and poles, in each type of float.

Run with NumPy 2, SciPy 1.17 and ml_dtypes: python make_special_values.py
The values are those of NumPy and SciPy in double precision, rounded to the type; XLA does not take part.
"""

import json
import pathlib

import ml_dtypes
import numpy as np
import scipy.special as special

TYPES = {"f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16, "f16": np.float16}


def logistic(x):
    return np.where(x < 0, np.exp(x) / (1 + np.exp(x)), 1 / (1 + np.exp(-np.abs(x))))


def away_from_zero(x):
    low = np.floor(np.abs(x))
    return np.copysign(low + (np.abs(x) - low >= 0.5), x)


def odd(function):
    """SciPy gives +0 for -0."""
    return lambda x: np.where(x == 0, x, function(x))


def lgamma(x):
    return np.where(np.isinf(x), np.inf, special.gammaln(x))  # SciPy has -inf for -inf, C and XLA have inf.


def digamma(x):
    """SciPy loses the digits beside negative integers, and has infinities at zeros, where XLA has NaN."""
    distance = x - np.rint(x)
    reflected = special.digamma(1 - x) - np.pi / np.tan(np.pi * distance)
    return np.where((distance == 0) & (x <= 0), np.nan, np.where(x < 0, reflected, special.digamma(x)))


UNARY = {
    "stablehlo.abs": np.abs, "stablehlo.cbrt": np.cbrt, "stablehlo.ceil": np.ceil, "stablehlo.cosine": np.cos,
    "stablehlo.exponential": np.exp, "stablehlo.exponential_minus_one": np.expm1, "stablehlo.floor": np.floor,
    "stablehlo.log": np.log, "stablehlo.log_plus_one": np.log1p, "stablehlo.logistic": logistic,
    "stablehlo.negate": np.negative, "stablehlo.round_nearest_afz": away_from_zero,
    "stablehlo.round_nearest_even": np.rint, "stablehlo.rsqrt": lambda x: 1 / np.sqrt(x),
    "stablehlo.sign": lambda x: np.where(x == 0, x, np.sign(x)), "stablehlo.sine": np.sin, "stablehlo.sqrt": np.sqrt,
    "stablehlo.tan": np.tan, "stablehlo.tanh": np.tanh, "chlo.acos": np.arccos, "chlo.acosh": np.arccosh,
    "chlo.asin": np.arcsin, "chlo.asinh": np.arcsinh, "chlo.atan": np.arctan, "chlo.atanh": np.arctanh,
    "chlo.bessel_i1e": odd(special.i1e), "chlo.cosh": np.cosh, "chlo.digamma": digamma, "chlo.erf": special.erf,
    "chlo.erf_inv": odd(special.erfinv), "chlo.erfc": special.erfc, "chlo.lgamma": lgamma, "chlo.sinh": np.sinh,
    "chlo.square": np.square,
}
BINARY = {
    "stablehlo.add": np.add, "stablehlo.atan2": np.arctan2, "stablehlo.divide": np.divide,
    "stablehlo.maximum": np.maximum, "stablehlo.minimum": np.minimum, "stablehlo.multiply": np.multiply,
    "stablehlo.power": np.power, "stablehlo.remainder": np.fmod, "stablehlo.subtract": np.subtract,
}
# The other zero is as good: IEEE 754 leaves it open.
EITHER_ZERO = ["stablehlo.maximum", "stablehlo.minimum"]


def both_signs(dtype, values):
    with np.errstate(all="ignore"):
        positive = np.array(values, np.float64).astype(dtype)
    bits = np.concatenate([positive, -positive]).view({2: np.uint16, 4: np.uint32, 8: np.uint64}[np.dtype(dtype).itemsize])
    return np.unique(bits).view(dtype)


def numbers(values):
    # The shortest text that rounds to the same number; JSON has no NaN, infinities and -0.
    return [float(str(v)) if np.isfinite(v) and (v != 0 or not np.signbit(v)) else str(v).replace("-nan", "nan")
            for v in values]


def main():
    result = {}
    for name, dtype in TYPES.items():
        info = ml_dtypes.finfo(dtype)
        tiny, largest = float(info.smallest_normal), float(info.max)
        few = [0, np.inf, np.nan, tiny, largest, 1, 0.5, 1.5, 2, 3, 0.3]
        many = few + [tiny * 4, largest / 2, 1 - float(info.epsneg), 1 + float(info.eps), 1e-8, 1e-7, 1e-6, 1e-5, 1e-3,
                      0.25, 0.75, 2.5, 3.5, 5, 7.75, 9, 20, 100.5, 1e4, 1e10, 1e18, 1e20, 1e37, 2.0**23 + 1, 2.0**31]
        if name != "f64":  # In double precision SciPy itself takes them for zero.
            many.append(float(info.smallest_subnormal))
        x = both_signs(dtype, many)
        left, right = (v.ravel() for v in np.meshgrid(both_signs(dtype, few), both_signs(dtype, few)))
        with np.errstate(all="ignore"):
            unary = {op: numbers(function(x.astype(np.float64)).astype(dtype)) for op, function in UNARY.items()}
            binary = {op: numbers(function(left.astype(np.float64), right.astype(np.float64)).astype(dtype))
                      for op, function in BINARY.items()}
        result[name] = {"x": numbers(x), "unary": unary, "left": numbers(left), "right": numbers(right), "binary": binary}
    lines = ",\n".join(f'"{name}": {json.dumps(values)}' for name, values in result.items())
    path = pathlib.Path(__file__).resolve().parent / "special_values.json"
    path.write_text(f'{{"either zero": {json.dumps(EITHER_ZERO)},\n{lines}}}\n')


if __name__ == "__main__":
    main()
