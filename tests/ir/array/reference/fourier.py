"""Fourier transforms along a dimension, with both parts of a number in the last one."""

from reference.cases import array, case, rng, text

import jax.numpy as jnp
import numpy as np


def joined(x, dtype):
    return array(np.stack([x.real, x.imag], axis=-1) if np.iscomplexobj(x) else x[..., None], dtype)


def transformed(given, dim, kind, length):
    """The numbers, and their transform in double precision."""
    wide = given.astype(np.float64)
    numbers = wide[..., 0] + (1j * wide[..., 1] if given.shape[-1] == 2 else 0)
    if kind == "fft":
        return numbers, np.fft.fft(numbers, axis=dim)
    if kind == "inverse":
        return numbers, np.fft.ifft(numbers, axis=dim) * length
    if kind == "from_real":
        return numbers, np.fft.rfft(numbers.real, axis=dim)
    return numbers, np.fft.irfft(numbers, length, axis=dim) * length


def fft(name, dtype, shape, dim, kind, length, divisor=1):
    """Draws numbers until no sum cancels: an error is one of the addends, but counted in units of the sum."""
    while True:
        given = joined(rng.normal(size=shape) + (0 if kind == "from_real" else 1j * rng.normal(size=shape)), dtype)
        numbers, want = transformed(given, dim, kind, length)
        sizes = np.abs(joined(want, "f64"))
        if np.all((sizes == 0) | (sizes > 0.05 * np.sqrt(np.mean(sizes**2)))):
            break
    function = {"fft": jnp.fft.fft, "inverse": jnp.fft.ifft, "from_real": jnp.fft.rfft, "to_real": jnp.fft.irfft}[kind]
    in_jax = function(jnp.asarray(numbers.real if kind == "from_real" else numbers),
                      **({"n": length} if kind == "to_real" else {}), axis=dim)
    is_inverse = kind in ("inverse", "to_real")
    in_jax = np.asarray(in_jax) * (length if is_inverse else 1) / divisor
    result = joined(want / divisor, dtype)
    assert np.allclose(joined(in_jax, "f64"), result.astype(np.float64), 1e-5, 1e-5), name
    words = f"dim {dim} length {length}{' inverse' * is_inverse} divisor {divisor}"
    case("fft", name, f"%0 {words} : {text(given)} -> {text(result)}", [given], result, ulp=128)


for dtype in ("f32", "f64"):
    for length in (1, 2, 6, 7, 16, 30):
        lines = 1 if length == 30 else 2
        fft(f"{dtype}_{length}", dtype, (lines, length), 1, "fft", length)
        fft(f"{dtype}_{length}_inverse", dtype, (lines, length), 1, "inverse", length, length)
        fft(f"{dtype}_{length}_from_real", dtype, (lines, length), 1, "from_real", length)
        fft(f"{dtype}_{length}_to_real", dtype, (lines, length // 2 + 1), 1, "to_real", length, length)
fft("first_dim", "f32", (10, 3), 0, "fft", 10)
fft("first_dim_to_real", "f32", (4, 3), 0, "to_real", 7, 7)
