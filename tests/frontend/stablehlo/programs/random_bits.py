"""Random bits made where they are used."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from cases import P, case

rng = np.random.default_rng(23)
f32 = np.float32


def normal(*shape):
    return rng.normal(size=shape).astype(f32)


threefry, philox = lax.RandomAlgorithm.RNG_THREE_FRY, lax.RandomAlgorithm.RNG_PHILOX


def bits(key):
    return tuple(lax.rng_bit_generator(key, shape, dtype, algorithm)
                 for algorithm in (threefry, philox, lax.RandomAlgorithm.RNG_DEFAULT)
                 for shape, dtype in [((3, 8), np.uint32), ((5,), np.uint32), ((3, 5), np.uint32), ((), np.uint32), ((4, 2), np.uint8), ((7,), np.uint16)])


def wide_bits(key):
    return tuple(lax.rng_bit_generator(key, shape, np.uint64, algorithm)
                 for algorithm in (threefry, philox) for shape in [(3, 4), (5,), ()])


case("random_bits", bits, np.array([1, 2, 0xFFFFFFFE, 0xFFFFFFFF], np.uint32))
case("random_bits_wide", wide_bits, np.array([12345678901234567890, 0xFFFFFFFFFFFFFFFF], np.uint64), wide=True)
case("random_bits_sharded", lambda key, x: (x + lax.rng_bit_generator(key, (16, 24), np.uint32)[1] % 7,
                                            x * (lax.rng_bit_generator(key, (16, 24), np.uint32, threefry)[1] % 5)),
     np.array([1, 2, 3, 4], np.uint32), np.ones((16, 24), np.uint32), in_shardings=(P(), P("a", "b")), on_one_device=True)


def rbg_layers(x):
    key = jax.random.key(3, impl="rbg")
    for i in range(3):
        key, own = jax.random.split(key)
        x = jnp.tanh(x) * jax.random.bernoulli(own, 0.7, x.shape) + 0.1 * jax.random.normal(jax.random.fold_in(own, i), x.shape)
    return x


case("rbg_dropout", rbg_layers, normal(8, 6), tolerance=4e-6)
case("rbg_dropout_sharded", rbg_layers, normal(8, 6), in_shardings=P("a"), on_one_device=True, tolerance=4e-6)
