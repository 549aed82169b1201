"""Factorizations of complex matrices, tridiagonal systems. Tolerances are those of linear.py."""

import functools

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np
from jax import lax

import cases
from cases import P, case

rng = np.random.default_rng(33)


def normal(*shape):
    return rng.normal(size=shape).astype(np.float32)


def numbers(*shape, dtype=np.complex64):
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)


both = functools.partial(cases.both, on_one_device=True, tolerance=1e-5)


def adjoint(x):
    return jnp.conj(jnp.swapaxes(x, -1, -2))


def positive(x):
    return x @ adjoint(x) / x.shape[-1] + jnp.eye(x.shape[-2], dtype=x.dtype)


def pattern(rows, columns):
    i, j = jnp.arange(rows)[:, None], jnp.arange(columns)[None]
    return lax.complex(((i * i * 131 + j * j * j * 17 + i * j * 71 + i) % 10007).astype(jnp.float32) / 5003 - 1,
                       ((i * i * 59 + j * j * 113 + i * j * 37 + 3 * j) % 10007).astype(jnp.float32) / 5003 - 1)


batch = P(("a", "b"))
both("complex_cholesky", lambda x: (jnp.linalg.cholesky(positive(x)), jsl.cholesky(positive(x), lower=False), jsl.cho_solve(jsl.cho_factor(positive(x)), x)),
     numbers(8, 5, 5), shardings=(batch,))
case("complex_cholesky_edges", lambda x: (jnp.linalg.cholesky(abs(x[:1, :1]) + 1j * 0), jnp.linalg.cholesky(-positive(x)),
                                          lax.linalg.cholesky(x[:, :4] + 9 * jnp.eye(4), symmetrize_input=False),
                                          jnp.linalg.cholesky(positive(pattern(100, 100)))[::9]), numbers(4, 5), tolerance=1e-5)
solves = [dict(left_side=left, lower=lower, transpose_a=transpose, conjugate_a=conjugate, unit_diagonal=unit)
          for left in (True, False) for lower in (True, False) for transpose in (True, False) for conjugate in (True, False) for unit in (True, False)]
both("complex_triangular_solves", lambda a, b: tuple(
    lax.linalg.triangular_solve(a + 4 * jnp.eye(5), b if s["left_side"] else jnp.swapaxes(b, 1, 2), **s) for s in solves),
     numbers(8, 5, 5) * np.float32(0.3), numbers(8, 5, 3), shardings=(batch, batch))
both("complex_triangular_blocks", lambda a, b: (
    jsl.solve_triangular(a[:, None] * pattern(148, 148) + 20 * jnp.eye(148), b, lower=True),
    jsl.solve_triangular(a[:, None] * pattern(148, 148) + 20 * jnp.eye(148), b, trans=2)),
     numbers(148), numbers(148, 3), shardings=(P("a"), P("a")))
both("complex_solve", lambda a, b: (jnp.linalg.solve(a, b), jnp.linalg.inv(a), jnp.linalg.det(a), *jnp.linalg.slogdet(a), *lax.linalg.lu(a), *lax.linalg.lu(a[:, :3])),
     numbers(8, 5, 5) + 3 * np.eye(5, dtype=np.complex64), numbers(8, 5, 2), shardings=(batch, batch))
both("complex_lu_blocks", lambda a, b: (jnp.linalg.solve(pattern(100, 100) * a, b), lax.linalg.lu(pattern(70, 100))[2]), 1 + numbers(100) * np.float32(0.1), numbers(100, 2),
     shardings=(P("a"), P("b")), tolerance=1e-4)
both("complex_qr", lambda x: (*jnp.linalg.qr(x), jnp.linalg.qr(x, mode="r"), *jnp.linalg.qr(jnp.swapaxes(x, 1, 2)), *jnp.linalg.qr(x[:, :, :2], mode="complete")), numbers(8, 6, 4), shardings=(batch,))
case("complex_qr_edges", lambda x, y: (*jnp.linalg.qr(x), *jnp.linalg.qr(y), *jnp.linalg.qr(y.real + 0j), *jnp.linalg.qr(y[:1, 1:2]),
                                       (lambda q, r: (q[::17], r[::9], adjoint(q) @ q))(*jnp.linalg.qr(pattern(120, 70)))),
     np.complex64([[0, 1j, 2], [0, 0, 3], [0, 4, 0], [0, 1, 1j]]), np.complex64([[1j, 2 - 1j], [0, 1j]]), tolerance=1e-5)
case("complex_factorizations_wide", lambda x, b: (jnp.linalg.cholesky(positive(x)), jnp.linalg.solve(x, b), *jnp.linalg.qr(x), *lax.linalg.lu(x)[:2]),
     numbers(9, 9, dtype=np.complex128), numbers(9, 2, dtype=np.complex128), tolerance=1e-12, wide=True)


def from_eigen(x):
    values, vectors = jnp.linalg.eigh(x)
    return values, (vectors * values[..., None, :]) @ adjoint(vectors), jnp.abs(vectors)


def from_singular(x, full_matrices):
    left, values, right = jnp.linalg.svd(x, full_matrices=full_matrices)
    size = values.shape[-1]
    return values, (left[..., :size] * values[..., None, :]) @ right[..., :size, :], left @ adjoint(left), right @ adjoint(right)


both("complex_eigenvalues", lambda x: (*from_eigen(positive(x)), *from_eigen(positive(x[:, :4])), jnp.linalg.eigvalsh(positive(x[:, :1]))),
     numbers(8, 5, 7), shardings=(batch,), tolerance=2e-5)
both("complex_singular_values", lambda x: (*from_singular(x, False), *from_singular(jnp.swapaxes(x, 1, 2), True), jnp.linalg.svd(x[:, :4], compute_uv=False)),
     numbers(8, 7, 5), shardings=(batch,), tolerance=2e-5)
case("complex_spectra_edges", lambda x: (*from_singular(jnp.zeros((3, 2), jnp.complex64), True), *from_singular(x @ x.T[:, :5], True), *from_singular(x[:1, :1], False),
                                         *from_eigen(jnp.diag(abs(x[0])) + 0j), *from_eigen(x[:1, :1] * 0 + 2), *from_eigen(jnp.zeros((4, 4), jnp.complex64)),
                                         *from_eigen(jnp.array([[1, 1j], [-1j, 1]]))),
     numbers(6, 3), tolerance=2e-5)
both("complex_least_squares", lambda x, b: (jnp.linalg.lstsq(x, b)[0], jnp.linalg.pinv(x), jnp.linalg.cond(x), jnp.linalg.norm(x, 2)),
     numbers(12, 5), numbers(12, 2), shardings=(P("a"), P("a")), tolerance=5e-5)
case("complex_linear_gradients", lambda x, b: (
    jax.grad(lambda x: (abs(jnp.linalg.solve(x, b)) ** 2).sum())(x), jax.grad(lambda x: abs(jnp.linalg.cholesky(positive(x))).sum())(x),
    jax.grad(lambda x: (jnp.linalg.eigh(positive(x))[0] ** 3).sum())(x), jax.grad(lambda x: jnp.linalg.svd(x, compute_uv=False).sum())(x)),
     numbers(5, 5), numbers(5, 2), tolerance=5e-5)
case("complex_linear_for_gpus", lambda x, b: (
    jnp.linalg.cholesky(positive(x)), jnp.linalg.solve(x[:, :, :5], b), jnp.linalg.det(x[:, :, :5]), *jnp.linalg.qr(x),
    *from_eigen(positive(x)), *from_singular(x, False), jsl.solve_triangular(x[0, :, :5] + 3 * jnp.eye(5), b[0], trans=1),
    jsl.solve_triangular(x[0, :, :5] + 3 * jnp.eye(5), b[0], trans=2)),
     numbers(2, 5, 7), numbers(2, 5, 3), platform="cuda", tolerance=2e-5)
case("complex_linear_empty", lambda x, y: (jnp.linalg.cholesky(y), jnp.linalg.solve(y, x[:0]), *lax.linalg.lu(x[:, :0]), jnp.linalg.cholesky(jnp.zeros((0, 3, 3), jnp.complex64))),
     numbers(4, 3), np.zeros((0, 0), np.complex64), tolerance=1e-5)
case("many_complex_matrices", lambda x, b: (jnp.linalg.cholesky(positive(x))[:, 1::4], jnp.linalg.solve(x + 4 * jnp.eye(9), b), *(q[:, ::3] for q in jnp.linalg.qr(x[:, :, :2]))),
     numbers(16, 9, 9), numbers(16, 9, 1), tolerance=3e-5)
