"""Scatters that are no sums. They have random numbers of their own, so that the other cases do not change."""

import math

from reference.cases import DTYPES, FLOATS, INTS, NAMES, UNSIGNED, array, case, rounded, text, wrap

import jax.numpy as jnp
import numpy as np

random = np.random.default_rng(7)


def maximum(x, y):
    """NaN wins, and of two zeros the positive one."""
    if math.isnan(x) or (x == y and math.copysign(1, x) > 0):
        return x
    return x if x > y else y


COMBINERS = {"replace": lambda x, y: y, "prod": lambda x, y: x * y,
             "max": maximum, "min": lambda x, y: -maximum(-x, -y),
             "and": lambda x, y: x & y, "or": lambda x, y: x | y}
IN_JAX = {"replace": "set", "prod": "mul", "max": "max", "min": "min"}


def sample(dtype, *shape):
    if dtype == "bool":
        return random.integers(0, 2, shape) > 0
    return array(random.integers(0 if dtype in UNSIGNED else -5, 6, shape), dtype)


def scatter(kind, name, x, indices, updates, dim, along=False, unique=False):
    dtype = NAMES[x.dtype]
    exact = x.astype(np.float64 if dtype in FLOATS else object)
    for at in np.ndindex(*updates.shape):
        place = at if along else at[dim:dim + indices.ndim]
        target = at[:dim] + (int(indices[place]),) + at[dim + len(place) if not along else dim + 1:]
        if 0 <= target[dim] < x.shape[dim]:
            update = float(updates[at]) if dtype in FLOATS else int(updates[at])
            exact[target] = COMBINERS[kind](exact[target] if dtype in FLOATS else int(exact[target]), update)
    want = exact.astype(bool) if dtype == "bool" else rounded(exact, dtype) if dtype in FLOATS else wrap(exact, dtype)
    in_jax = None
    if kind in IN_JAX and dtype != "bool" and updates.size:
        inside = np.where(indices < 0, x.shape[dim], indices)  # JAX would wrap negative ones
        place = (slice(None),) * dim + (inside,)
        if along:
            place = tuple(inside if d == dim else np.arange(n).reshape([-1 if e == d else 1 for e in range(x.ndim)])
                          for d, n in enumerate(updates.shape))
        in_jax = getattr(jnp.asarray(x).at[place], IN_JAX[kind])(updates)
    flags = (" along" if along else "") + (" unique" if unique else "")
    case("scatter", f"{kind}_{name}", f"{kind} %0, %1, %2 dim {dim}{flags} : {text(x)}, {text(indices)}, {text(updates)} -> "
         f"{text(want)}", [x, indices, updates], want, jax_result=in_jax)


REPEATED = array([[2, 0, -1], [7, 2, 2]], "i32")  # some out of range
for dtype in FLOATS + INTS + ["bool"]:
    for kind in COMBINERS:
        if kind in ("and", "or") and dtype in FLOATS:
            continue
        scatter(kind, dtype, sample(dtype, 5, 4), REPEATED, sample(dtype, 2, 3, 4), 0)
        scatter(kind, f"along_{dtype}", sample(dtype, 5, 4), array([[1, 1], [0, 4], [-3, 3], [2, 2], [3, 3]], "i32"),
                sample(dtype, 5, 2), 1, along=True)
for kind in COMBINERS:
    x = sample("i32", 3, 4, 2)
    for dim in range(3):
        updates = sample("i32", *[4 if d == dim else n for d, n in enumerate(x.shape)])
        scatter(kind, f"dim_{dim}", x, array([1, 0, 1, 5], "i32"), updates, dim)
        scatter(kind, f"unique_{dim}", x, array([1, 0, -1, 5], "i32"), updates, dim, unique=True)
    scatter(kind, "wide_indices", sample("i32", 9), array(random.integers(-1, 10, 50), "i64"), sample("i32", 50), 0)
    scatter(kind, "empty", x, np.zeros(0, np.int32), np.zeros((3, 0, 2), np.int32), 1)
special = array([0.0, -0.0, math.nan, 1.0, -1.0, math.inf, -math.inf, 0.0], "f32")
for kind in ("replace", "max", "min"):
    scatter(kind, "special", array(special[::-1], "f32"), array([0, 7, 2, 3, 1, 1, 4, 6], "i32"), special, 0)
