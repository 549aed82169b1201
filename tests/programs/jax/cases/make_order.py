"""Writes order.json: sorts, run-time indices and random numbers, all types. See oracle.py."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from oracle import DTYPES, FLOATS, WIDE, Group, write

rng = np.random.default_rng(7)
GROUPS = []

for dtype in DTYPES:
    if dtype in FLOATS:
        x = (rng.integers(-9, 9, size=(7, 5)) / 2).astype(DTYPES[dtype])
        n = np.array([3, np.nan, -0.0, 0.0, -np.inf, np.inf, 1, 3, np.nan, -1, 0.0, -0.0, 2], DTYPES[dtype])
    elif dtype == "bool":
        x, n = rng.integers(0, 2, size=(7, 5)).astype(bool), rng.integers(0, 2, size=13).astype(bool)
    else:
        info = np.iinfo(DTYPES[dtype])
        x = rng.integers(0 if dtype[0] == "u" else -9, 9, size=(7, 5)).astype(DTYPES[dtype])
        n = np.array([3, 1, info.max, info.min, 3, 2, info.max - 1, 0, 1, info.min, 5, 7, 6], DTYPES[dtype])
    g = Group(f"order_{dtype}", wide=dtype in WIDE, x=x, n=n, i=np.array([3, 0, 6, 6, 1], np.int32),
              o=np.array([-1, -7, 7, -8, 2, 100], np.int32), p=rng.integers(0, 5, size=(7, 5)).astype(np.int32), k=np.int32(2),
              m=np.int32(-1), far=np.int32(50))
    g("sort(x), sort(x, axis=0), sort(x, axis=-2)", "jnp.sort(x), jnp.sort(x, axis=0), jnp.sort(x, axis=-2)")
    g("argsort(x), argsort(x, axis=0)", "jnp.argsort(x).astype('int32'), jnp.argsort(x, axis=0).astype('int32')")
    g("sort(n), argsort(n)", "jnp.sort(n), jnp.argsort(n).astype('int32')")
    if dtype != "bool":
        g("top_k(x, 3)", "lax.top_k(x, 3)")
        g("top_k(n, 13)", "lax.top_k(n, 13)")
    g("take(x, i, axis=0), take(x, p, axis=1), take(x, k, axis=0)",
      "jnp.take(x, i, axis=0), jnp.take(x, p, axis=1), jnp.take(x, k, axis=0)")
    g("take(x, o, axis=0), take(n, o, axis=0)", "jnp.take(x, o, axis=0), jnp.take(n, o, axis=0)")
    g("take_along_axis(x, p, axis=1), take_along_axis(x, i[None, :], axis=0)",
      "jnp.take_along_axis(x, p, axis=1), jnp.take_along_axis(x, i[None, :], axis=0)")
    g("x[k], x[m], x[far], x[:, k], x[k, 1], x[2:5, m]", "x[k], x[m], x[far], x[:, k], x[k, 1], x[2:5, m]")
    g("x[i], x[:, i[1]], n[i]", "x[i], x[:, i[1]], n[i]")
    g("update(x, x[:2, :3], start=[4, 1]), update(x, x[:2, :3], start=[k, far]), update(n, n[:3], start=[k])",
      lambda x, n, i, o, p, k, m, far: (lax.dynamic_update_slice(x, x[:2, :3], (4, 1)),
                                        lax.dynamic_update_slice(x, x[:2, :3], (k, far)),
                                        lax.dynamic_update_slice(n, n[:3], (k,))))
    if dtype != "bool":
        g("scatter_add(x, i, x[:5], axis=0), scatter_add(x, p[0], x[:, :5], axis=1), scatter_add(n, i, n[:5])",
          "x.at[i].add(x[:5]), x.at[:, p[0]].add(x[:, :5]), n.at[i].add(n[:5])")
        g("scatter_add(x, o[:5], x[1:6], axis=0)", "x.at[o[:5]].add(x[1:6])")
    g("one_hot(i, 7)", "jax.nn.one_hot(i, 7, dtype=jnp.float32)")
    GROUPS.append(g)

# The same numbers on every mesh: those that JAX draws.
names = {k: getattr(jax.random, k) for k in "key split fold_in key_data".split()}
g = Group("random", python=names, s=np.int32(9), logits=rng.normal(size=(7, 5)).astype(np.float32))
g("key_data(key(42)), key_data(split(key(3), 5)), key_data(fold_in(key(1), 7)), key_data(fold_in(key(1), s))")
# Keys move as other elements do.
for text in ("key_data(reshape(split(key(0), 6), [2, 3])[1]), key_data(transpose(reshape(split(key(0), 6), [2, -1]))[1]), key_data(reshape(split(key(0), 6), [2, 3]).T[1])",
             "key_data(stack([split(key(0), 6), split(key(1), 6)], axis=1)[2]), key_data(concatenate([split(key(0), 6), split(key(1), 3)]))",
             "key_data(broadcast_to(split(key(0), 6), [2, 6])[1, 3]), key_data(squeeze(expand_dims(split(key(0), 6), 0)))",
             "key_data(flip(split(key(0), 6))), key_data(roll(split(key(0), 6), 1)), key_data(roll(reshape(split(key(0), 6), [2, 3]), 2))",
             "key_data(tile(split(key(0), 6), 2)), key_data(tile(reshape(split(key(0), 6), [3, 2]), [1, 2]))",
             "key_data(repeat(split(key(0), 6), 2)), key_data(repeat(reshape(split(key(0), 6), [3, 2]), 2, axis=1))",
             "key_data(where(stack([true, false, true]), split(key(0), 3), split(key(1), 3))), key_data(where(stack([true, false]), key(2), key(3)))"):
    g(text)
g("bits(key(1), u32[11]), bits(key(1), u32[7, 5])", "jax.random.bits(key(1), (11,)), jax.random.bits(key(1), (7, 5))")
for k in "f32", "bf16", "f16":
    g(f"uniform(key(2), {k}[7, 5]), uniform(key(2), {k}[9], minval=-2.0, maxval=3.0)",
      f"jax.random.uniform(key(2), (7, 5), {k}.dtype), jax.random.uniform(key(2), (9,), {k}.dtype, -2.0, 3.0)")
    g(f"normal(key(3), {k}[7, 5])", f"jax.random.normal(key(3), (7, 5), {k}.dtype)", ulps=1)
for k in "i32", "u32", "i8", "u8":
    g(f"randint(key(4), {k}[7, 5], 0, 100), randint(key(5), {k}[13], 3, 17)",
      f"jax.random.randint(key(4), (7, 5), 0, 100, {k}.dtype), jax.random.randint(key(5), (13,), 3, 17, {k}.dtype)")
g("bernoulli(key(6), 0.3, bool[7, 5])", "jax.random.bernoulli(key(6), 0.3, (7, 5))")
g("categorical(key(7), logits), categorical(key(8), logits, axis=0)",
  "jax.random.categorical(key(7), logits), jax.random.categorical(key(8), logits, axis=0)")
g("for i in 0..3 carry (v = uniform(key(0), f32[7])) { yield v + uniform(fold_in(key(1), i), f32[7]); }",
  lambda s, l: lax.fori_loop(0, 3, lambda i, v: v + jax.random.uniform(jax.random.fold_in(jax.random.key(1), i), (7,)),
                             jax.random.uniform(jax.random.key(0), (7,))))
g("logits[s - 8], logits[:, s - 7]", "logits[s - 8], logits[:, s - 7]")
GROUPS.append(g)

g = Group("random_f64", wide=True, python=names, s=np.int32(9), logits=rng.normal(size=(7, 5)))
g("uniform(key(2), f64[7, 5]), uniform(key(2), f64[9], minval=-2.0, maxval=3.0)",
  "jax.random.uniform(key(2), (7, 5), f64.dtype), jax.random.uniform(key(2), (9,), f64.dtype, -2.0, 3.0)")
g("normal(fold_in(key(3), s), f64[17, 13])", "jax.random.normal(fold_in(key(3), s), (17, 13), f64.dtype)", ulps=1)
g("categorical(key(7), logits), categorical(key(8), logits, axis=0)",
  "jax.random.categorical(key(7), logits).astype('int32'), jax.random.categorical(key(8), logits, axis=0).astype('int32')")
g("randint(key(4), i64[7, 5], 0, 100), randint(key(5), i64[13], -3, 5000000000)",
  "jax.random.randint(key(4), (7, 5), 0, 100, i64.dtype), jax.random.randint(key(5), (13,), -3, 5000000000, i64.dtype)")
GROUPS.append(g)

g = Group("random_integers", wide=True, python=names, high=np.uint64(2**64 - 1), s=np.int16(-3),
          low=np.arange(35, dtype=np.uint64).reshape(7, 5) * np.uint64(2**58))
for k in "u64", "u32", "u16", "u8":
    g(f"bits(key(1), {k}[11]), bits(key(1), {k}[7, 5])", f"jax.random.bits(key(1), (11,), {k}.dtype), jax.random.bits(key(1), (7, 5), {k}.dtype)")
for k, least, end in ("i16", -32768, 32768), ("u16", 0, 65536), ("u64", 0, 2**63 - 1):
    g(f"randint(key(4), {k}[7, 5], 0, 100), randint(key(5), {k}[13], 3, 17), randint(key(6), {k}[13], {least}, {end})",
      f"jax.random.randint(key(4), (7, 5), 0, 100, {k}.dtype), jax.random.randint(key(5), (13,), 3, 17, {k}.dtype), "
      f"jax.random.randint(key(6), (13,), {least}, {end}, {k}.dtype)")
g("randint(key(1), u64[7, 5], low, high), randint(key(2), i64[7, 5], low, high), randint(key(3), u64[7, 5], s, high)",
  "jax.random.randint(key(1), (7, 5), low, high, u64.dtype), jax.random.randint(key(2), (7, 5), low, high, i64.dtype), "
  "jax.random.randint(key(3), (7, 5), s, high, u64.dtype)")
g("key_data(fold_in(key(1), high))")
GROUPS.append(g)

write(__file__, GROUPS)
