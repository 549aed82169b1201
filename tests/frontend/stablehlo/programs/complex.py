"""Complex numbers, and Fourier transforms."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import PartitionSpec as S

from cases import MESH, P, both, case

rng = np.random.default_rng(11)  # Of its own, so that the other programs keep their arguments.


def normal(*shape):
    return rng.normal(size=shape).astype(np.float32)


def integers(low, high, *shape):
    return rng.integers(low, high, size=shape).astype(np.int32)


def numbers(*shape, dtype=np.complex64):
    return (normal(*shape) + 1j * normal(*shape)).astype(dtype)


z, w = numbers(4, 6), numbers(4, 6)
both("complex_arithmetic",
     lambda z, w, x: (z + w, z - w, z * w, z / w, -z, z.conj(), z.real, z.imag, abs(z), jnp.angle(z), z == w, z != w,
                      jnp.where(z == w, z, w), lax.complex(z.real, x), x.astype(jnp.complex64), z + x, z**3, z**-1,
                      jnp.square(z), z * 2j + (1 - 0.5j), jnp.isfinite(z), jnp.maximum(z, w)),
     z, np.where(integers(0, 2, 4, 6) > 0, z, w), normal(4, 6),
     shardings=(P("a", "b"), P("a", "b"), P("a")))
both("complex_functions",
     lambda z: (jnp.exp(z), jnp.log(z), jnp.sqrt(z), lax.rsqrt(z), jnp.tanh(z), jnp.sin(z), jnp.cos(z), jnp.tan(z),
                jnp.sinh(z), jnp.cosh(z), jnp.expm1(z * 0.01), jnp.log1p(z * 0.01), jnp.log1p(z), jnp.expm1(z), jnp.sign(z),
                jax.nn.sigmoid(z), lax.logistic(z), jnp.log2(z), jnp.log10(z), jnp.exp2(z)), numbers(40), tolerance=4e-6,
     shardings=P(("a", "b")))
both("complex_inverses", lambda z: (jnp.arcsin(z), jnp.arccos(z), jnp.arctan(z), jnp.arcsinh(z), jnp.arccosh(z), jnp.arctanh(z)), numbers(40) * 2,
     tolerance=4e-6,
     shardings=P(("a", "b")))
both("complex_powers", lambda z, w, x: (z**w, z**2.5, z**0.5, 2.0**z, z**x, jnp.power(z * 0, 2), lax.pow(z, w)), z, w, normal(4, 6),
     tolerance=1e-5,
     shardings=(P("a"), P(None, "b"), P()))

# Large and small parts, zeros of both signs on the branch cuts, infinities where JAX's values are defined.
large = np.float32(2e38)
parts = np.array([0.0, -0.0, 1.0, -1.0, large, -large, 1e-30, -1e-30, 3e-20, np.inf, -np.inf], np.float32)
edges = np.stack(np.meshgrid(parts, parts, indexing="ij"), -1).astype(np.float32).view(np.complex64)[..., 0]
finite = edges[:-2, :-2]
case("complex_sizes", lambda z: (abs(z), jnp.angle(z), z.real, jnp.sign(z)[:4]), edges)
case("complex_quotients", lambda z, w: (z / w, w / z, 1 / w), finite,
     np.float32([1, 2, -3, 0.5, 1e10, 1e-10, 4, 5, 6]) * np.complex64(2 - 3j))
case("complex_roots", lambda z, large: (jnp.sqrt(z), jnp.log(z), jnp.sqrt(large), jnp.log(large)), finite[[0, 1, 2, 3, 6, 7, 8]][:, [0, 1, 2, 3, 6, 7]],
     finite[4:6, [0, 1, 2, 3, 6, 7]])
case("complex_saturated", lambda z: (jnp.tanh(z), jnp.exp(z)),
     np.complex64([30 + 1j, -30 + 2j, 15 - 1j, -100 + 0.5j, 88.9 + 1.5j, -200 + 3j, 0.0 + 1.5j, 1e-4 + 1e-4j]))

x = numbers(6, 8)
# Parts whose squares or sums overflow, branch cuts, poles, and infinities.
huge = np.array([3e38 + 3e38j, -3e38 + 1j, 1e20 - 2e20j, -1e10 + 1e10j], np.complex64)
edges_of_cuts = np.array([2, -2, 30, 3j, -3j, 1e-3 + 1j, -1 + 1e-5j, 3e38, 3e38 - 3e38j, complex(np.inf, 0), complex(-np.inf, 1)], np.complex64)
case("complex_huge", lambda z: (jnp.sqrt(z), jnp.square(z[:1]), jnp.arctan(z), jnp.arctanh(z), jnp.log(z)), huge)
case("complex_cuts", lambda z: (jnp.arcsin(z), jnp.arccos(z), jnp.arctan(z), jnp.arcsinh(z[:-1]), jnp.arccosh(z), jnp.arctanh(z)), edges_of_cuts)
case("complex_ends", lambda z, w: (jnp.tanh(z), jnp.cosh(z), jnp.tan(w), jnp.cosh(w[:1]), jnp.sinh(w[:1]), lax.pow(z, jnp.zeros_like(z))),
     np.array([complex(np.inf, 0), complex(-np.inf, 0), complex(np.nan, 0), complex(30, np.inf), complex(-30, -np.inf)], np.complex64),
     np.array([100 + 1e-5j, 1e-5 + 100j, complex(np.inf, 30)], np.complex64))
both("complex_movement",
     lambda x, y, i, k: (x.T, x.reshape(4, 12), jnp.broadcast_to(x[0], (3, 8)), x[1:5:2, ::3], x[::-1, ::-1],
                         lax.dynamic_slice(x, (k, 2), (2, 3)), lax.dynamic_update_slice(x, y[:2, :3], (k, 1)),
                         jnp.concatenate([x, y]), lax.pad(x, np.complex64(1 + 2j), ((1, 0, 1), (0, 2, 0))), x[i], x[i, i],
                         x.at[i].add(y[:4]), x.at[i, 2].set(y[:4, 0]), jnp.take_along_axis(x, i[None, :] % 6, 1),
                         jnp.roll(x, 2, 1), jnp.repeat(x, 2, 0), jnp.stack([x, y], 1), jnp.tril(x), jnp.where(x.real > 0, x, 0)),
     x, numbers(6, 8), integers(0, 6, 4), np.int32(3),
     shardings=(P("b", "a"), P(None, "a"), P("a"), P()))
both("complex_reductions",
     lambda x, e: (x.sum(0), x.sum(), x.mean(1), x.prod(0), x[:5].prod(), jnp.cumsum(x, 1), jnp.linalg.norm(x), jnp.sort(x, 1),
                   jnp.argsort(x, 1), x.var(0), jnp.trace(x), e.prod(0), e.sum(0), lax.reduce_window(x, 0j, lax.add, (2, 2), (2, 2), "VALID")),
     x, numbers(0, 3), tolerance=4e-6,
     shardings=(P("b", "a"), P()))
both("complex_products",
     lambda a, b, c, r: (a @ b, jnp.einsum("bij,bkj->bik", c, c.conj()), r @ b, a @ r.T, jnp.vdot(a, a), jnp.outer(a[0], b[0]),
                         jnp.convolve(a[0], b[0]), lax.conv(c[:, None], c[:2, None, :2, :3], (1, 1), "VALID")),
     numbers(5, 8), numbers(8, 7), numbers(3, 4, 6), normal(5, 8),
     shardings=(P(None, "a"), P("a"), P(None, "a", "b"), P(None, "b")))
case("complex_constants", lambda z: (z * np.complex64([1 + 2j, -1j, 0.5, 3 - 4j]), z + np.complex64(2 - 1j), jnp.full(3, 1 + 1j),
                                     lax.iota(np.complex64, 4) + z, jnp.array([1j, 2])), numbers(4))
case("complex_128", lambda z, w: (z * w, z / w, jnp.exp(z), abs(z), jnp.fft.fft(z), jnp.fft.ifft(z[:, :5]), jnp.sqrt(z), z @ w.T,
                                  z.astype(np.complex64), jnp.fft.rfft(z.real), z.sum(0)),
     numbers(4, 6, dtype=np.complex128), numbers(4, 6, dtype=np.complex128), wide=True, tolerance=1e-13)

both("mandelbrot", lambda c: lax.while_loop(lambda s: jnp.any(s[2] < 20) & jnp.any(abs(s[0]) < 2),
                                            lambda s: (jnp.where(abs(s[0]) < 2, s[0] * s[0] + c, s[0]), s[1] + (abs(s[0]) < 2), s[2] + 1),
                                            (c * 0, jnp.zeros(c.shape, np.int32), 0))[:2],
     (np.linspace(-2, 0.5, 12)[None, :] + 1j * np.linspace(-1.1, 1.1, 8)[:, None]).astype(np.complex64), tolerance=1e-4,
     shardings=P("a", "b"))
case("complex_scan", lambda x, a: lax.scan(lambda h, u: (a * h + u, h.real), numbers(5), x), numbers(7, 5),
     np.exp(1j * np.linspace(0, 3, 5)).astype(np.complex64) * np.float32(0.9))
case("complex_scan_gradient",
     lambda x, a: jax.grad(lambda a: (abs(lax.scan(lambda h, u: (a * h + u, h), x[0], x)[1])**2).sum(), holomorphic=False)(a),
     numbers(7, 5), numbers(5) * np.float32(0.5), tolerance=4e-6)
both("linear_recurrence", lambda x, a: lax.associative_scan(lambda l, r: (l[0] * r[0], r[0] * l[1] + r[1]), (jnp.broadcast_to(a, x.shape), x))[1],
     numbers(9, 4), numbers(4) * np.float32(0.6), tolerance=4e-6,
     shardings=(P(None, "a"), P("a")))
both("complex_branches", lambda z, k: (lax.cond(k > 0, lambda z: z * 2j, lambda z: z - 1, z), lax.switch(k, [jnp.exp, jnp.conj, jnp.sin], z),
                                       jax.jit(lambda z, x: (z * x, x))(z, z.real), lax.optimization_barrier((z, k))), z, np.int32(1),
     shardings=(P("a", "b"), P()))

layer, bias = numbers(16, 8), numbers(8)
target = numbers(32, 8)


def loss(p, x):
    return (abs(jnp.tanh(abs(x @ p[0] + p[1])) * jnp.exp(1j * jnp.angle(x @ p[0])) - target)**2).mean()


case("complex_layer", lambda p, x: jax.value_and_grad(loss)(p, x), (layer, bias), numbers(32, 16), tolerance=4e-6)
case("complex_layer_sharded", lambda p, x: jax.value_and_grad(loss)(p, x), (layer, bias), numbers(32, 16), tolerance=1e-5,
     in_shardings=((P(None, "b"), P("b")), P("a")), out_shardings=(P(), (P(None, "b"), P("b"))))
case("complex_annotations", lambda x, w: lax.with_sharding_constraint(lax.with_sharding_constraint(x @ w, P("a", "b")) * 1j, P(None, "b")),
     numbers(8, 16), numbers(16, 12), in_shardings=(P("a", "b"), P("b")), out_shardings=P("b"))


def mapped(f, in_specs, out_specs, **options):
    return jax.shard_map(f, mesh=MESH, in_specs=in_specs, out_specs=out_specs, **options)


case("complex_psum", mapped(lambda z: (lax.psum(z, "a"), lax.pmean(z, "b"), lax.psum(z * 1j, ("a", "b"))), S("a", "b"), (S(None, "b"), S("a"), S())),
     numbers(8, 16))
case("complex_collectives",
     mapped(lambda z: (lax.all_gather(z, "b", axis=1, tiled=True) * (1 + lax.axis_index("b")), lax.psum_scatter(z, "a", scatter_dimension=1, tiled=True),
                       lax.all_to_all(z, "b", 1, 0, tiled=True), lax.ppermute(z, "a", [(i, (i + 1) % 4) for i in range(4)])),
            S("a", "b"), (S("a", "b"), S(None, ("b", "a")), S(("a", "b")), S("a", "b"))), numbers(8, 32))

lengths = [1, 2, 3, 5, 8, 12, 15, 49, 64, 67, 81, 96, 131]
case("fft", lambda z: [jnp.fft.fft(z, n) for n in lengths], numbers(3, 131))
case("ifft", lambda z: [jnp.fft.ifft(z, n) for n in lengths], numbers(3, 131))
case("rfft", lambda x: [jnp.fft.rfft(x, n) for n in lengths], normal(3, 131))
case("irfft", lambda z: [jnp.fft.irfft(z, n) for n in lengths], numbers(3, 66))
case("fft_long", lambda z: (abs(jnp.fft.fft(z))**2, jnp.fft.ifft(jnp.fft.fft(z)), jnp.fft.irfft(jnp.fft.rfft(z.real))[::97]), numbers(4096))
# Longer than the lines that are transformed side by side: even and odd, real and complex, beside one another, of many factors.
case("fft_of_long_lines",
     lambda z: [jnp.fft.fft(z)[:, ::61], jnp.fft.ifft(z, axis=0), jnp.fft.fft(z.reshape(1250, 4), axis=0)[::83], jnp.fft.rfft(z.real)[:, ::61],
                jnp.fft.irfft(jnp.fft.rfft(z[0].real))[::79], jnp.fft.rfft(z.real[:, :2187])[:, ::41],
                jnp.fft.irfft(jnp.fft.rfft(z[1].real[:2187]), 2187)[::79]], numbers(2, 2500))
# The normalized transforms, and moves between transforms.
case("fft_and_moves", lambda z: (jnp.fft.ifft(jnp.fft.fft(z, norm="ortho").T * 2, axis=0).T, jnp.fft.fft(jnp.fft.fft(z, axis=0).T[::-1]),
                                 jnp.fft.ifft(jnp.fft.fft(z, axis=1).reshape(2, 6, 30)), jnp.fft.fftn(z.reshape(3, 4, 5, 6), axes=(0, 2))),
     numbers(12, 30))
case("fft_multidimensional",
     lambda z: (jnp.fft.fft2(z), jnp.fft.ifft2(z), jnp.fft.fftn(z), jnp.fft.fft(z, axis=0), jnp.fft.rfft2(z.real), jnp.fft.irfft2(z, (6, 9)),
                jnp.fft.rfftn(z.real), jnp.fft.irfftn(z[:, :, :5]), jnp.fft.fftshift(jnp.fft.fftn(z, axes=(1,)))), numbers(4, 6, 10))
case("fft_gradient", lambda z, x: (jax.grad(lambda z: (abs(jnp.fft.fft(z))**2 * jnp.arange(10)).sum())(z),
                                   jax.grad(lambda x: (jnp.fft.rfft(x) * jnp.fft.rfft(x[::-1])).imag.sum())(x),
                                   jax.grad(lambda z: (jnp.fft.irfft(z, 9)**3).sum())(z[:, :5])),
     numbers(3, 10), normal(3, 9), tolerance=4e-6)
case("fft_of_rows", lambda z: (jnp.fft.fft(z), jnp.fft.rfft(z.real)), numbers(16, 32), in_shardings=(P(("a", "b")),),
     out_shardings=(P(("a", "b")), P(("a", "b"))))
case("fft_of_sharded_dim", lambda z: (jnp.fft.fft(z), jnp.fft.fft(z, axis=0), jnp.fft.fft2(z)), numbers(16, 48), in_shardings=(P("a", "b"),),
     out_shardings=P("a", "b"))
case("fft_of_prime_sharded", lambda z: jnp.fft.fft(z, axis=1), numbers(8, 139), in_shardings=(P("a"),), out_shardings=P("a"))


def spectral(p, x):
    # A layer of a Fourier neural operator: the lowest frequencies are mixed, the others are dropped.
    modes = p["w"].shape[0]
    mixed = jnp.einsum("bki,kio->bko", jnp.fft.rfft(x, axis=1)[:, :modes], p["w"])
    return jax.nn.gelu(jnp.fft.irfft(mixed, x.shape[1], axis=1) + x @ p["v"])


spectral_arguments = ({"w": numbers(5, 6, 6), "v": normal(6, 6)}, normal(8, 20, 6))
case("spectral_layer", lambda p, x: jax.value_and_grad(lambda p: (spectral(p, x)**2).mean())(p), *spectral_arguments, tolerance=4e-6)
case("spectral_layer_sharded", lambda p, x: jax.value_and_grad(lambda p: (spectral(p, x)**2).mean())(p), *spectral_arguments, tolerance=4e-6,
     in_shardings=({"w": P(None, None, "b"), "v": P(None, "b")}, P("a")), out_shardings=(P(), {"w": P(None, None, "b"), "v": P(None, "b")}))
both("convolution_by_fft", lambda x, k: jnp.fft.irfft(jnp.fft.rfft(x, 64) * jnp.fft.rfft(k, 64), 64)[:, :40], normal(4, 40), normal(9),
     shardings=(P("a"), P()))
case("spectrogram", lambda x: abs(jax.scipy.signal.stft(x, nperseg=32)[2]), normal(200), tolerance=4e-6)
# Convolutions for a large prime, passes for the others.
case("fft_of_large_primes", lambda z: (jnp.fft.fft(z)[:, ::7], jnp.fft.ifft(z[:, :262])[:, ::5], jnp.fft.fft(z.reshape(3, 131, 8), axis=1)[:, ::9],
                                       jnp.fft.ifft(z[:2, :786].reshape(2, 393, 2), axis=1)[:, ::8], jnp.fft.irfft2(z[:, :132], (3, 262))[:, ::5],
                                       jnp.fft.rfft(z.real[:, :262])[:, ::5]), numbers(3, 1048))
case("fft_of_large_primes_sharded", lambda z: jnp.fft.fft2(z), numbers(8, 262), in_shardings=(P("a", "b"),), out_shardings=P("a", "b"))
