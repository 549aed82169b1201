"""Eigenvalues of any matrices, Schur and Hessenberg forms, QR with pivoting, tridiagonal systems.

Eigenvalues are compared in their order, and eigenvectors by what they solve: residuals are added to 1, so that a tolerance is
relative to the size of the matrices.
"""

import functools

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np
from jax import lax
from jax._src.lax import linalg

import cases
from cases import P, case

rng = np.random.default_rng(34)


def normal(*shape, dtype=np.float32):
    return rng.normal(size=shape).astype(dtype)


def numbers(*shape, dtype=np.complex64):
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)


both = functools.partial(cases.both, on_one_device=True, tolerance=2e-5)


def adjoint(x):
    return jnp.conj(jnp.swapaxes(x, -1, -2))


def largest(vectors):
    """The largest element of each column."""
    return jnp.take_along_axis(vectors, jnp.argmax(abs(vectors), -2, keepdims=True), -2)


def from_eigen(x):
    values, left, right = lax.linalg.eig(x)
    w = values[..., None, :]
    return (jnp.sort(values), x @ right - right * w + 1, adjoint(left) @ x - jnp.swapaxes(w, -1, -2) * adjoint(left) + 1,
            jnp.linalg.norm(left, axis=-2), jnp.linalg.norm(right, axis=-2), largest(left).imag + 1, largest(right).imag + 1)


def from_schur(x):
    t, z = jsl.schur(x)
    below = jnp.tril(t, -1)
    # At most one of two neighbours under the diagonal is not zero, and blocks have equal diagonals.
    sub, main = jnp.diagonal(t, -1), jnp.diagonal(t)
    return (z @ t @ adjoint(z), z @ adjoint(z), jnp.tril(t, -2) + 1, sub[1:] * sub[:-1] + 1, jnp.where(sub != 0, main[1:] - main[:-1], 0) + 1,
            jnp.sort(main.real) if jnp.iscomplexobj(x) else jnp.trace(t), (below.imag + 1))


batch = P(("a", "b"))
both("eigen_of_any", lambda x: (*from_eigen(x), *from_eigen(x[:, :2, :2]), *from_eigen(x[:, :1, :1]), jnp.sort(jnp.linalg.eigvals(x[:, :5, :5]))),
     normal(8, 7, 7), shardings=(batch,))
both("eigen_of_complex", lambda x: (*from_eigen(x), *from_eigen(x[:, :2, :2]), *from_eigen(x[:, :1, :1]), jnp.linalg.norm(jnp.linalg.eigvals(x), axis=-1)),
     numbers(8, 6, 6), shardings=(batch,))
case("eigen_of_any_wide", from_eigen, normal(20, 20, dtype=np.float64), wide=True, tolerance=1e-12)
case("eigen_of_complex_wide", from_eigen, numbers(17, 17, dtype=np.complex128), wide=True, tolerance=1e-12)

# Several equal eigenvalues, nilpotent and cyclic matrices, real and complex blocks.
ring, nilpotent = np.roll(np.eye(6), 1, 0), np.eye(6, k=1)
blocks = np.kron(np.diag([1, 2, 3]), [[1, 2], [-2, 1]]) + np.triu(np.ones((6, 6)), 2)
edges = np.stack([ring, nilpotent, np.eye(6), np.zeros((6, 6)), np.ones((6, 6)), blocks, np.triu(np.ones((6, 6))) + np.diag(range(6))]).astype(np.float32)
case("eigen_edges", lambda x: (lambda w, l, r: (abs(w), x @ r - r * w[:, None] + abs(x).max((1, 2))[:, None, None], jnp.linalg.norm(l, axis=1), jnp.linalg.norm(r, axis=1)))(*lax.linalg.eig(x)),
     edges[[0, 2, 3, 5, 6]], tolerance=2e-5)
case("eigen_of_sizes", lambda x: (jnp.sort(jnp.linalg.eigvals(x * 1e10)) * 1e-10, jnp.sort(jnp.linalg.eigvals(x * 1e-10)) * 1e10), edges[5], tolerance=2e-5)
case("eigen_of_defective", lambda x: (abs(jnp.linalg.eigvals(x)), jnp.sort(jnp.linalg.eigvals(x[:1]).real)), edges[[1, 4]], tolerance=2e-5)
# Eigenvalues that a reordering isolates, all or some of them; rows and columns of other sizes; a matrix whose rest after the
# reduction are rounding errors.
order = np.array([4, 0, 6, 2, 7, 1, 5, 3])
chain, mixed = np.tril(normal(8, 8)) + np.diag(range(8)), normal(8, 8)
mixed[5:, :5] = mixed[2:, :2] = 0
powers = 10.0 ** np.array([0, 3, -2, 1, -3, 2, 0, -1])
both("eigen_balanced", lambda x: (*from_eigen(x[:2]), jnp.sort(jnp.linalg.eigvals(x[2:]))),
     np.stack([chain[order][:, order], mixed[order][:, order], powers[:, None] * normal(8, 8) / powers, np.tril(np.ones((8, 8)))]).astype(np.float32), shardings=(P("a"),))
both("eigen_balanced_complex", lambda x: (*from_eigen(x[:2]), *jsl.schur(x[0])[:1], jnp.sort(jnp.linalg.eigvals(x[2]).real)),
     np.stack([(1 + 2j) * chain[order][:, order], mixed[order][:, order] + 1j * np.diag(range(8)), powers[:, None] * numbers(8, 8) / powers, np.ones((8, 8))]).astype(np.complex64), shardings=(P("a"),))
case("eigen_of_ones", lambda x: (lambda w, v: (jnp.sort(w.real), abs(x @ v - v * w) + 1))(*jnp.linalg.eig(x)), np.ones((20, 20), np.float32))
case("eigen_of_nan", lambda x: jnp.linalg.eig(x), np.float32([[[1, 2], [3, 4]], [[1, np.nan], [0, 1]], [[np.inf, 1], [0, 1]]]) * np.float32([[[0]], [[1]], [[1]]]))
case("eigen_of_any_gradient", lambda x: jax.grad(lambda x: (abs(jnp.linalg.eigvals(x)) ** 3).sum())(x), normal(5, 5), tolerance=1e-4)
case("polynomial_roots", lambda p: jnp.sort(abs(jnp.roots(p, strip_zeros=False))), np.float32([1, -3, 2, 5, -1, 4]), tolerance=2e-5)
case("eigen_for_gpus", lambda x: (*from_eigen(x), *from_eigen(x + 1j * x[::-1])), normal(4, 4), platform="cuda", tolerance=2e-5)
case("eigen_empty", lambda x, y: (*jnp.linalg.eig(x), *jnp.linalg.eig(y)), np.zeros((0, 0), np.float32), np.zeros((0, 3, 3), np.complex64))

case("schur_forms", lambda x, z: (*from_schur(x), *from_schur(z), *from_schur(x[:2, :2]), *from_schur(x[:1, :1]), *from_schur(z[:2, :2]), jsl.schur(jnp.triu(x))[0]),
     normal(8, 8), numbers(7, 7), tolerance=2e-5)
case("schur_of_blocks", lambda x: from_schur(x), edges[5] * np.float32([[1, 2, 1, 1, 1, 1]]), tolerance=2e-5)
both("matrix_functions", lambda x: (jsl.sqrtm(x @ x.T + jnp.eye(6)), jsl.funm(x / 4, jnp.exp), jsl.expm(x)), normal(6, 6), shardings=(P(),), tolerance=5e-5)
case("hessenberg_forms", lambda x, z: (*jsl.hessenberg(x, calc_q=True), *jsl.hessenberg(z, calc_q=True), *jsl.hessenberg(x[0, :2, :2], calc_q=True), jsl.hessenberg(z[0, :1, :1])),
     normal(2, 7, 7), numbers(2, 6, 6), tolerance=1e-5)

both("qr_pivoted", lambda x, z: (*jsl.qr(x, pivoting=True, mode="economic"), *jsl.qr(x[0].T, pivoting=True), *jsl.qr(z, pivoting=True, mode="economic"), *jsl.qr(z[0], mode="r", pivoting=True)),
     normal(8, 7, 5), numbers(8, 6, 4), shardings=(batch, batch), tolerance=1e-5)
case("qr_pivoted_edges", lambda x: (*jsl.qr(x, pivoting=True), *jsl.qr(x * 0, pivoting=True), *jsl.qr(x[:1, :1], pivoting=True)), np.float32([[1, 2, 4], [0, 1, 8], [0, 0, 1]]), tolerance=1e-5)
case("qr_pivoted_for_gpus", lambda x: jsl.qr(x, pivoting=True), normal(5, 4), platform="cuda", tolerance=1e-5)
applied = [dict(left=left, transpose=transpose) for left in (True, False) for transpose in (True, False)]
case("qr_applied", lambda x, c, z, d: (*(linalg.ormqr(*linalg.geqrf(x), c if s["left"] else jnp.swapaxes(c, -1, -2), **s) for s in applied),
                                       *(linalg.ormqr(*linalg.geqrf(z), d if s["left"] else d.T, **s) for s in applied)),
     normal(3, 6, 4), normal(3, 6, 5), numbers(80, 70), numbers(80, 2), tolerance=1e-5)

diagonals = normal(3, 8, 9)
both("tridiagonal", lambda d, b: (lax.linalg.tridiagonal_solve(d[0], d[1] + 4, d[2], b), lax.linalg.tridiagonal_solve(d[0, :, :2], d[1, :, :2], d[2, :, :2], b[:, :2, :1]),
                                  lax.linalg.tridiagonal_solve(d[0, 0, :1], d[1, 0, :1], d[2, 0, :1], b[0, :1])),
     diagonals, normal(8, 9, 3), shardings=(P(None, ("a", "b")), batch), tolerance=1e-5)
case("tridiagonal_edges", lambda d, z, b: (lax.linalg.tridiagonal_solve(*d, b), lax.linalg.tridiagonal_solve(*(d * jnp.float32([[[1]], [[0]], [[1]]])), b),
                                           lax.linalg.tridiagonal_solve(*(d * 0), b), lax.linalg.tridiagonal_solve(*z, b[0] + 0j)),
     normal(3, 2, 8), numbers(3, 8), normal(2, 8, 2), tolerance=5e-5)
case("tridiagonal_for_gpus", lambda d, b: lax.linalg.tridiagonal_solve(d[0], d[1] + 4, d[2], b), diagonals, normal(8, 9, 3), platform="cuda", tolerance=1e-5)
