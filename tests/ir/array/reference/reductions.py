"""Reductions, scans, and the positions of extremes."""

import math

from reference.cases import DTYPES, FLOATS, INTS, NAMES, array, case, is_float, numbers, rng, rounded, text, wrap

import jax.numpy as jnp
import numpy as np
from jax import lax


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


def cumulative(name, kind, x, dim, ulp=0, reverse=False, continued=False):
    dtype, given = NAMES[x.dtype], x
    words = f"dim {dim}{' reversed' * reverse}{' continued' * continued}"
    if continued:
        dim -= 1
        x = x.reshape(*x.shape[:dim], -1, *x.shape[dim + 2:])
    moved = np.moveaxis(np.flip(x, dim) if reverse else x, dim, -1)
    rows = moved.reshape(math.prod(moved.shape[:-1]), x.shape[dim])
    rows = rows.astype(np.float64).tolist() if dtype in FLOATS else rows.tolist()
    want = store([[reduce_exactly(kind, row[:i + 1], dtype) for i in range(len(row))] for row in rows], moved.shape,
                 dtype)
    want = np.moveaxis(want, -1, dim)
    want = np.ascontiguousarray(np.flip(want, dim) if reverse else want).reshape(given.shape)
    in_jax = {"sum": lax.cumsum, "prod": lax.cumprod, "max": lax.cummax, "min": lax.cummin}.get(kind)
    expected = in_jax(x, dim, reverse).reshape(given.shape) if in_jax and x.size and dtype != "bool" else None
    case("cumulative", name, f"{kind} %0 {words} : {text(given)} -> {text(given)}", [given], want, ulp=ulp,
         jax_result=expected, jax_ulp=4)


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
for reverse in (False, True):
    name = "continued_reversed" if reverse else "continued"
    cumulative(name, "sum", array(np.arange(24).reshape(2, 3, 4) % 7, "f32"), 1, reverse=reverse, continued=True)
    cumulative(f"{name}_last", "max", array(np.arange(24).reshape(2, 3, 4) * 5 % 13, "i32"), 2, reverse=reverse,
               continued=True)
cumulative("continued_empty", "sum", np.zeros((3, 0), np.float32), 1, continued=True)
