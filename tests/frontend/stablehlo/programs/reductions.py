"""Reductions by regions of one's own, and of several arrays."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import cases
from cases import P, case

rng = np.random.default_rng(20)
f32 = np.float32
INFINITY = f32(np.inf)


def normal(*shape):
    return rng.normal(size=shape).astype(f32)


both = functools.partial(cases.both, on_one_device=True)


def larger_size(a, b):
    return jnp.where(jnp.abs(a) >= jnp.abs(b), a, b)


x, bits = normal(16, 13), rng.integers(0, 1 << 30, size=(16, 13)).astype(np.int32)
both("reduce_regions", lambda x, i: (
    lax.reduce(x, -INFINITY, jnp.logaddexp, (0,)), lax.reduce(x, f32(0), larger_size, (0, 1)),
    lax.reduce(x, f32(0.25), lambda a, b: a + b - a * b, (1,)), lax.reduce_xor(i, (0, 1)), lax.reduce_xor(i, (0,)),
    lax.reduce_xor(i, ()),
    lax.reduce(x[:0], f32(3), lambda a, b: a * b + a, (0,)), lax.reduce(x[:1], f32(0), lambda a, b: a * b + a + b, (0,))), x, bits, tolerance=4e-6)
both("numpy_reductions", lambda x, i: (
    jnp.nanmax(x, 0), jnp.nanmin(x), jnp.nansum(x, 1), jnp.ptp(x[:, 1:], 0), jnp.bitwise_xor.reduce(i, axis=0), jnp.bitwise_or.reduce(i, axis=1),
    jnp.logical_xor.reduce(i > 5, axis=0), jnp.nanargmin(x, 1)),
     np.where(np.arange(13) == 0, np.nan, x).astype(f32), bits, tolerance=4e-6)


def welford(x, dims):
    def add(a, b):
        (mean, squares, count), (mean2, squares2, count2) = a, b
        total = count + count2
        delta = mean2 - mean
        share = jnp.where(total == 0, 0.0, count2 / jnp.where(total == 0, 1.0, total))
        return mean + delta * share, squares + squares2 + delta * delta * count * share, total

    mean, squares, count = lax.reduce((x, jnp.zeros_like(x), jnp.ones_like(x)), (f32(0), f32(0), f32(0)), add, dims)
    return mean, squares / count


both("welford", lambda x: (*welford(x, (0,)), *welford(x, (1,)), *welford(x, (0, 1))), normal(24, 11) + 100, tolerance=4e-6)


def composed(a, b):
    """First a, then b, of maps x -> slope x + offset: the order of elements counts."""
    return a[0] * b[0], b[0] * a[1] + b[1]


both("affine_maps", lambda x, y: (*lax.reduce((x, y), (f32(1), f32(0)), composed, (0,)), *lax.reduce((x, y), (f32(1), f32(0)), composed, (1,))),
     1 + 0.1 * normal(16, 7), normal(16, 7), tolerance=4e-6)


def first_largest(a, b):
    is_left = (a[0] > b[0]) | ((a[0] == b[0]) & (a[1] <= b[1]))
    return jnp.where(is_left, a[0], b[0]), jnp.where(is_left, a[1], b[1]), jnp.minimum(a[2], b[2])


both("extremes_with_labels", lambda x, i: lax.reduce((x, i, x), (-INFINITY, np.int32(2**31 - 1), INFINITY), first_largest, (1,)), x, bits)

window = normal(2, 16, 13)
both("window_regions", lambda x: (
    lax.reduce_window(x, -INFINITY, jnp.logaddexp, (1, 3, 2), (1, 2, 1), "SAME"),
    lax.reduce_window(x, f32(0), larger_size, (1, 4, 3), (1, 4, 3), "VALID"),
    lax.reduce_window(x, f32(0), larger_size, (1, 5, 1), (1, 1, 1), ((0, 0), (2, 1), (0, 0)), window_dilation=(1, 2, 1), base_dilation=(1, 1, 2)),
    lax.reduce_window(x, f32(0), lambda a, b: a + b - a * b, (2, 1, 13), (1, 1, 1), "SAME")),
     window, shardings=P(None, "a"), tolerance=4e-6)
both("windows_of_several", lambda x, y: (
    *lax.reduce_window((x, y), (f32(1), f32(0)), composed, (1, 3), (1, 1), "VALID"),
    *lax.reduce_window((x, y), (f32(0), -INFINITY), lambda a, b: (a[0] + b[0], jnp.maximum(a[1], b[1])), (2, 2), (2, 2), "VALID"),
    *lax.reduce_window((x, y), (f32(1), f32(0)), composed, (16, 1), (1, 1), ((15, 0), (0, 0)))),
     1 + 0.1 * normal(16, 7), normal(16, 7), tolerance=4e-6)
case("reduce_regions_wide", lambda x, h: (lax.reduce(x, np.float64(0), lambda a, b: jnp.hypot(a, b), (0,)),
                                          lax.reduce(h, jnp.bfloat16(0), larger_size, (0,))),
     normal(33, 3).astype(np.float64), jnp.asarray(normal(9, 4), jnp.bfloat16), tolerance=1e-12, wide=True)


def larger(a, b):
    return lax.cond(a > b, lambda: a, lambda: b)


# XLA's compiler for CPUs refuses or ends on most reductions of this kind: those of several arrays, sharded ones, those with loops.
case("regions_with_branches", lambda x: lax.reduce(x, f32(-np.inf), larger, (0,)), normal(16, 6))
