"""Writes functions.json: functions, generics, named arguments, structs, loops and branches. See oracle.py."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from oracle import Group, write

rng = np.random.default_rng(6)
GROUPS = []
normal = lambda *shape: rng.normal(size=shape).astype(np.float32)
whole = lambda *shape: rng.integers(-4, 5, size=shape).astype(np.float32)

declare = """
const K = 3;
const HALF = 0.5;
fn double(x) { return x + x; }
fn apply_twice(x) { return double(double(x)); }
fn affine(x, scale = 2.0, shift = 1) { return x * scale + shift; }
fn linear<B, I, O>(x: f32[B, I], w: f32[I, O], b: f32[O]) -> f32[B, O] { return x @ w + b; }
fn gram<N, M>(x: f32[N, M]) { return x.T @ x / N; }
fn halves(x) { return (x[:x.shape[0] / 2], x[x.shape[0] / 2:]); }
fn swap(p) { let (a, b) = p; return (b, a); }
fn normalise(x, axis = -1, eps = 0.5) { return x / (sum(abs(x), axis=axis, keepdims=true) + eps); }
fn one(a) { return a * K; }
fn outer(a, b) { return one(a)[:, None] + one(b) * HALF; }
fn scope(x) { let x = x + 1.0; let y = if K == 3 { let x = x * 2.0; x - 1.0 } else { x }; return x + y; }
fn extremes(x, axis) { return (min(x, axis=axis), max(x, axis=axis), mean(x, axis=axis)); }
fn power<N>(x: f32[N]) { return x ** N; }
"""


def normalise(x, axis=-1, eps=0.5):
    return x / (jnp.abs(x).sum(axis, keepdims=True) + eps)


python = dict(
    double=lambda x: x + x, apply_twice=lambda x: 4 * x, affine=lambda x, scale=2.0, shift=1: x * scale + shift,
    linear=lambda x, w, b: x @ w + b, gram=lambda x: x.T @ x / x.shape[0], halves=lambda x: jnp.split(x, 2),
    swap=lambda p: (p[1], p[0]), normalise=normalise, outer=lambda x, y: (3 * x)[:, None] + 3 * y * 0.5, K=3, HALF=0.5,
    scope=lambda x: (x + 1) + ((x + 1) * 2 - 1), extremes=lambda x, axis: (x.min(axis), x.max(axis), x.mean(axis)),
    power=lambda x: x ** x.shape[0])
g = Group("functions", declare=declare, python=python, x=whole(7, 5), w=whole(5, 3), b=whole(3), v=whole(6), i=np.arange(7, dtype=np.int32))
for text in ("double(x), double(i), apply_twice(v)", "affine(x), affine(x, 3.0), affine(x, shift=2, scale=0.5), affine(i, 2)",
             "linear(x, w, b)", "linear(w=w, b=b, x=x)", "linear(x.T, x, v[:5])", "linear(linear(x, w, b), w.T, x[0])",
             "halves(v), halves(x[:, 0][1:])", "swap((x, v)), swap(swap((i, v)))", "outer(i, v), outer(v, v[2:])",
             "scope(v)", "extremes(x, 0), extremes(x, axis=-1)", "power(v[:3]), power(b)", "x * K + HALF", "K * 2 + 1 + i",
             "affine(double(affine(v)), shift=-1)", "[x, v][1], (x, v, i)[2]", "x.shape[1] * i + x.ndim"):
    g(text, absolute=1e-6 if "extremes" in text else None)
g("gram(x), gram(x.T)", ulps=0.5)
g("normalise(x), normalise(x, 0), normalise(x, eps=2.0, axis=0)", ulps=0.5)
g("sum(x, 0), sum(axis=1, x=x), max(x, axis=0, keepdims=true)", "x.sum(0), x.sum(1), x.max(0, keepdims=True)")
g("(x @ w)[1:3] ** 2 / 2.0 - -x[1:3] @ w", ulps=0.5)
g("-v ** 2, (-v) ** 2, 2 ** -1 * v, v - v - v, v / 2 / 2", "-v ** 2, (-v) ** 2, 0.5 * v, v - v - v, v / 4")
g("i << 1 + 1, i | 4 ^ 1 & 7, 1 + i % 3 * 2", "i << 2, i | 4 ^ 1 & 7, 1 + i % 3 * 2")
g("!(i > 2) && i > 0 || i == 6", "((i <= 2) & (i > 0)) | (i == 6)")
g("if x.ndim == 2 { x } else { v }", "x")
GROUPS.append(g)

declare = """
struct Layer<I, O> { w: f32[I, O], b: f32[O] }
struct Net { first: Layer<5, 4>, second: Layer<4, 5>, scale: f32 }
struct Pair { x: f32[7, 5], y: f32[7, 5] }
fn apply(l: Layer, x) { return tanh(x @ l.w + l.b); }
fn forward(n: Net, x) { return apply(n.second, apply(n.first, x)) * n.scale; }
fn net(w, b, c) { return Net { first: Layer { w: w, b: b }, second: Layer { w: w.T, b: c }, scale: 2.0 }; }
fn leaves(n) { return (n.first.w, n.first.b, n.second.w, n.second.b, n.scale); }
fn flip_pair(p: Pair) -> Pair { return Pair { x: p.y, y: p.x }; }
fn fields(p) { return (p.x, p.y); }
"""


def net(w, b, c):
    return ((w, b), (w.T, c), jnp.float32(2.0))


def forward(n, x):
    for w, b in n[:2]:
        x = jnp.tanh(x @ w + b)
    return x * n[2]


tree = jax.tree.map
x, w, b, c = whole(7, 5), whole(5, 4), whole(4), whole(5)
g = Group("structs", declare=declare, python=dict(net=net, forward=forward), x=x, w=w, b=b, c=c)
loose = dict(ulps=1, absolute=1e-6)
g("forward(net(w, b, c), x)", **loose)
g("leaves(net(w, b, c))", "net(w, b, c)")
g("leaves(net(w, b, c) * 0.5 + 1.0)", lambda x, w, b, c: tree(lambda v: v * 0.5 + 1, net(w, b, c)))
g("leaves(net(w, b, c) - 0.1 * net(w + 1.0, b, c))",
  lambda x, w, b, c: tree(lambda p, q: p - 0.1 * q, net(w, b, c), net(w + 1, b, c)), ulps=0.5, absolute=1e-6)
g("leaves(where(net(w, b, c) > 0.0, net(w, b, c), 0.0))", lambda x, w, b, c: tree(lambda v: jnp.where(v > 0, v, 0), net(w, b, c)))
g("leaves(exp(net(w, b, c) * 0.1))", lambda x, w, b, c: tree(lambda v: jnp.exp(v * 0.1), net(w, b, c)), **loose)
g("leaves(maximum(net(w, b, c), 0.0) ** 2)", lambda x, w, b, c: tree(lambda v: jnp.maximum(v, 0) ** 2, net(w, b, c)))
g("leaves(-abs(net(w, b, c)))", lambda x, w, b, c: tree(lambda v: -jnp.abs(v), net(w, b, c)))
g("net(w, b, c).second.w @ net(w, b, c).first.w", "w.T @ w")
g("fields(flip_pair(Pair { x: x, y: x * 2.0 }))", "x * 2, x")
g("fields(flip_pair(flip_pair(Pair { y: x, x: -x })))", "-x, x")
g("fields(for k in 0..3 carry (p = Pair { x: x, y: -x }) { yield Pair { x: p.y, y: p.x + 1.0 }; })",
  lambda x, *_: lax.fori_loop(0, 3, lambda k, p: (p[1], p[0] + 1), (x, -x)))
g("fields(if sum(x) > 0.0 { Pair { x: x, y: -x } } else { Pair { x: -x, y: x } })",
  lambda x, *_: lax.cond(x.sum() > 0, lambda: (x, -x), lambda: (-x, x)))
g("fields(while sum(p.x) < 100.0 carry (p = Pair { x: abs(x), y: x }) { yield Pair { x: p.x + 1.0, y: p.y * 2.0 }; })",
  lambda x, *_: lax.while_loop(lambda p: p[0].sum() < 100, lambda p: (p[0] + 1, p[1] * 2), (jnp.abs(x), x)))
GROUPS.append(g)

g = Group("control", x=whole(7, 5), v=whole(11), s=np.float32(1.5), n=np.int32(5), y=whole(5, 5) / 8)
g("for i in 0..5 carry (x = x) { yield x * 0.5 + i; }", lambda x, *_: lax.fori_loop(0, 5, lambda i, x: x * 0.5 + i, x))
g("for i in 2..7 carry (v = v, t = 0) { yield (v + i, t + i); }",
  lambda x, v, *_: lax.fori_loop(2, 7, lambda i, c: (c[0] + i, c[1] + i), (v, jnp.int32(0))))
g("for i in 0..0 carry (v = v) { yield v * 2.0; }", "v")
g("for i in 0..3 carry (y = y) { yield for j in 0..2 carry (z = y) { yield z @ z * 0.25 + j - i; }; }",
  lambda x, v, s, n, y: lax.fori_loop(0, 3, lambda i, y: lax.fori_loop(0, 2, lambda j, z: z @ z * 0.25 + j - i, y), y), ulps=8, absolute=1e-5)
g("for i in 0..6 carry (s = 0.0) { yield s + sum(v) * i; }", lambda x, v, *_: sum(v.sum() * i for i in range(6)))
g("for i in 0..4 carry (a = 0, b = 1) { yield (b, a + b); }", "jnp.int32(3), jnp.int32(5)")
g("while s < 50.0 carry (s = s, k = 0) { yield (s * 2.0, k + 1); }",
  lambda x, v, s, *_: lax.while_loop(lambda c: c[0] < 50, lambda c: (c[0] * 2, c[1] + 1), (s, 0)))
g("while max(abs(v)) > 1.0 carry (v = v) { yield v * 0.5; }",
  lambda x, v, *_: lax.while_loop(lambda v: jnp.abs(v).max() > 1, lambda v: v * 0.5, v))
g("while n > 10 carry (n = n) { yield n - 1; }", "n")
g("if s > 1.0 { x * 2.0 } else { x - 1.0 }", "x * 2")
g("if n > 7 { v } else { let w = v + 1.0; w * w }", "(v + 1) * (v + 1)")
g("if sum(x) > sum(v) { max(x) } else { min(v) }", lambda x, v, *_: lax.cond(x.sum() > v.sum(), lambda: x.max(), lambda: v.min()))
g("if n == 5 { (x, v) } else { (-x, v * 2.0) }", "x, v")
g("if n == 1 { v } else { if n == 5 { v * 3.0 } else { -v } }", "v * 3")
g("for i in 0..6 carry (v = v) { yield if i % 2 == 0 { v + i } else { v * 0.5 }; }",
  lambda x, v, *_: lax.fori_loop(0, 6, lambda i, v: lax.cond(i % 2 == 0, lambda: v + i, lambda: v * 0.5), v))
g("for i in 0..4 carry (x = x) { let m = mean(x, axis=0); yield x - m; }",
  lambda x, *_: lax.fori_loop(0, 4, lambda i, x: x - x.mean(0), x), absolute=1e-6)
g("for i in 0..9 carry (v = v) { yield roll(v, 1) + where(v > 0.0, 1.0, 0.0); }",
  lambda x, v, *_: lax.fori_loop(0, 9, lambda i, v: jnp.roll(v, 1) + jnp.where(v > 0, 1.0, 0.0), v))
g("for i in 1..4 carry (w = (v, x)) { yield (w[0] * 2.0, w[1] + i); }",
  lambda x, v, *_: lax.fori_loop(1, 4, lambda i, w: (w[0] * 2, w[1] + i), (v, x)))
GROUPS.append(g)

# Shardings that constraints set in the middle change no value.
g = Group("shardings", meshes=[{"a": 4, "b": 2}, {"a": 2, "b": 3}, {"a": 1, "b": 5}], x=whole(6, 5), y=whole(5, 9), t=whole(3, 7, 2))
for text, same in (
    ("shard(x, P(a, b)) @ y", "x @ y"), ("shard(x @ shard(y, P(b, a)), P(b, a))", "x @ y"), ("shard(x, P((a, b)))", "x"),
    ("shard(x, P((b, a), _)) + shard(x, P(_, (a, b)))", "x + x"), ("shard(shard(shard(t, P(a)), P(_, a, b)), P(b, _, a))", "t"),
    ("like(x, y.T[:6, :5][0:1] + x)", "x"), ("sum(shard(t, P(a, b)), axis=1)", "t.sum(1)"), ("shard(x.T, P(a, b)) @ x", "x.T @ x"),
    ("reshape(shard(t, P(_, (a, b))), [6, 7])", "t.reshape(6, 7)"), ("reshape(shard(x, P(a, b)), [30])", "x.reshape(30)"),
    ("flip(shard(x, P(a, b))), roll(shard(x, P(b, a)), 2, axis=0)", "jnp.flip(x), jnp.roll(x, 2, axis=0)"),
    ("cumsum(shard(x, P(a, b)), axis=0), cumsum(shard(x, P(a, b)), axis=1)", "x.cumsum(0), x.cumsum(1)"),
    ("concatenate([shard(x, P(a, b)), shard(x, P(_, (a, b)))], axis=0)", "jnp.concatenate([x, x], axis=0)"),
    ("argmax(shard(x, P((a, b))), axis=0), argmin(shard(x, P(a, b)))", "x.argmax(0).astype('int32'), x.argmin().astype('int32')"),
    ("shard(zeros(f32[7@a, 5@b]), P(b, a)) + 1.0", "jnp.ones((7, 5))"), ("iota(i32[9@(a, b)])", "jnp.arange(9)"),
    ("(shard(x, P(a, b)) > 0.0) && (shard(x, P(b)) < 3.0)", "(x > 0) & (x < 3)"),
    ("shard(x, P(a, b))[1:5, ::-2], shard(t, P(a, b))[..., 0]", "x[1:5, ::-2], t[..., 0]"),
    ("shard(x, P(?, b)) * 2.0, shard(x, P(a?, _))", "x * 2, x")):
    g(text, same)
GROUPS.append(g)

write(__file__, GROUPS)
