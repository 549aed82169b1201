"""Orders of complex numbers, approximate top-k, scatters that combine repeated updates."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax._src.lax import windowed_reductions

import cases
from cases import P, case

rng = np.random.default_rng(32)


both = functools.partial(cases.both, on_one_device=True)


def normal(*shape):
    return rng.normal(size=shape).astype(np.float32)


def numbers(*shape):
    return (normal(*shape) + 1j * normal(*shape)).astype(np.complex64)


def integers(low, high, *shape, dtype=np.int32):
    return rng.integers(low, high, size=shape).astype(dtype)


# Numbers of few real parts, so that imaginary parts decide.
grid = (integers(-2, 3, 8, 6) + 1j * integers(-2, 3, 8, 6)).astype(np.complex64)
parts = np.float32([0, -0.0, 1, 2, np.nan, np.inf])
edges = np.stack(np.meshgrid(parts, parts, indexing="ij"), -1).view(np.complex64)[..., 0]
both("complex_clamp", lambda x, low, high: (lax.clamp(low, x, high), lax.clamp(np.complex64(-1 + 1j), x, np.complex64(1 - 1j)), jnp.clip(x.real, -1, 1)),
     grid, grid[::-1], grid[:, ::-1])
case("complex_clamp_of_nan", lambda x: (lax.clamp(np.complex64(1 + 2j), x, np.complex64(2 + 1j)), lax.clamp(np.complex64(3), x[0], np.complex64(1)), lax.clamp(1j, x[2, 2], 2j)), edges)
both("complex_prefixes", lambda x: (lax.cummax(x, 0), lax.cummin(x, 1), lax.cumprod(x, 0), lax.cumsum(x, 1), lax.cummax(x, 1, reverse=True), lax.cumprod(x[:1], 0)),
     grid, tolerance=4e-6)
both("complex_windows", lambda x: (lax.reduce_window(x, np.complex64(1), lax.mul, (3, 2), (2, 1), "SAME"),
                                   lax.reduce_window(x, np.complex64(-np.inf), lax.max, (2, 3), (1, 3), "VALID"),
                                   lax.reduce_window(x, np.complex64(np.inf), lax.min, (8, 6), (1, 1), "VALID")), grid)

both("approximate_top", lambda x: (*lax.approx_max_k(x, 3), *lax.approx_min_k(x, 2, reduction_dimension=0), *lax.approx_max_k(x, 16, aggregate_to_topk=True)),
     rng.permutation(160).reshape(8, 20).astype(np.float32))
case("approximate_top_of_16_bits", lambda x: (*lax.approx_max_k(x, 4), *lax.approx_min_k(x, 1)), rng.permutation(64).astype(jnp.bfloat16))

x, i, u = normal(8, 5), np.array([1, 1, 3, 1, 9, 3, -2, 6, 1, 0, 7, 1], np.int32), normal(12, 5)
both("scatter_multiply", lambda x, i, u: (x.at[i].multiply(u), x.at[:, i % 5].multiply(u[:, 0]), x.at[i, i % 5].multiply(u[:, 0]), x.at[i].divide(u)), x, i, u)
case("scatter_multiply_types", lambda x, i, u, y, v: (x.at[i].multiply(u), y.at[i].multiply(v), x.at[i[:1]].multiply(u[:1])),
     integers(-3, 4, 8, 5, dtype=np.int8), i, integers(-3, 4, 12, 5, dtype=np.int8), x.astype(np.float16), u.astype(np.float16), tolerance=4e-3)
both("scatter_multiply_batched", lambda x, i, u: jax.vmap(lambda x, i, u: x.at[i].multiply(u))(x, i, u), normal(8, 6, 3), integers(-7, 7, 8, 5), normal(8, 5, 3))
case("scatter_multiply_empty", lambda x: (x.at[jnp.zeros(0, jnp.int32)].multiply(x[:0]), x[:, :0].at[jnp.array([1, 1])].multiply(x[:2, :0])), x)
both("scatter_complex", lambda x, i, u: (x.at[i].multiply(u), x.at[i].max(u), x.at[i].min(u), x.at[i].set(u[0]), x.at[2].multiply(u[0]), x.at[i[1:3]].multiply(u[1:3], unique_indices=True)),
     numbers(8, 5), i, numbers(12, 5))


def scatter_selected(x, u, select, combine, init):
    """Windows of 2 x 3, which overlap along the second dimension."""
    return windowed_reductions._select_and_scatter(x, select, (2, 3), (2, 1), ((0, 0), (1, 1)), u, x.dtype.type(init), combine)


both("select_and_scatter_kinds", lambda x, u, y, v: (scatter_selected(x, u, lax.ge, lax.mul, 1), scatter_selected(x, u, lax.le, lax.max, -5), scatter_selected(x, u, lax.gt, lax.min, 5),
                                                     scatter_selected(y, v, lax.ge, lax.bitwise_or, False), scatter_selected(y, v, lax.le, lax.bitwise_and, True)),
     normal(8, 6), normal(4, 6), normal(8, 6) > 0, normal(4, 6) > 0)
