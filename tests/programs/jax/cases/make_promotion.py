"""Writes promotion.json: the common type of two types, literals of the program included. See oracle.py."""

import numpy as np

from oracle import DTYPES, FLOATS, WIDE, Group, write

GROUPS = []
values = np.array([[0, 1, 2, 3, 5], [7, 11, 100, 120, 1]])
SIGNED = "i64", "i32", "i16", "i8"
narrow = [k for k in DTYPES if k not in WIDE]


def array(dtype, shift=0):
    return (values + shift).astype(DTYPES[dtype]) if dtype != "bool" else (values + shift) % 2 == 0


# Each pair of types; the lattice does not depend on whether JAX has 64-bit types, but weak types do.
g = Group("pairs", wide=True, **{f"{k}x": array(k) for k in DTYPES}, **{f"{k}y": array(k, 1) for k in DTYPES})
for a in DTYPES:
    for b in DTYPES:
        # i8 with u8 is i32 here; u64 with a signed integer is float*, f32 also where JAX has 64-bit types.
        is_float = "u64" in (a, b) and {a, b} & set(SIGNED)
        other = ".astype('int32')" if {a, b} == {"i8", "u8"} else ".astype('float32')" if is_float else ""
        g(f"{a}x + {b}y", f"({a}x + {b}y){other}", name=f"{a} + {b}")
GROUPS.append(g)

g = Group("pairs_of_functions", wide=True, **{f"{k}x": array(k) for k in DTYPES}, **{f"{k}y": array(k, 1) for k in DTYPES})
for a, b in zip(DTYPES, list(DTYPES)[5:] + list(DTYPES)[:5]):
    g(f"maximum({a}x, {b}y)")
    g(f"{a}x == {b}y")
    g(f"where({a}x > {b}y, {a}x, {b}y)")
    g(f"concatenate([{a}x, {b}y], axis=1)")
    g(f"stack([{a}x, {b}y])")
GROUPS.append(g)

# Literals are weak: they take the array's type if their kind allows it.
g = Group("literals", **{k: array(k) for k in narrow})
for k in narrow:
    g(f"{k} + 1")
    g(f"{k} * 1.5", ulps=0 if k in FLOATS else None)
    g(f"2 - {k}")
    g(f"{k} == 1.0")
    g(f"maximum({k}, 3)")
    g(f"where({k} > 1, {k}, 0)")
    g(f"where({k} > 1, 0.5, {k})")
    g(f"{k} + true", f"{k} + True")
    if k != "bool":
        g(f"({k} + 1) * 2.5 + {k}")
        g(f"{k} % 3")
        g(f"clamp(1, {k}, 5)")
g("(i32 * 0.5) + bf16")  # Still weak: bf16.
g("(i32 * 0.5) + f16")
g("(i32 + 1) * 0.5 * bf16")
g("sum(i32 * 0.5) * bf16")
g("where(i32 > 1, 1, 2) + i8")
g("where(i32 > 1, 1.0, 2.0) * bf16")
g("(1 + 2) * i8 + 0.5 * bf16")
g("zeros([5]) + bf16, ones([5]) * i8", "zeros([5]) + bf16, ones([5]) * i8")
g("full([5], 2.0) * bf16[0]")
g("arange(5) + i8, arange(5) * 0.5")
g("arange(0.0, 2.5, 0.5) * bf16", ulps=1)
g("i32 / 2, i8 / i8[1, 0], u8 / 3", ulps=0.25)
g("i8 / bf16[1], i32 / f16[1]", ulps=1)
g("mean(i8), mean(bf16), mean(bool)", ulps=1)
g("exp(i32 * 0.01), sqrt(u8), exp(bf16 * 0.01)", ulps=1)
g("-i8 + u8", "(-i8 + u8).astype('int32')")
g("i8 ** 2, bf16 ** 2, f16 ** 2.0, i32 ** 2.0, u8 ** 0.5", ulps=1)
g("2 ** i8, 2.0 ** bf16", ulps=1)
g("i32 & 3, u8 | 1, i8 ^ 7, u32 << 2, i32 >> 1, bool & true", "i32 & 3, u8 | 1, i8 ^ 7, u32 << 2, i32 >> 1, bool & True")
GROUPS.append(g)

# Literals that do not fit the array's type wrap, as constants of that type do.
g = Group("named_types", wide=True, d=array("f64"), l=array("i64"), f=array("f32"), i=array("i32"))
g("d * 0.1")
g("f * d")
g("l + i, l * 2, l + 4000000000")
g("cast(f, f64) / 3.0", ulps=0.25)
g("cast(i, i64) * 3000000000")
g("d @ d.T")
g("sum(d), mean(d), var(d), max(l), sum(l), prod(l[0])", ulps=1)
g("zeros(f64[5]) + d, ones(i64[5]) + l, full(f64[2], 0.1)[0] * d")
GROUPS.append(g)

write(__file__, GROUPS)
