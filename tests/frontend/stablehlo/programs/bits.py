"""Bits of floats: formats of fewer bits, neighbours; functions whose values are compared in all types of floats."""

import jax.numpy as jnp
import numpy as np
from jax import lax

from cases import P, case

rng = np.random.default_rng(31)
FORMATS = [(8, 7), (5, 10), (8, 23), (5, 2), (4, 3), (11, 52), (2, 1), (1, 4), (6, 0), (3, 30), (11, 5), (5, 40)]
sizes = np.concatenate([2.0 ** np.arange(-30, 30), 1 + 2.0 ** -np.arange(2, 14), [0, np.inf, np.nan, 65519, 65520, 3e38, 6.1e-5, 6.0e-5]])
values = np.concatenate([sizes, -sizes, rng.normal(size=48) * 2.0 ** rng.integers(-20, 20, 48)])

for name, dtype in (("f16", np.float16), ("bf16", jnp.bfloat16), ("f32", np.float32), ("f64", np.float64)):
    with np.errstate(over="ignore"):
        x = values.astype(dtype)
    case(f"formats_{name}", lambda x: tuple(lax.reduce_precision(x, *of) for of in FORMATS), x, tolerance=0, wide=name == "f64",
         in_shardings=(P(("a", "b")),))
    case(f"neighbours_{name}", lambda x, y: tuple(lax.bitcast_convert_type(lax.nextafter(a, b), f"uint{x.dtype.itemsize * 8}")
                                                  for a, b in ((x, y), (y, x), (x, x), (x * 0, y), (x, -x), (x, x * np.inf))),
         np.nan_to_num(x, nan=7), np.nan_to_num(rng.permutation(x), nan=-7), tolerance=0, wide=name == "f64")
    case(f"bessel_{name}", lambda x: (lax.bessel_i1e(x), lax.bessel_i0e(x)), (np.append(rng.normal(size=60) * 10, [0, -0.0, 8, -8, 1e4, 1e-6, np.inf])).astype(dtype),
         tolerance={"f16": 1e-3, "bf16": 1e-2, "f32": 1e-6, "f64": 1e-13}[name], wide=name == "f64")
case("neighbours_of_nan", lambda x, y: (lax.nextafter(x, y), lax.nextafter(y, x)), np.float32([np.nan, 1, np.nan]), np.float32([2, np.nan, np.nan]))
