"""Writes shapes.json: operations that move, slice, concatenate and create elements. See oracle.py."""

import numpy as np

from oracle import DTYPES, WIDE, Group, write

rng = np.random.default_rng(3)
GROUPS = []

for dtype in "f32", "i8", "bf16", "bool", "u32":
    make = lambda *shape: (rng.integers(0, 100, size=shape) % (2 if dtype == "bool" else 101)).astype(DTYPES[dtype])
    g = Group(f"shapes_{dtype}", x=make(6, 5), t=make(2, 3, 7), v=make(11), s=make(1, 7, 1))
    g("reshape(x, [5, 6]), reshape(x, [30]), reshape(x, [-1, 3])")
    g("reshape(t, [6, 7]), reshape(t, [7, -1]), reshape(t, [3, 7, 2]), reshape(v, [1, 11, 1])")
    g("reshape(x, [2, 3, 5]), reshape(t, [2, 21]), reshape(x[0, 0], [1, 1])")
    g("transpose(x), x.T, t.T")
    g("transpose(t, [0, 2, 1]), transpose(t, [2, 0, 1]), transpose(t, [-1, 0, 1])")
    g("broadcast_to(v, [3, 11]), broadcast_to(s, [4, 7, 2]), broadcast_to(x[0, 0], [2, 5])")
    g("expand_dims(x, 0), expand_dims(x, -1), expand_dims(t, 1)")
    g("expand_dims(x, [0, 2])", "expand_dims(x, (0, 2))")
    g("squeeze(s), squeeze(s, 0), squeeze(s, axis=-1)")
    g("squeeze(s, axis=[0, 2])", "squeeze(s, axis=(0, 2))")
    g("concatenate([x, x], axis=0), concatenate([x, x[:, :2], x], axis=1), concatenate([v, v[3:4], v])")
    g("concatenate([t, t], axis=-1), concatenate([t[:, :, 1:3], t], axis=2)")
    g("stack([x, x]), stack([x, x], axis=1), stack([v, v, v], axis=-1)")
    g("split(x, 3), split(x, 5, axis=1), split(t, 7, axis=-1)")
    g("pad(x, ((1, 2), (0, 3)))", ) if dtype != "bool" else g("pad(x, ((1, 2), (0, 3)), constant_values=true)",
                                                             "pad(x, ((1, 2), (0, 3)), constant_values=True)")
    if dtype != "bool":
        g("pad(v, ((3, 0),), constant_values=7)")
        g("pad(t, ((0, 0), (1, 1), (2, 0)), constant_values=1)")
    g("flip(x), flip(x, axis=0), flip(x, axis=1), flip(t, axis=-1), flip(v)")
    g("flip(t, axis=[0, 2])", "flip(t, axis=(0, 2))")
    g("roll(v, 1), roll(v, -3), roll(v, 25), roll(x, 2, axis=0), roll(x, -1, axis=1), roll(x, 7)")
    g("roll(t, 1, axis=-1), roll(t, 4, axis=1), roll(v, 0)")
    g("tile(v, [3]), tile(x, [2, 1]), tile(x, [1, 3]), tile(t, [2, 1, 2]), tile(v, [2, 2])")
    g("repeat(v, 2), repeat(x, 3, axis=0), repeat(x, 2, axis=1), repeat(x, 2), repeat(t, 2, axis=-1)")
    g("x[0], x[-1], x[2, 3], x[:, 1], x[..., -2], t[1, 2, 3], t[..., 0], t[1], t[:, 0]")
    g("x[1:5], x[:, 1:], x[-3:], x[:-2, :3], x[1:100], x[4:2], v[3:-3]")
    g("x[::2], x[1::2, ::3], v[::-1], v[8:2:-2], x[::-1, ::-2], v[-1:-20:-3]")
    g("x[None], x[:, None, :], t[0, None, ..., 1], v[None, :, None], x[..., None]")
    g("tril(x), triu(x), tril(x, k=1), triu(x, k=-2), tril(x, k=-10), triu(x, k=10), tril(t), triu(t, k=1)")
    g("where(x > x[2], x, x[:, 0:1]), where(v == v[0], v, v[::-1])")
    g("x[1:4][1], x.T[2:, 1], (x.T)[0], reshape(x[1:4], [15])[3:9]")
    GROUPS.append(g)

g = Group("creation", x=np.arange(6, dtype=np.float32))
for k in DTYPES:
    if k not in WIDE:
        g(f"zeros({k}[3, 2]), ones({k}[5]), zeros({k}[0, 2]), ones({k}[])", f"zeros({k}[3, 2]), ones({k}[5]), zeros({k}[0, 2]), jnp.ones((), {k}.dtype)")
        g(f"full({k}[2, 3], 1), full({k}[4], {'0.1' if k in ('f32', 'bf16', 'f16') else '1'})")
        if k != "bool":
            g(f"iota({k}[5, 3], axis=0), iota({k}[5, 3], axis=1), iota({k}[2, 3, 7], axis=-1)",
              f"iota({k}[5, 3], axis=0), iota({k}[5, 3], axis=1), iota({k}[2, 3, 7], axis=2)")
g("zeros([2, 3]), ones([5]), iota([4, 3], axis=1), full([3], 2.5), full([3], inf), full([2], nan)")
g("arange(7), arange(2, 9), arange(1, 10, 3), arange(9, 1, -2), arange(0), arange(5, 2)")
g("arange(3.0), arange(0.5, 3.0), arange(0.0, 1.0, 0.3), arange(2.0, 0.0, -0.5)", ulps=1)
g("eye(3), eye(5, 7), eye(4, 4, k=1), eye(6, 3, k=-2)", "eye(3), eye(5, 7), eye(4, 4, k=1), eye(6, 3, k=-2)")
g("one_hot(arange(7), 5), one_hot(iota([3, 2], axis=1) - 1, 3), one_hot(cast(arange(5), u8), 4)",
  "one_hot(arange(7), 5), one_hot(iota([3, 2], axis=1) - 1, 3), one_hot(cast(arange(5), u8), 4)")
g("x.shape[0] * x, x.ndim + x", "x.shape[0] * x, x.ndim + x")
GROUPS.append(g)

# NumPy broadcasting.
g = Group("broadcasting", x=rng.integers(-9, 9, size=(7, 5)).astype(np.float32), r=np.arange(5, dtype=np.float32),
          c=np.arange(7, dtype=np.float32).reshape(7, 1), s=np.float32(3), t=rng.integers(-9, 9, size=(3, 1, 5)).astype(np.float32),
          o=np.ones((1, 1), np.float32))
for text in ("x + r", "x * c", "c - r", "x + s", "s - x", "x * t", "t + c", "t * r", "o + x", "o * r", "s + o", "s * s", "t + t[0]",
             "r + r[2]", "c * c.T", "maximum(c, r)", "where(c > r, x, s)", "where(s > 1.0, x, r)", "clamp(s, x, r)", "clamp(c, x, s)",
             "x > c", "t == r", "minimum(t, c)", "x[0] + x[:, 0:1]", "x - mean(x, axis=1, keepdims=true)",
             "x - max(x, axis=0)", "x[:, None, :] - r[None, :, None]"):
    g(text, text.replace("true", "True"), absolute=1e-6 if "mean" in text else None)
GROUPS.append(g)

write(__file__, GROUPS)
