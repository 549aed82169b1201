"""Run-time indices, sorts, and random bits."""

import math

from reference.cases import FLOATS, INTS, NAMES, UNSIGNED, array, case, differences, numbers, rng, rounded, text, wrap

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.random import threefry_2x32


INDICES = array([[2, 0, -1], [7, 1, 2]], "i32")  # some out of range


def sample(dtype, *shape):
    if dtype == "bool":
        return rng.integers(0, 2, shape) > 0
    return array(rng.integers(0 if dtype in UNSIGNED else -9, 10, shape), dtype)


def scalars(*values):
    return [array(value, "i32") for value in values]


def dynamic_slice(name, x, starts, sizes):
    starts = scalars(*starts)
    first = [int(np.clip(s, 0, n - size)) for s, n, size in zip(starts, x.shape, sizes)]
    want = x[tuple(slice(f, f + size) for f, size in zip(first, sizes))]
    names = ", ".join(f"%{i + 1}" for i in range(len(starts)))
    types = ", ".join(f"!spmd.array{text(s)}" for s in [x] + starts)
    case("dynamic_slice", name, f"%0 at ({names}) sizes {list(sizes)} : ({types}) -> !spmd.array{text(want)}",
         [x] + starts, want, jax_result=lax.dynamic_slice(x, starts, sizes))


def dynamic_update_slice(name, x, update, starts):
    starts = scalars(*starts)
    first = [int(np.clip(s, 0, n - size)) for s, n, size in zip(starts, x.shape, update.shape)]
    want = x.copy()
    want[tuple(slice(f, f + size) for f, size in zip(first, update.shape))] = update
    names = ", ".join(f"%{i + 2}" for i in range(len(starts)))
    types = ", ".join(f"!spmd.array{text(s)}" for s in [x, update] + starts)
    case("dynamic_update_slice", name, f"%0, %1 at ({names}) : ({types}) -> !spmd.array{text(want)}",
         [x, update] + starts, want, jax_result=lax.dynamic_update_slice(x, update, starts))


def take(name, x, indices, dim):
    want = np.take(x, indices, axis=dim, mode="clip")
    case("take", name, f"%0, %1 dim {dim} : {text(x)}, {text(indices)} -> {text(want)}", [x, indices], want,
         jax_result=jnp.take(x, indices, axis=dim, mode="clip"))


def take_along(name, x, indices, dim):
    want = np.take_along_axis(x, np.clip(indices, 0, x.shape[dim] - 1), axis=dim)
    case("take_along", name, f"%0, %1 dim {dim} : {text(x)}, {text(indices)} -> {text(want)}", [x, indices], want,
         jax_result=jnp.take_along_axis(x, np.clip(indices, 0, x.shape[dim] - 1), axis=dim))


def scatter_add(op, name, x, indices, updates, dim, ulp=0, compare=True):
    dtype = NAMES[x.dtype]
    exact = x.astype(np.float64 if dtype in FLOATS else object)
    for at in np.ndindex(*updates.shape):
        if op == "scatter_add":
            target = at[:dim] + (int(indices[at[dim:dim + indices.ndim]]),) + at[dim + indices.ndim:]
        else:
            target = at[:dim] + (int(indices[at]),) + at[dim + 1:]
        if 0 <= target[dim] < x.shape[dim]:
            exact[target] = exact[target] + (float if dtype in FLOATS else int)(updates[at])
    want = exact > 0 if dtype == "bool" else rounded(exact, dtype) if dtype in FLOATS else wrap(exact, dtype)
    inside = np.where(indices < 0, x.shape[dim], indices)  # JAX would wrap negative ones
    if op == "scatter_add":
        place = (slice(None),) * dim + (inside,)
    else:
        place = tuple(inside if d == dim else np.arange(n).reshape([-1 if e == d else 1 for e in range(x.ndim)])
                      for d, n in enumerate(updates.shape))
    in_jax = jnp.asarray(x).at[place].add(updates) if compare and dtype != "bool" and updates.size else None
    case(op, name, f"%0, %1, %2 dim {dim} : {text(x)}, {text(indices)}, {text(updates)} -> {text(want)}",
         [x, indices, updates], want, ulp=ulp, jax_result=in_jax)


def argsort(name, x, dim, descending=False):
    def key(v):
        if dtype not in FLOATS:
            return v
        sign = math.copysign(1, v) if descending else 1  # lax.top_k goes by the sign of zeros and of NaN.
        return (sign, 0, 0) if math.isnan(v) else (0, v, sign if v == 0 else 0)

    def before(line):
        keys = [key(v) for v in (line.astype(np.float64) if dtype in FLOATS else line).tolist()]
        return sorted(range(len(keys)), key=keys.__getitem__, reverse=False) if not descending else [
            len(keys) - 1 - i for i in sorted(range(len(keys)), key=keys[::-1].__getitem__)][::-1]

    dtype = NAMES[x.dtype]
    moved = np.moveaxis(x, dim, -1)
    want = np.array([before(line) for line in moved.reshape(math.prod(moved.shape[:-1]), -1 if x.size else 0)],
                    np.int32).reshape(moved.shape)
    want = np.ascontiguousarray(np.moveaxis(want, -1, dim))
    case("argsort", name, f"%0 dim {dim} descending = {'true' if descending else 'false'} : {text(x)} -> {text(want)}",
         [x], want, jax_result=np.moveaxis(lax.top_k(jnp.moveaxis(x, dim, -1), x.shape[dim])[1], -1, dim) if descending
         else jnp.argsort(x, axis=dim, stable=True).astype(np.int32))


for dtype in FLOATS + INTS + ["bool"]:
    x = sample(dtype, 5, 4)
    dynamic_slice(dtype, x, (1, 2), (3, 2))
    dynamic_update_slice(dtype, x, sample(dtype, 2, 3), (2, 1))
    take(dtype, x, INDICES, 0)
    take_along(dtype, x, array([[1, 9], [0, 0], [-3, 3], [2, 1], [3, 3]], "i32"), 1)
    scatter_add("scatter_add", dtype, x, INDICES, sample(dtype, 2, 3, 4), 0)
    scatter_add("scatter_add_along", dtype, x, array([[1, 1], [0, 4], [-3, 3], [2, 1], [3, 3]], "i32"),
                sample(dtype, 5, 2), 1)
    for descending in (False, True):
        argsort(f"{dtype}_{'down' if descending else 'up'}", sample(dtype, 3, 23), 1, descending)
x = numbers(3, 4, 2)
for starts in ((0, 0, 0), (-5, 2, 1), (9, 9, 9), (1, -2147483648, 2147483647)):
    name = "_".join(map(str, starts)).replace("-", "minus_")
    dynamic_slice(name, x, starts, (2, 3, 1))
    dynamic_update_slice(name, x, numbers(2, 3, 1), starts)
dynamic_slice("whole", x, (1, 1, 1), (3, 4, 2))
dynamic_slice("empty", x, (1, 1, 1), (3, 0, 2))
dynamic_slice("scalar", numbers(), (), ())
dynamic_update_slice("whole", x, numbers(3, 4, 2), (1, 1, 1))
dynamic_update_slice("empty", x, numbers(3, 0, 2), (1, 1, 1))
dynamic_update_slice("vector", numbers(7), numbers(1), (3,))
for dim in range(3):
    take(f"dim_{dim}", x, INDICES, dim)
    take(f"one_of_dim_{dim}", x, array(1, "i32"), dim)
    scatter_add("scatter_add", f"dim_{dim}", x, array([1, 0, 1, 5], "i32"),
                numbers(*[4 if d == dim else n for d, n in enumerate(x.shape)]), dim)
    scatter_add("scatter_add", f"one_of_dim_{dim}", x, array(1, "i32"),
                numbers(*[n for d, n in enumerate(x.shape) if d != dim]), dim)
    argsort(f"dim_{dim}", sample("i8", 3, 40, 2) if dim == 1 else sample("f32", 6, 3, 9), dim)
    indices = rng.integers(-1, 5, [6 if d == dim else n for d, n in enumerate(x.shape)]).astype(np.int32)
    take_along(f"dim_{dim}", x, indices, dim)
    scatter_add("scatter_add_along", f"dim_{dim}", x, indices, numbers(*indices.shape), dim)
take("empty", x, np.zeros((0, 2), np.int32), 1)
take("of_empty", np.zeros((0, 3), np.float32), np.zeros(0, np.int32), 0)
take("extremes", numbers(5), array([-2147483648, 2147483647, 4], "i32"), 0)
take_along("empty", x, np.zeros((3, 0, 2), np.int32), 1)
scatter_add("scatter_add", "empty", x, np.zeros(0, np.int32), np.zeros((3, 0, 2), np.float32), 1)
scatter_add("scatter_add", "extremes", numbers(5), array([-2147483648, 2147483647, 4, 5], "i32"), numbers(4), 0)
scatter_add("scatter_add", "half_is_wide", array(np.zeros(2), "bf16"), array(np.zeros(600), "i32"),
            array(np.ones(600), "bf16"), 0, compare=False)
scatter_add("scatter_add_along", "empty", x, np.zeros((3, 0, 2), np.int32), np.zeros((3, 0, 2), np.float32), 1)
edges = array([[1, math.nan, -0.0, 0.0, math.inf], [0.0, -0.0, -math.inf, math.nan, -0.0], [2, 2, 1, 1, 2],
               [-math.nan, 5, math.nan, -5, -math.nan]], "f32")
for descending in (False, True):
    argsort(f"edges_{'down' if descending else 'up'}", edges, 1, descending)
argsort("one", numbers(3, 1), 1)
argsort("empty", np.zeros((2, 0), np.float32), 1)
argsort("many", rng.integers(0, 50, 1000).astype(np.int32), 0)
# The test vectors of the cipher's authors (Random123, kat_vectors), and random ones from JAX.
KNOWN = [((0, 0), (0, 0), (0x6b200159, 0x99ba4efe)),
         ((0xffffffff, 0xffffffff), (0xffffffff, 0xffffffff), (0x1cb996fc, 0xbb002be7)),
         ((0x13198a2e, 0x03707344), (0x243f6a88, 0x85a308d3), (0xc4923a9c, 0x483df7a0))]
words = rng.integers(0, 2**32, (4, 9), dtype=np.uint64).astype(np.uint32)
for key, counter, _ in KNOWN:
    words = np.concatenate([words, np.array(key + counter, np.uint32)[:, None]], axis=1)
encrypted = np.array([np.asarray(threefry_2x32(w[:2], w[2:])) for w in words.T]).T
for (_, _, want), got in zip(KNOWN, encrypted.T[-3:]):
    if tuple(got) != want:
        differences.append(f"threefry: {got} instead of {want}")
for word in (0, 1):
    case("threefry2x32", f"word_{word}",
         f"word {word} %0, %1, %2, %3 : {', '.join(text(w) for w in words)} -> {text(words[0])}", list(words),
         encrypted[word])
