"""Factorizations, linear systems, Gaussian processes.

Tolerances: a factorization in another order of operations differs by rounding errors times the condition of the matrix,
so f32 is compared to 1e-5 of the largest element, and f64 to 1e-12. Eigenvectors and singular vectors have no sign of
their own: the programs multiply them together again.
"""

import functools

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np
from jax import lax

import cases
from cases import P, case

rng = np.random.default_rng(21)


def normal(*shape):
    return rng.normal(size=shape).astype(np.float32)


both = functools.partial(cases.both, on_one_device=True, tolerance=1e-5)


def positive(x):
    return x @ jnp.swapaxes(x, -1, -2) / x.shape[-1] + jnp.eye(x.shape[-2], dtype=x.dtype)


def pattern(rows, columns):
    """A matrix of full rank that the program makes, exactly: the files of arguments stay small."""
    i, j = jnp.arange(rows)[:, None], jnp.arange(columns)[None]
    return ((i * i * 131 + j * j * j * 17 + i * j * 71 + i) % 10007).astype(jnp.float32) / 5003 - 1


batch = P(("a", "b"))
both("cholesky_batched", lambda x: (jnp.linalg.cholesky(positive(x)), jsl.cholesky(positive(x), lower=False)), normal(8, 5, 6), shardings=(batch,))
both("cholesky_blocks", lambda x: jnp.linalg.cholesky(positive(x[:, None] * pattern(148, 148)))[::5, ::13], 1 + 0.3 * normal(148), shardings=(P("a"),))
case("cholesky_edges", lambda x, y: (
    jnp.linalg.cholesky(x[:1, :1] ** 2 + 1), jnp.linalg.cholesky(-positive(x)), jnp.linalg.cholesky(y),
    lax.linalg.cholesky(x[:, :4] + 9 * jnp.eye(4), symmetrize_input=False)),
     normal(4, 5), np.array([[[4, 2], [2, 5]], [[1, 2], [2, 1]], [[0, 0], [0, 0]]], np.float32), tolerance=1e-5)

solves = [dict(left_side=left, lower=lower, transpose_a=transpose, unit_diagonal=unit)
          for left in (True, False) for lower in (True, False) for transpose in (True, False) for unit in (True, False)]
both("triangular_solves", lambda a, b: tuple(
    lax.linalg.triangular_solve(a + 4 * jnp.eye(6), b if s["left_side"] else jnp.swapaxes(b, 1, 2), **s) for s in solves),
     normal(8, 6, 6) * 0.3, normal(8, 6, 3), shardings=(batch, batch))
both("triangular_blocks", lambda a, b: (
    jsl.solve_triangular(a[:, None] * pattern(148, 148) + 20 * jnp.eye(148), b, lower=True),
    jsl.solve_triangular(a[:, None] * pattern(148, 148) + 20 * jnp.eye(148), b, trans=1),
    jsl.solve_triangular(pattern(148, 148) + 20 * jnp.eye(148), b[:, 0])),
     normal(148), normal(148, 3), shardings=(P("a"), P("a")))
both("solve_batched", lambda a, b: (jnp.linalg.solve(a, b), jnp.linalg.inv(a), jnp.linalg.det(a)), normal(8, 5, 5) + 3 * np.eye(5, dtype=np.float32), normal(8, 5, 2), shardings=(batch, batch))
both("lu_blocks", lambda a, b: (
    jnp.linalg.solve(pattern(100, 100) * a, b), jsl.lu(pattern(100, 70) * a[:70])[2][::9], lax.linalg.lu(pattern(70, 100))[2],
    jnp.linalg.slogdet(pattern(100, 100) + jnp.eye(100))),
     1 + 0.2 * normal(100), normal(100, 2), shardings=(P("a"), P("b")), tolerance=5e-5)
case("lu_shapes", lambda x, y, z: (*lax.linalg.lu(x), *lax.linalg.lu(x.T), *jsl.lu_factor(y), jnp.linalg.det(y), *lax.linalg.lu(z)),
     normal(7, 4), np.array([[0, 1, 2], [0, 3, 4], [0, 5, 7]], np.float32), normal(1, 1), tolerance=1e-5)
both("slogdet_gradient", lambda x: jax.value_and_grad(lambda x: jnp.sum(jnp.linalg.slogdet(x)[1]))(x), normal(8, 6, 6), shardings=(batch,))
both("qr_batched", lambda x: (*jnp.linalg.qr(x), jnp.linalg.qr(x, mode="r"), *jnp.linalg.qr(jnp.swapaxes(x, 1, 2))), normal(8, 6, 4), shardings=(batch,))
both("qr_tall", lambda x: (lambda q, r: (q[::17], r[::9], jnp.diagonal(q.T @ q)))(*jnp.linalg.qr(pattern(200, 80) * x[:, None])),
     1 + 0.3 * normal(200), shardings=(P("a"),))
case("qr_edges", lambda x, y: (*jnp.linalg.qr(x, mode="complete"), *jnp.linalg.qr(y), *jnp.linalg.qr(x[:1, :1]), *jnp.linalg.qr(x[:, :1])),
     normal(5, 3), np.array([[0, 1, 2], [0, 0, 3], [0, 4, 0], [0, 1, 1]], np.float32), tolerance=1e-5)
both("cho_solve_gradient", lambda a, b: jax.grad(lambda a, b: jnp.sum(jsl.cho_solve(jsl.cho_factor(positive(a)), b) ** 2), argnums=(0, 1))(a, b),
     normal(6, 6), normal(6, 3), shardings=(P("b"), P("b")), tolerance=2e-5)


def log_likelihood(parameters, x, y):
    """Of a Gaussian process: squared exponentials with noise."""
    distance = jnp.sum((x[:, None] - x[None]) ** 2, -1)
    kernel = jnp.exp(parameters["size"] - distance * jnp.exp(-parameters["scale"])) + jnp.exp(parameters["noise"]) * jnp.eye(len(x))
    factor = jnp.linalg.cholesky(kernel)
    white = jsl.solve_triangular(factor, y, lower=True)
    return -0.5 * white @ white - jnp.sum(jnp.log(jnp.diagonal(factor)))


# The gradients are differences of sums that are 20 times as large.
both("gaussian_process", jax.value_and_grad(log_likelihood), {"size": np.float32(0.1), "scale": np.float32(0.5), "noise": np.float32(-1)},
     normal(88, 2), normal(88), shardings=(P(), P("a"), P("a")), tolerance=5e-5)
case("factorizations_wide", lambda x, b: (jnp.linalg.cholesky(positive(x)), jnp.linalg.solve(x, b), *jnp.linalg.qr(x), *lax.linalg.lu(x)[:2]),
     rng.normal(size=(9, 9)), rng.normal(size=(9, 2)), tolerance=1e-12, wide=True)


def from_eigen(x):
    values, vectors = jnp.linalg.eigh(x)
    return values, (vectors * values[..., None, :]) @ jnp.swapaxes(vectors, -1, -2), jnp.abs(vectors)


def from_singular(x, full_matrices):
    left, values, right = jnp.linalg.svd(x, full_matrices=full_matrices)
    size = values.shape[-1]
    return (values, (left[..., :size] * values[..., None, :]) @ right[..., :size, :], left @ jnp.swapaxes(left, -1, -2),
            right @ jnp.swapaxes(right, -1, -2))


both("eigenvalues", lambda x: (*from_eigen(positive(x)), *from_eigen(positive(x[:, :4])), jnp.linalg.eigvalsh(positive(x[:, :1]))),
     normal(8, 5, 7), shardings=(batch,), tolerance=2e-5)
both("singular_values", lambda x: (*from_singular(x, False), *from_singular(jnp.swapaxes(x, 1, 2), True), jnp.linalg.svd(x[:, :4], compute_uv=False)),
     normal(8, 7, 5), shardings=(batch,), tolerance=2e-5)
case("singular_edges", lambda x: (*from_singular(jnp.zeros((3, 2)), True), *from_singular(x @ x.T[:, :5], True), *from_singular(x[:1, :1], False),
                                     *from_eigen(jnp.diag(x[0])), *from_eigen(x[:1, :1]), *from_eigen(jnp.zeros((4, 4)))),
     normal(6, 3), tolerance=2e-5)
both("least_squares", lambda x, b: (jnp.linalg.lstsq(x, b)[0], jnp.linalg.pinv(x), jnp.linalg.cond(x), jnp.linalg.matrix_rank(x), jnp.linalg.norm(x, 2),
                                    jax.grad(lambda x: jnp.sum(jnp.linalg.pinv(x) @ b))(x)),
     normal(12, 5), normal(12, 2), shardings=(P("a"), P("a")), tolerance=5e-5)
both("eigen_gradient", lambda x: jax.grad(lambda x: jnp.sum(jnp.linalg.eigh(positive(x))[0] ** 2) + jnp.sum(jnp.linalg.svd(x, compute_uv=False)))(x),
     normal(8, 4, 5), shardings=(batch,), tolerance=2e-5)
case("linear_for_gpus", lambda x, b: (
    jnp.linalg.cholesky(positive(x)), jnp.linalg.solve(x[:, :, :5], b), jnp.linalg.det(x[:, :, :5]), *jnp.linalg.qr(x),
    *from_eigen(positive(x)), *from_singular(x, False), *from_singular(jnp.swapaxes(x, 1, 2), True), jsl.solve_triangular(x[0, :, :5] + 3 * jnp.eye(5), b[0], trans=1)),
     normal(2, 5, 7), normal(2, 5, 3), platform="cuda", tolerance=2e-5)
case("linear_for_gpus_wide", lambda x, b: (jsl.lu(x)[0], lax.linalg.lu(x)[0], jnp.linalg.solve(x[:4, :4], b), jsl.cholesky(positive(x), lower=False)),
     rng.normal(size=(7, 4)), rng.normal(size=(4, 2)), platform="cuda", tolerance=1e-12, wide=True)
case("linear_empty", lambda x, y: (jnp.linalg.cholesky(y), jnp.linalg.solve(y, x[:0]), jsl.solve_triangular(x[:3] + jnp.eye(3), x[:3, :0]),
                                   *lax.linalg.lu(x[:, :0]), lax.linalg.householder_product(x, x[0, :0]), jnp.linalg.cholesky(jnp.zeros((0, 3, 3)))),
     normal(4, 3), np.zeros((0, 0), np.float32), tolerance=1e-5)
# Infinite variances, in the first block of columns and in a later one: columns of zeros, which take no part in a solution.
case("cholesky_of_infinite_variances", lambda x, y: (
    jnp.linalg.cholesky(x @ x.T + jnp.diag(y)), jsl.cho_solve(jsl.cho_factor(x @ x.T + jnp.diag(y)), x[:, :2]),
    jnp.linalg.cholesky(x[:5] @ x[:5].T + 1j * (x[:5, :5] - x[:5, :5].T) + jnp.diag(5 + y[:5]))),
     normal(40, 6), np.where(np.isin(np.arange(40), (3, 36)), np.inf, 2).astype(np.float32), tolerance=2e-5)

# From 16 matrices of a batch on, a vector has an element of each of many matrices, and blocks have 8 columns.
case("many_small_matrices", lambda x, b: (
    jnp.linalg.cholesky(positive(x))[:, 1::4], jnp.linalg.solve(x + 4 * jnp.eye(9), b), *(q[:, ::3] for q in jnp.linalg.qr(x[:, :, :3])),
    lax.linalg.triangular_solve(x + 4 * jnp.eye(9), b[..., 0][:, None], lower=True), from_eigen(positive(x[:, :3]))[1]),
     normal(16, 9, 9), normal(16, 9, 1), in_shardings=(batch, batch), on_one_device=True, tolerance=3e-5)


def many(*matrices):
    """Each of the matrices four times, between others of full rank."""
    plain = np.arange(9).reshape(3, 3) % 4 + 4 * np.eye(3)
    return np.array([matrix for _ in range(4) for matrix in (*matrices, plain)], np.float32)


case("many_matrices_edges", lambda x, y: (
    jnp.linalg.cholesky(x), *lax.linalg.lu(x), *jnp.linalg.qr(y), jnp.linalg.eigvalsh(x), jnp.linalg.cholesky(x[..., :1, :1])),
     many(np.zeros((3, 3)), np.ones((3, 3)), -np.eye(3), np.full((3, 3), np.nan), 1e-30 * np.eye(3)),
     many(np.zeros((3, 3)), 1e30 * np.eye(3), 1e-30 * np.eye(3), np.diag([1, 0, 2])), tolerance=1e-5)
