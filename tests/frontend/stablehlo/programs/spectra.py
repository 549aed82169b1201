"""Eigenvalues of Hermitian matrices and singular values where they are difficult to tell apart, or far apart in size.

Vectors are compared by what they solve: residuals, relative to the largest element, are added to 1, so that a tolerance is one of
residuals. LAPACK's are some 10 to 100 rounding errors for these sizes.
"""

import functools

import jax.numpy as jnp
import numpy as np

import cases
from cases import P, case

rng = np.random.default_rng(33)
both = functools.partial(cases.both, on_one_device=True, wide=True, tolerance=1e-12)
batch = P(("a", "b"))


def adjoint(x):
    return jnp.swapaxes(x, -1, -2).conj()


def sizes(x):
    largest = abs(x).max((-1, -2), keepdims=True)
    return jnp.where(largest > 0, largest, 1)


def of_hermitian(x):
    values, vectors = jnp.linalg.eigh(x)
    own = x / sizes(x)
    values = values / sizes(x)[..., 0]
    return (values, jnp.linalg.eigvalsh(x) / sizes(x)[..., 0], 1 + abs(own @ vectors - vectors * values[..., None, :]).max((-1, -2)),
            1 + abs(adjoint(vectors) @ vectors - jnp.eye(x.shape[-1])).max((-1, -2)))


def of_any(x, full_matrices=False):
    left, values, right = jnp.linalg.svd(x, full_matrices=full_matrices)
    count = values.shape[-1]
    values = values / sizes(x)[..., 0]
    product = (left[..., :count] * values[..., None, :]) @ right[..., :count, :]
    return (values, jnp.linalg.svd(x, compute_uv=False) / sizes(x)[..., 0], 1 + abs(product - x / sizes(x)).max((-1, -2)),
            1 + abs(adjoint(left) @ left - jnp.eye(left.shape[-1])).max((-1, -2)),
            1 + abs(right @ adjoint(right) - jnp.eye(right.shape[-2])).max((-1, -2)))


def turned(values, u, v=None):
    """Matrices with these eigenvalues, or singular values, between two reflections."""
    def reflection(u):
        return jnp.eye(u.size) - 2 * u[:, None] * u[None].conj() / (abs(u) ** 2).sum()

    v = u if v is None else v
    middle = values[..., None] * jnp.eye(u.size, v.size)[:values.shape[-1]]
    return reflection(u)[:, :values.shape[-1]] @ middle @ reflection(v)


def spectra(count, most):
    index = np.arange(count)
    return np.stack([index // 2, index < count // 2, 10.0 ** (-25 * index / count), 1 + index * 1e-13, index * 0, index * 0 + 1,
                     most * (index - 3), (index * index + 1) / most])


def tridiagonal(main, beside):
    return jnp.diag(main) + jnp.diag(beside, 1) + jnp.diag(beside, -1)


def vector(count, is_complex=False):
    return rng.normal(size=count) + (1j * rng.normal(size=count) if is_complex else 0)


both("spectra", lambda values, u: of_hermitian(turned(values, u)), spectra(70, 1e300), vector(70), shardings=(batch, P()))
# LAPACK's eigenvalues of complex matrices of 1e-300 have errors of 3e-12.
both("spectra_of_complex", lambda values, u: of_hermitian(turned(values, u)), spectra(70, 1e150), vector(70, is_complex=True), shardings=(batch, P()))
case("spectra_single", lambda values, u: of_hermitian(turned(values, u)), spectra(37, 1e30).astype(np.float32), vector(37).astype(np.float32),
     tolerance=1e-5)
# The smallest ones, at the sizes where a leaf or a level of divide and conquer ends.
case("spectra_of_sizes", lambda x: tuple(part for size in (1, 2, 3, 4, 5, 31, 32, 33, 64, 65) for part in of_hermitian(jnp.outer(x, x)[:size, :size] + jnp.diag(x[:size] ** 3))),
     vector(65), wide=True, tolerance=1e-12)
# Wilkinson's matrices have pairs of eigenvalues that agree in all digits; glued together, clusters of many.
wilkinson = np.tile(abs(np.arange(21.0) - 10), 6)
glued = np.where(np.arange(125) % 21 == 20, np.array([1e-8, 1e-14, 0])[:, None], 1)
case("spectra_of_tridiagonal", lambda main, beside: tuple(part for e in beside for part in of_hermitian(tridiagonal(main, e))) +
     of_hermitian(tridiagonal(jnp.zeros(100), jnp.ones(99))) + of_hermitian(tridiagonal(jnp.zeros(100), 10.0 ** -jnp.arange(99))),
     wilkinson, glued, wide=True, tolerance=1e-12)
case("spectra_of_nan", lambda x: (jnp.linalg.eigvalsh(x), *jnp.linalg.eigh(x[:2])), np.float32([[[1, 2], [2, 3]], [[1, np.nan], [np.nan, 1]], [[np.inf, 1], [1, 0]]]) * np.float32([[[0]], [[1]], [[1]]]))

for name, is_complex in (("singular_spectra", False), ("singular_spectra_of_complex", True)):
    both(name, lambda values, u, v: of_any(turned(values, u, v)), spectra(70, 1e150), vector(80, is_complex), vector(70, is_complex),
         shardings=(batch, P(), P()))
case("singular_spectra_single", lambda values, u, v: of_any(turned(values, u, v), full_matrices=True) + of_any(turned(values, v)),
     spectra(33, 1e30).astype(np.float32), vector(40).astype(np.float32), vector(33).astype(np.float32), tolerance=1e-5)
case("singular_spectra_of_sizes", lambda x: tuple(part for size in (1, 2, 3, 4, 5, 30, 31, 32, 33, 64, 65)
                                                  for part in of_any(jnp.outer(x, x * x)[:size, :size] + jnp.diag(x[:size] ** 3))),
     vector(65), wide=True, tolerance=1e-12)
# Rows of zeros, columns of zeros, elements that become subnormal in the reduction, sizes in the wrong order.
case("singular_spectra_of_bidiagonal", lambda x, small: tuple(part for m in (
    jnp.diag(x[:69] * 0 + 1, 1), jnp.eye(70) + jnp.diag(x[:69], 1), jnp.outer(x, x) * 0 + 1, jnp.zeros((70, 70)), jnp.diag(small) + jnp.diag(x[:69], 1),
    jnp.diag(small[::-1]) + jnp.diag(small[:69], 1), jnp.outer(x, small), jnp.diag(x).at[3, 3].set(0)) for part in of_any(m)),
     vector(70), 10.0 ** (-4.0 * np.arange(70)), wide=True, tolerance=1e-12)
case("singular_spectra_of_nan", lambda x: jnp.linalg.svd(x, compute_uv=False), np.float32([[[1, 2], [2, 3]], [[1, np.nan], [0, 1]], [[np.inf, 1], [1, 0]]]) * np.float32([[[0]], [[1]], [[1]]]))
