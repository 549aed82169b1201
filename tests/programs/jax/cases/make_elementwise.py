"""Writes elementwise.json: functions of one or more elements, all types, edge values. See oracle.py."""

import numpy as np

from oracle import DTYPES, FLOATS, INTEGERS, ULPS, WIDE, Group, write

rng = np.random.default_rng(1)
EDGES = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -1.5, -2.5, 2.0**-10, 88.0]
GROUPS = []


def floats(dtype, shape, scale=2.0):
    return (rng.normal(size=shape) * scale).astype(DTYPES[dtype])


for dtype in FLOATS:
    wide = dtype == "f64"
    # Away from the edges: 7 and 5 rows and columns, and an array in (-1, 1).
    g = Group(f"functions_{dtype}", wide=wide, x=floats(dtype, (7, 5)),
              p=np.abs(floats(dtype, (6, 4))) + DTYPES[dtype](0.05),
              u=rng.uniform(-0.95, 0.95, size=(5, 3)).astype(DTYPES[dtype]))
    # JAX rounds intermediate values of 16 bits in these.
    exact = (lambda f: f"{f}(x.astype('float32')).astype(x.dtype)") if dtype in ("bf16", "f16") else lambda f: f"{f}(x)"
    g("exp2(x)", exact("exp2"), ulps=1)
    g("sigmoid(x)", exact("sigmoid"), ulps=1)
    for f in "exp expm1 sin cos tan tanh sinh cosh erf atan cbrt".split():
        g(f"{f}(x)", ulps=2 if f in ("tan", "expm1", "erf") else 1, absolute=ULPS[dtype] if f in ("sin", "cos") else None)
    for f in "log log1p log2 sqrt rsqrt".split():
        g(f"{f}(p)", ulps=1, absolute=ULPS[dtype])
    for f in "asin acos atan erf_inv".split():
        g(f"{f}(u)", ulps=2, absolute=ULPS[dtype])
    for f in "abs sign floor ceil round relu".split():
        g(f"{f}(x)")
    for f in "silu", "gelu":
        g(f"{f}(x)", ulps=2, absolute=2 * ULPS[dtype])
    g("gelu(x, approximate=false)", "gelu(x, approximate=False)", ulps=2, absolute=2 * ULPS[dtype])
    g("-x")
    GROUPS.append(g)

    # Edge values, with a second array that combines each with each.
    n = np.array(EDGES, DTYPES[dtype])
    g = Group(f"edges_{dtype}", wide=wide, n=n, m=n.reshape(-1, 1))
    g("exp2(n)", "exp2(n.astype('float32')).astype(n.dtype)" if not wide else None, ulps=1)
    for f in "exp expm1 log log1p log2 sqrt rsqrt cbrt tanh sinh cosh asin acos atan erf erf_inv sigmoid".split():
        g(f"{f}(n)", ulps=2)
    for f in "sin", "cos", "tan":
        g(f"{f}(n)", ulps=4)
    for f in "abs sign floor ceil round is_finite is_nan relu".split():
        g(f"{f}(n)")
    g("-n")
    for operator in "+ - * < <= > >= == !=".split():
        g(f"n {operator} m")
    g("n / m", ulps=0.25 if dtype in ("f32", "f64") else 1)  # JAX multiplies by the reciprocal.
    for f in "maximum minimum max min floor_divide".split():
        g(f"{f}(n, m)")
    g("n % m")
    g("atan2(n, m)", ulps=2)
    g("n ** m", ulps=2)
    g("pow(m, n)", ulps=2)
    g("n ** 2, n ** 3, n ** 0, n ** -1, n ** 0.5", ulps=2)
    g("clamp(-1.0, n, 1.0)")
    g("clamp(m, n, 2.0)")
    g("where(n > m, n, m)")
    g("!(n > m)", "logical_not(n > m)")
    GROUPS.append(g)

    # Where the domains of functions end: exact values, or the differences from the end are not zero.
    g = Group(f"limits_{dtype}", wide=wide, e=np.array([np.inf, -np.inf, 9.5, -9.5], DTYPES[dtype]),
              i=np.array([np.inf, -np.inf], DTYPES[dtype]))
    g("1 + erf(e)")
    g("gelu(i, approximate=false)", "gelu(i, approximate=False)")
    for f in "tanh sigmoid exp expm1".split():
        g(f"{f}(i)")
    GROUPS.append(g)

for dtype in INTEGERS:
    info = np.iinfo(DTYPES[dtype])
    values = [0, 1, 2, 3, 7, 100, info.max, info.max - 1, info.min] + ([-1, -2, -7, info.min + 1] if info.min else [4, 50])
    n = np.array(values, DTYPES[dtype])
    d = np.array([v for v in values if v], DTYPES[dtype])
    s = np.array([0, 1, 3, info.bits - 1], DTYPES[dtype])
    g = Group(f"integers_{dtype}", wide=dtype in WIDE, n=n, m=n.reshape(-1, 1), d=d.reshape(-1, 1), s=s.reshape(-1, 1),
              e=np.array([0, 1, 2, 3, 5], DTYPES[dtype]).reshape(-1, 1))
    for operator in "+ - * & | ^ < <= > >= == !=".split():
        g(f"n {operator} m")
    g("n % m")  # Also by zero, and the lowest value by -1.
    g("floor_divide(n, m)")
    g("n << s")
    g("n >> s")
    g("n ** e")
    g("e ** e")
    g("n ** 2, n ** 3, n ** 0, n ** 1")
    g("pow(n, e)")
    g("-n")
    g("abs(n), sign(n)")
    g("!(n > 1) && (n < 100) || n == 0", "logical_or(logical_and(logical_not(n > 1), n < 100), n == 0)")
    g("maximum(n, m), minimum(n, m)")
    g("max(n, m), min(n, m)")
    g("clamp(1, n, 50)")
    g("clamp(e, n, 5)", "clamp(e, n, 5)")
    g("where(n > m, n, m)")
    g("where(n > 1, n, 0)")
    if dtype not in WIDE:
        g("n / d", ulps=1)
        g("sqrt(abs(n)), exp(e), tanh(n)", ulps=2)
        g("floor(n), ceil(n), round(n)")
        g("is_finite(n), is_nan(n)")
        g("n / 2, n * 0.5, n + 1.5", ulps=1)
        g("log(abs(d) + 1), sin(e), atan2(n, d)", "log(abs(d) + 1), sin(e), atan2(n, d)", ulps=2)
    GROUPS.append(g)

b = np.array([True, False, True, False, True])
g = Group("bools", b=b, c=np.array([[True], [False], [True]]), x=np.arange(5, dtype=np.float32))
for operator in "& | ^ == != < <= > >=".split():
    g(f"b {operator} c")
g("b && c", "logical_and(b, c)")
g("b || c", "logical_or(b, c)")
g("!b", "logical_not(b)")
g("b + c")
g("b * c")
g("b * x, b + x, x - b")
g("b + 1, b * 2.5, b - 1")
g("where(b, x, -x), where(c, b, false)", "where(b, x, -x), where(c, b, False)")
g("maximum(b, c), minimum(b, c)")
g("cast(b, f32) + cast(c, i8)")
g("b / c.T[0, 0]", ulps=1)
g("!(x > 2.0) || b && x < 4.0", "logical_or(logical_not(x > 2), logical_and(b, x < 4))")
GROUPS.append(g)

# Casts: each type to each, with values that do not fit.
for dtype in DTYPES:
    if dtype in FLOATS:
        values = EDGES + [3.7, -3.7, 127.9, 128.0, -129.0, 255.5, 300.0, 2.0**31, -2.0**33, 4e9, 65504.0, 65520.0, 3e38, 1e-7]
        values = np.array(values).astype(DTYPES[dtype])
    elif dtype == "bool":
        values = np.array([True, False, True])
    else:
        info = np.iinfo(DTYPES[dtype])
        values = np.array([0, 1, 100, info.max, info.max - 1, info.min, info.max // 2 + 1, info.max // 3, 65535 & info.max],
                          DTYPES[dtype])
    g = Group(f"casts_{dtype}", wide=True, v=values)
    for to in DTYPES:
        g(f"cast(v, {to})")
    GROUPS.append(g)

for dtype, to in (("f32", "i32"), ("i32", "f32"), ("f32", "u32"), ("u32", "i32"), ("i8", "u8"), ("u8", "i8"), ("f64", "i64"),
                  ("i64", "f64"), ("f64", "u64"), ("u64", "f64"), ("u64", "i64"), ("i16", "u16"), ("u16", "bf16"), ("f16", "i16"),
                  ("bf16", "u16")):
    if dtype in FLOATS:
        v = np.array(EDGES[1:], DTYPES[dtype])
    else:
        info = np.iinfo(DTYPES[dtype])
        v = np.array([0, 1, info.max // 2 + 1, info.max // 3, info.min], DTYPES[dtype])
    g = Group(f"bitcast_{dtype}_{to}", wide=True, v=v)
    g(f"bitcast(v, {to})")
    g(f"bitcast(bitcast(v, {to}), {dtype})")
    GROUPS.append(g)

write(__file__, GROUPS)
