"""Writes contractions.json: products of all types, einsum, dot_general, windows. See oracle.py."""

import jax.numpy as jnp
import numpy as np
from jax import lax

from oracle import DTYPES, FLOATS, ULPS, WIDE, Group, write

rng = np.random.default_rng(4)
GROUPS = []


def numbers(dtype, *shape):
    """Small integers: exact in every type, in any order of a sum, and small enough for bf16."""
    if dtype == "bool":
        return rng.integers(0, 2, size=shape).astype(bool)
    return rng.integers(0 if dtype[0] == "u" else -3, 4, size=shape).astype(DTYPES[dtype])


for dtype in DTYPES:
    if dtype == "bool":
        continue
    g = Group(f"products_{dtype}", wide=dtype in WIDE, x=numbers(dtype, 7, 5), y=numbers(dtype, 5, 6), v=numbers(dtype, 5),
              w=numbers(dtype, 7), s=numbers(dtype, 3, 7, 5), t=numbers(dtype, 3, 5, 2))
    g("x @ y")
    g("x @ v, w @ x, v @ v")
    g("s @ t, s @ y, x @ t, s @ v, v @ t")
    g("matmul(x, y), matmul(w, x)")
    g("x.T @ x, x @ x.T, y.T @ x.T")
    g("(x @ y) @ y.T")
    g('einsum("ij,jk->ik", x, y), einsum("ij,jk->ki", x, y), einsum("ij->ji", x), einsum("ij->", x)')
    g('einsum("ij,j->i", x, v), einsum("i,j->ij", w, v), einsum("i,i->", v, v), einsum("ij,ij->j", x, x)')
    g('einsum("bij,bjk->bik", s, t), einsum("bij,bjk->ik", s, t), einsum("...ij,...jk->...ik", s, t)')
    g('einsum("ii->i", x[:5]), einsum("ii->", x[:5]), einsum("ij,jk,kl->il", x, y, y.T)')
    g('einsum("bij->jb", s), einsum("bij,bij->b", s, s), einsum("bij,kj->bik", s, x)')
    g("dot_general(x, y, contract=([1], [0]))", "dot_general(x, y, ((1,), (0,)))")
    g("dot_general(s, t, contract=([2], [1]), batch=([0], [0]))", "dot_general(s, t, ((2,), (1,)), ((0,), (0,)))")
    g("dot_general(s, s, contract=([0, 1], [0, 1]))", "dot_general(s, s, ((0, 1), (0, 1)))")
    GROUPS.append(g)

# Two types in one product.
names = [k for k in DTYPES if k != "bool"]
g = Group("mixed", wide=True, **{k: numbers(k, 5, 3) for k in names}, **{k + "_": numbers(k, 3, 7) for k in names})
for i, a in enumerate(names):
    b = names[(i + 2) % len(names)]
    # u64 with a signed integer is float*, which is f64 with JAX's 64-bit types on.
    g(f"{a} @ {b}_", f"({a} @ {b}_).astype('float32')" if "u64" in (a, b) and {a[0], b[0]} == {"i", "u"} else None)
GROUPS.append(g)

# Values that are not integers: against the sum in double precision.
for dtype in FLOATS:
    x, y = (rng.normal(size=s).astype(DTYPES[dtype]) for s in ((13, 67), (67, 9)))
    q, k = (rng.normal(size=s).astype(DTYPES[dtype]) for s in ((3, 11, 16), (3, 7, 16)))
    g = Group(f"normal_{dtype}", wide=dtype == "f64", x=x, y=y, q=q, k=k)
    a, b, c, d = (v.astype(np.float64) for v in (x, y, q, k))
    unit = dict(ulps=0.5, absolute=ULPS[dtype] / 2)
    g("x @ y", lambda *_: (a @ b).astype(x.dtype), **unit)
    g("x @ x.T", lambda *_: (a @ a.T).astype(x.dtype), **unit)
    g("y.T @ x.T", lambda *_: (b.T @ a.T).astype(x.dtype), **unit)
    g('einsum("bqd,bkd->bqk", q, k)', lambda *_: np.einsum("bqd,bkd->bqk", c, d).astype(x.dtype), **unit)
    g("x[:, 0] @ x", lambda *_: (a[:, 0] @ a).astype(x.dtype), **unit)
    GROUPS.append(g)

# Infinities and NaN in a product affect only their rows and columns.
n = np.array([[1, np.inf, 0], [np.nan, 1, 2], [0, 0, -0.0], [-np.inf, np.inf, 1], [1, 2, 3]], np.float32)
g = Group("edges", n=n, m=np.array([[1, 0], [2, -1], [0, 3]], np.float32))
g("n @ m, n.T @ n, n @ n.T", absolute=1e-30)
g('einsum("ij->j", n), einsum("ij,ij->ij", n, n)', absolute=1e-30)
GROUPS.append(g)

# Windows, as in jax.lax.
def conv1d(x, kernel, strides=1, padding="SAME", dilation=1):
    return lax.conv_general_dilated(x, kernel, (strides,), padding if isinstance(padding, str) else [padding],
                                    rhs_dilation=(dilation,), dimension_numbers=("NWC", "WIO", "NWC"))


def pair(v):
    return (v, v) if isinstance(v, int) else tuple(v)


def conv2d(x, kernel, strides=1, padding="SAME", dilation=1):
    return lax.conv_general_dilated(x, kernel, pair(strides), padding, rhs_dilation=pair(dilation),
                                    dimension_numbers=("NHWC", "HWIO", "NHWC"))


def pool(x, window, strides, padding, start, operation):
    return lax.reduce_window(x, start, operation, (1, *pair(window), 1), (1, *pair(strides), 1), padding)


def max_pool(x, window, strides=1, padding="VALID"):
    return pool(x, window, strides, padding, -jnp.inf if x.dtype.kind != "i" else np.iinfo(x.dtype).min, lax.max)


def avg_pool(x, window, strides=1, padding="VALID"):
    return pool(x, window, strides, padding, 0.0, lax.add) / np.prod(pair(window))


windows = {"conv1d": conv1d, "conv2d": conv2d, "max_pool": max_pool, "avg_pool": avg_pool}
for dtype in "f32", "bf16", "f64":
    g = Group(f"windows_{dtype}", wide=dtype == "f64", python=windows, x=numbers(dtype, 3, 11, 7, 2), k=numbers(dtype, 3, 2, 2, 5),
              s=numbers(dtype, 3, 13, 2), l=numbers(dtype, 3, 2, 3))
    exact = dict(absolute=1e-30)
    g("conv2d(x, k)", **exact)
    g('conv2d(x, k, strides=2)', **exact)
    g('conv2d(x, k, strides=[2, 3], padding="VALID")', **exact)
    g('conv2d(x, k, dilation=2)', **exact)
    g('conv2d(x, k, padding="VALID", dilation=[1, 3])', **exact)
    g('conv2d(x, k, padding=((1, 2), (0, 3)))', **exact)
    g("conv1d(s, l)", **exact)
    g('conv1d(s, l, strides=3, padding="VALID")', **exact)
    g('conv1d(s, l, 2, "SAME", 2)', **exact)
    g("max_pool(x, 2)", **exact)
    g("max_pool(x, [3, 2], strides=2)", **exact)
    g('max_pool(x, 3, strides=[2, 1], padding="SAME")', **exact)
    g("avg_pool(x, 2, strides=2)", ulps=0.5)
    g("avg_pool(x, [1, 4], strides=[3, 1])", ulps=0.5)
    GROUPS.append(g)

write(__file__, GROUPS)
