"""Loops, branches, random numbers."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from cases import case, normal

x = normal(4, 6)
case("scan", lambda x, w: lax.scan(lambda c, row: (jnp.tanh(c @ w) + row, c.sum()), x[0], x), x, normal(6, 6), tolerance=4e-6)
case("scan_backwards", lambda x: lax.scan(lambda c, row: (c * 0.5 + row, c), x[0], x, reverse=True), x)
case("scan_gradient", lambda x, w: jax.grad(lambda w: lax.scan(lambda c, row: (jnp.tanh(c @ w) + row, None), x[0], x)[0].sum())(w),
     x, normal(6, 6), tolerance=4e-6)
case("scan_remat", lambda x, w: jax.grad(lambda w: lax.scan(jax.checkpoint(lambda c, row: (jnp.tanh(c @ w) + row, None)), x[0], x)[0].sum())(w),
     x, normal(6, 6), tolerance=4e-6)
case("fori", lambda x: (lax.fori_loop(0, 5, lambda i, c: c * 1.1 + i, x), lax.fori_loop(2, 9, lambda i, c: c + i, 0)), x)
case("fori_dynamic", lambda x, n: lax.fori_loop(0, n, lambda i, c: c * 1.1 + i, x), x, np.int32(4))
case("while_loop", lambda x: lax.while_loop(lambda c: (c[1] < 10) & (c[0].sum() < 100), lambda c: (c[0] * 2, c[1] + 1), (jnp.abs(x), 0)), x)
case("map", lambda x: lax.map(lambda row: row / jnp.linalg.norm(row), x), x)
case("branches", lambda x, k: (lax.cond(k > 0, lambda x: x * 2, lambda x: x - 1, x), lax.switch(k, [jnp.sin, jnp.cos, jnp.tanh], x),
                               lax.switch(k + 5, [jnp.sin, jnp.cos, jnp.tanh], x)), x, np.int32(1))
case("newton", lambda a: lax.while_loop(lambda c: jnp.any(jnp.abs(c * c - a) > 1e-5), lambda c: 0.5 * (c + a / c), a), np.float32([2.0, 9.0, 30.0]))
case("associative_scan", lambda x: lax.associative_scan(jnp.add, x), normal(9))

key = jax.random.PRNGKey(3)
case("random", lambda k: (jax.random.uniform(k, (3, 4)), jax.random.normal(k, (5,)), jax.random.randint(k, (6,), 0, 100),
                          jax.random.bernoulli(k, 0.3, (8,)), jax.random.split(k, 3), jax.random.bits(k, (4,))), key, tolerance=4e-6)
case("random_choices", lambda k, x: (jax.random.categorical(k, x), jax.random.permutation(k, 9), jax.random.choice(k, 9, (4,)),
                                     jax.random.gumbel(k, (3,))), key, x, tolerance=4e-6)
case("dropout", lambda k, x: jnp.where(jax.random.bernoulli(k, 0.8, x.shape), x / 0.8, 0), key, x)
