"""One element at a time."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from cases import case, integers, normal

values = np.array([-3.5, -2.5, -1.0, -0.5, -0.3, -0.0, 0.0, 0.2, 0.5, 0.7, 1.0, 1.5, 2.5, 9.0, np.inf, -np.inf, np.nan],
                  np.float32)
small = np.linspace(-0.95, 0.95, 13).astype(np.float32)
positive = np.linspace(1.0, 40.0, 13).astype(np.float32)

case("exponentials", lambda x: (jnp.exp(x), jnp.exp2(x), jnp.expm1(x), jax.nn.sigmoid(x), jax.nn.softplus(x)), values)
case("logarithms", lambda x: (jnp.log(x), jnp.log1p(x), jnp.log2(x), jnp.sqrt(x), lax.rsqrt(x), jnp.cbrt(x)), values)
case("trigonometry", lambda x: (jnp.sin(x), jnp.cos(x), jnp.tan(x), jnp.arctan(x), jnp.sinh(x), jnp.cosh(x), jnp.tanh(x)),
     small * 3)
case("inverse_functions", lambda x, y: (jnp.arcsin(x), jnp.arccos(x), jnp.arctanh(x), jnp.arcsinh(x * 1e3), jnp.arcsinh(x),
                                        jnp.arccosh(y), lax.erf_inv(x), jnp.arctan2(x, y)), small, positive, tolerance=4e-6)
case("errors", lambda x: (lax.erf(x), jax.nn.gelu(x, approximate=False), jax.nn.gelu(x)), values[:-3])
case("gamma", lambda x: (lax.lgamma(x), lax.digamma(x), lax.erfc(x)), np.array([-3.7, -0.2, 0.1, 0.5, 1.0, 1.5, 2.0, 7.3, 40.0, np.inf], np.float32),
     tolerance=4e-6)
case("rounding", lambda x: (jnp.round(x), jnp.floor(x), jnp.ceil(x), jnp.trunc(x), lax.round(x), jnp.sign(x), jnp.abs(x)),
     values)
case("finite", lambda x: (jnp.isfinite(x), jnp.isnan(x), jnp.isinf(x), jnp.isposinf(x), jnp.isneginf(x), jnp.nan_to_num(x)),
     values)
case("comparisons", lambda x, y: (x < y, x <= y, x == y, x != y, x > y, x >= y, jnp.maximum(x, y), jnp.minimum(x, y)),
     values, values[::-1].copy())
case("integers", lambda x, y: (x + y, x - y, x * y, x // y, x % y, lax.div(x, y), lax.rem(x, y), jnp.abs(x), jnp.sign(x), -x),
     integers(-50, 50, 24), np.where(integers(0, 2, 24) > 0, integers(1, 9, 24), integers(-9, 0, 24)))
case("bits", lambda x, s: (x & 12, x | 3, x ^ 85, ~x, x << s, x >> s, lax.shift_right_logical(x, s), lax.population_count(x),
                           lax.clz(x)), integers(-1000, 1000, 16), integers(0, 31, 16))
# The highest bit of unsigned numbers is repeated, too, and shifts by 32 or more give that bit alone.
case("unsigned_shifts", lambda x, s, y, n: (lax.shift_right_arithmetic(x, s), lax.shift_right_logical(x, s), lax.shift_left(x, s),
                                            lax.shift_right_arithmetic(y, n), lax.shift_right_logical(y, n)),
     np.array([0, 1, 2**31, 2**32 - 1, 2**31 + 5, 12345] * 3, np.uint32), np.repeat(np.array([1, 31, 40], np.uint32), 6),
     np.array([0, 128, 255, 77] * 2, np.uint8), np.repeat(np.array([3, 7], np.uint8), 4))
case("unsigned", lambda x, y: (x + y, x * y, x // y, x % y, x >> 3, x < y, jnp.maximum(x, y), x.astype(jnp.float32)),
     integers(0, 2**32, 16, dtype=np.uint32), integers(1, 2**32, 16, dtype=np.uint32))
case("logic", lambda x, y: (x & y, x | y, x ^ y, ~x, jnp.where(x, 1.5, -1.0), x.astype(jnp.int32), x + 1),
     integers(0, 2, 12).astype(bool), integers(0, 2, 12).astype(bool))
case("conversions", lambda x: (x.astype(jnp.int32), x.astype(jnp.bfloat16), x.astype(jnp.float16), x.astype(jnp.int8),
                               x.astype(jnp.bool_), x.astype(jnp.bfloat16).astype(jnp.float32)), small * 50)
case("bit_patterns", lambda x: (lax.bitcast_convert_type(x, jnp.int32), lax.bitcast_convert_type(x, jnp.uint32)), values[:-1])
case("powers", lambda x, y: (x**2, x**3, x**-1, jnp.power(x, y), jnp.square(x), x**0.5), positive, small)
case("clipping", lambda x: (jnp.clip(x, -1, 1), lax.clamp(-0.5, x, 2.0), jax.nn.relu(x), jax.nn.leaky_relu(x), jax.nn.elu(x)),
     values[:-1])
case("reduced_precision", lambda x: (lax.reduce_precision(x, 8, 7), lax.reduce_precision(x, 5, 10)), normal(16))
case("half_types", lambda x, y: (x + y, x * y, jnp.exp(x), x @ y, x.sum(), jnp.maximum(x, y)),
     normal(8, 8).astype(jnp.bfloat16), normal(8, 8).astype(jnp.bfloat16), tolerance=0.01)
case("byte_products", lambda x, y: lax.dot(x, y, preferred_element_type=jnp.int32),
     integers(-128, 128, 16, 32, dtype=np.int8), integers(-128, 128, 32, 8, dtype=np.int8))

zeta_x, zeta_q = (np.ravel(v).astype(np.float32) for v in np.meshgrid([0.5, 1, 1.25, 2, 3, 4.5, 7, 20, 60, np.nan], [-2.5, -2, -0.5, 0, 0.1, 0.5, 1, 3.75, 40, 1e4]))
case("zeta", lambda x, q: (lax.zeta(x, q), jnp.where(q > 0, lax.polygamma(jnp.floor(x), q), 0), lax.polygamma(jnp.full(4, 0.5), q[:4])), zeta_x, zeta_q, tolerance=5e-6)
case("zeta_f64", lambda x, q: (lax.zeta(x, q), jax.scipy.special.polygamma(2, q)), np.linspace(1.1, 12, 40), np.linspace(0.3, 9, 40), wide=True, tolerance=1e-13)
