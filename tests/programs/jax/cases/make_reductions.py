"""Writes reductions.json: reductions and cumulative operations, all types, axes, ties, NaN, empty arrays. See oracle.py."""

import numpy as np

from oracle import DTYPES, FLOATS, INTEGERS, ULPS, WIDE, Group, write

rng = np.random.default_rng(2)
GROUPS = []

for dtype in DTYPES:
    wide = dtype in WIDE
    if dtype in FLOATS:
        # Quarters: sums do not depend on their order, and ties are frequent.
        x = (rng.integers(-8, 9, size=(7, 5, 3)) / 4).astype(DTYPES[dtype])
    elif dtype == "bool":
        x = rng.integers(0, 2, size=(7, 5, 3)).astype(bool)
    else:
        x = rng.integers(0 if dtype[0] == "u" else -100, 100, size=(7, 5, 3)).astype(DTYPES[dtype])
    g = Group(f"reductions_{dtype}", wide=wide, x=x)
    narrow = dtype in ("i8", "u8", "i32", "u32", "bool")
    sums = "sum", "prod"
    for f in sums:
        g(f"{f}(x)", absolute=1e-12 if dtype == "f64" else None if dtype not in FLOATS or f == "sum" else 2 * ULPS[dtype])
        g(f"{f}(x, axis=0)", ulps=1 if f == "prod" and dtype in FLOATS else None)
        g(f"{f}(x, axis=[0, 2])", f"{f}(x, axis=(0, 2))", ulps=1 if f == "prod" and dtype in FLOATS else None,
          absolute=ULPS[dtype] if f == "prod" and dtype in FLOATS else None)
        g(f"{f}(x, axis=-2, keepdims=true)", f"{f}(x, axis=-2, keepdims=True)", ulps=1 if f == "prod" and dtype in FLOATS else None)
    for f in "max", "min":
        g(f"{f}(x)")
        g(f"{f}(x, axis=1)")
        g(f"{f}(x, axis=[-1, 0])", f"{f}(x, axis=(-1, 0))")
        g(f"{f}(x, axis=0, keepdims=true)", f"{f}(x, axis=0, keepdims=True)")
    for f in "argmax", "argmin":
        as_i32 = f"{f}(x{{}}).astype('int32')"  # The language's indices are always i32.
        g(f"{f}(x)", as_i32.format(""))
        g(f"{f}(x, axis=0)", as_i32.format(", axis=0"))
        g(f"{f}(x, axis=-1, keepdims=true)", as_i32.format(", axis=-1, keepdims=True"))
        g(f"{f}(x[:, 0, 1]), {f}(x, axis=1)", f"argmax(x[:, 0, 1]).astype('int32'), argmax(x, axis=1).astype('int32')".replace("argmax", f))
    if not wide or dtype == "f64":
        g("mean(x)", ulps=1, absolute=1e-6 if dtype != "f64" else 1e-14)
        g("mean(x, axis=1)", ulps=1, absolute=ULPS.get(dtype, ULPS["f32"]))
        g("mean(x, axis=[0, 1], keepdims=true)", "mean(x, axis=(0, 1), keepdims=True)", ulps=1, absolute=ULPS.get(dtype, ULPS["f32"]))
        if dtype != "bool":
            g("var(x)", ulps=2)
            g("var(x, axis=0)", ulps=2)
            g("var(x, axis=[1, 2], keepdims=true)", "var(x, axis=(1, 2), keepdims=True)", ulps=2)
    for f in "any", "all":
        g(f"{f}(x)")
        g(f"{f}(x, axis=0)")
        g(f"{f}(x, axis=[1, 2], keepdims=true)", f"{f}(x, axis=(1, 2), keepdims=True)")
    for f in "cumsum", "cumprod":
        loose = dict(ulps=1, absolute=ULPS[dtype]) if dtype in ("f16", "bf16") or (f == "cumprod" and dtype in FLOATS) else {}
        g(f"{f}(x[:, 0, 0])", **loose)
        g(f"{f}(x, axis=0)", **loose)
        g(f"{f}(x, axis=-1)", **loose)
        g(f"{f}(x, axis=1)", **loose)
    if dtype != "bool":
        g("cummax(x, axis=0), cummax(x, axis=1), cummax(x, axis=2)")
    if dtype in FLOATS:
        g("logsumexp(x)", ulps=2)
        g("logsumexp(x, axis=0)", ulps=2, absolute=ULPS[dtype])
        g("logsumexp(x, axis=[1, 2], keepdims=true)", "logsumexp(x, axis=(1, 2), keepdims=True)", ulps=2, absolute=ULPS[dtype])
    GROUPS.append(g)

# Infinities, NaN and -0.0.
for dtype in FLOATS:
    n = np.array([[1, np.nan, 3, -1, 2], [np.inf, 1, 2, -np.inf, 0.5], [-np.inf] * 5, [np.inf, np.inf, 1, 0, 2],
                  [0.0, -0.0, 0.0, -0.0, -0.0], [-0.0, 0.0, -0.0, 0.0, 0.0], [np.nan, 5, np.nan, 7, -np.inf]], DTYPES[dtype])
    g = Group(f"edges_{dtype}", wide=dtype == "f64", n=n, t=n.T.copy(), z=np.zeros((6, 5), DTYPES[dtype]) * DTYPES[dtype](-1))
    for array, axis in ("n", 1), ("n", 0), ("t", 0), ("t", 1):
        # JAX does not define which zero is returned.
        g(f"max({array}, axis={axis}), min({array}, axis={axis})", absolute=1e-30)
        g(f"argmax({array}, axis={axis}), argmin({array}, axis={axis})",
          f"argmax({array}, axis={axis}).astype('int32'), argmin({array}, axis={axis}).astype('int32')")
        g(f"sum({array}, axis={axis}), prod({array}, axis={axis})", absolute=1e-30)
        g(f"mean({array}, axis={axis}), var({array}, axis={axis})", ulps=1, absolute=ULPS[dtype])
        g(f"logsumexp({array}, axis={axis})", ulps=2)
        g(f"softmax({array}, axis={axis})", ulps=2)
        g(f"log_softmax({array}, axis={axis})", ulps=2, absolute=ULPS[dtype])
        g(f"cumsum({array}, axis={axis}), cumprod({array}, axis={axis})", absolute=1e-30)
        g(f"cummax({array}, axis={axis})", absolute=1e-30)
        g(f"any({array}, axis={axis}), all({array}, axis={axis})")
    g("max(n), min(n), argmax(n), argmin(n), sum(n)",
      "max(n), min(n), argmax(n).astype('int32'), argmin(n).astype('int32'), sum(n)", absolute=1e-30)
    g("logsumexp(n[2:4]), logsumexp(n[1:3], axis=1)", ulps=2)
    g("argmax(z), argmin(z), argmax(z, axis=0)", "argmax(z).astype('int32'), argmin(z).astype('int32'), argmax(z, axis=0).astype('int32')")
    GROUPS.append(g)

# Empty reductions: identities.
for dtype in DTYPES:
    g = Group(f"empty_{dtype}", wide=dtype in WIDE, e=np.zeros((0, 5), DTYPES[dtype]), x=np.ones((3, 5), DTYPES[dtype]))
    g("sum(e), sum(e, axis=0), sum(e, axis=1), sum(x[:0], axis=0)")
    g("prod(e), prod(e, axis=0), prod(e, axis=1), prod(x[3:], axis=0)")
    g("any(e), any(e, axis=0), all(e), all(e, axis=0)")
    g("max(e, axis=1), min(e, axis=1)")
    g("cumsum(e, axis=0), cumsum(x[:, 2:2], axis=1)")
    if dtype in FLOATS:
        g("mean(e, axis=0), mean(e)")
        g("logsumexp(e, axis=0)")
        g("e @ x.T, x @ e.T, e.T @ e")
    g("concatenate([e, x], axis=0), concatenate([x, e])")
    GROUPS.append(g)

# Wrapping sums, and sums that are wider than their elements.
g = Group("wrap", i8=np.array([127, 127, 127, -128, 5], np.int8), u8=np.array([255, 255, 255, 1, 7], np.uint8),
          i32=np.array([2**31 - 1, 2**31 - 1, 2, 3, 9], np.int32), u32=np.array([2**32 - 1, 2**32 - 1, 2, 5, 3], np.uint32))
for k in "i8", "u8", "i32", "u32":
    g(f"sum({k}), prod({k}), cumsum({k}), cumprod({k})")
    g(f"sum({k} * {k}), sum({k} + {k})")
    g(f"mean({k})", ulps=0.25)
    g(f"{k} @ {k}")
GROUPS.append(g)

# Many elements: 16-bit types accumulate in 32 bits.
for dtype in "bf16", "f16", "f32":
    x = rng.uniform(0.5, 1.5, size=(97, 53)).astype(DTYPES[dtype])
    g = Group(f"long_sums_{dtype}", x=x)
    exact = x.astype(np.float64)
    g("sum(x * 0.25)" if dtype == "f16" else "sum(x)", lambda x, e=exact, q=0.25 if dtype == "f16" else 1: (q * e).sum().astype(x.dtype), ulps=1)
    g("sum(x, axis=0)", lambda x, e=exact: e.sum(0).astype(x.dtype), ulps=1)
    g("mean(x), mean(x, axis=1)", lambda x, e=exact: (e.mean().astype(x.dtype), e.mean(1).astype(x.dtype)), ulps=1)
    g("var(x)", lambda x, e=exact: e.var().astype(x.dtype), ulps=1)
    g("cumsum(x[:, 0])", lambda x, e=exact: e[:, 0].cumsum().astype(x.dtype), ulps=1)
    g("logsumexp(x)", lambda x, e=exact: np.log(np.exp(e).sum()).astype(x.dtype), ulps=1)
    g("x.T @ x", lambda x, e=exact: (e.T @ e).astype(x.dtype), ulps=1)
    GROUPS.append(g)

write(__file__, GROUPS)
