"""Writes prelude.json: the functions that come with the language, optimisers included. See oracle.py."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.example_libraries import optimizers

from oracle import DTYPES, ULPS, Group, write

rng = np.random.default_rng(5)
GROUPS = []


def layer_norm(x, scale, bias, eps=1e-5):
    return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + eps) * scale + bias


def rms_norm(x, scale, eps=1e-6):
    return x / jnp.sqrt((x * x).mean(-1, keepdims=True) + eps) * scale


def cross_entropy(logits, labels):
    labels = labels if labels.ndim == logits.ndim else jax.nn.one_hot(labels, logits.shape[-1], dtype=logits.dtype)
    return -(jax.nn.log_softmax(logits) * labels).sum(-1)


def attention(q, k, v, causal=False):
    """The function of jax.nn takes [batch, positions, heads, features], and computes its softmax in f32."""
    if q.dtype == jnp.float64:
        scores = q @ k.mT / q.shape[-1] ** 0.5
        scores = jnp.where(jnp.tril(jnp.ones_like(scores)) > 0, scores, -jnp.inf) if causal else scores
        return jax.nn.softmax(scores) @ v
    lead = q.shape[:-2]
    flat = [a.reshape(-1, *a.shape[-2:])[:, :, None] for a in (q, k, v)]
    return jax.nn.dot_product_attention(*flat, is_causal=causal)[:, :, 0].reshape(*lead, q.shape[-2], v.shape[-1])


python = dict(layer_norm=layer_norm, rms_norm=rms_norm, cross_entropy=cross_entropy, attention=attention)

for dtype in "f32", "f64", "bf16", "f16":
    normal = lambda *shape: rng.normal(size=shape).astype(DTYPES[dtype])
    wide = dtype == "f64"
    # Several roundings to 16 bits, in either order.
    loose = dict(ulps=4, absolute=(4 if dtype in ("bf16", "f16") else 1) * ULPS[dtype])
    g = Group(f"normalised_{dtype}", wide=wide, python=python, x=normal(7, 10), scale=normal(10), bias=normal(10), t=normal(2, 5, 3))
    g("softmax(x)", **loose)
    g("softmax(x, axis=0)", **loose)
    g("softmax(t, axis=1), softmax(t, axis=-3)", **loose)
    g("softmax(x * 30.0)", **loose)
    g("log_softmax(x)", **loose)
    g("log_softmax(x, axis=0)", **loose)
    g("log_softmax(t, 1)", **loose)
    g("logsumexp(x), logsumexp(t, axis=1), logsumexp(x, axis=-1, keepdims=true)",
      "logsumexp(x), logsumexp(t, axis=1), logsumexp(x, axis=-1, keepdims=True)", **loose)
    g("layer_norm(x, scale, bias)", **loose)
    g("layer_norm(x, scale, bias, eps=0.1)", **loose)
    g("layer_norm(t, 1.0, 0.0)", **loose)
    g("rms_norm(x, scale)", **loose)
    g("rms_norm(x, scale, eps=0.5)", **loose)
    g("relu(x), silu(x), sigmoid(x)", **loose)
    g("gelu(x), gelu(x, approximate=true)", "gelu(x), gelu(x, approximate=True)", **loose)
    g("gelu(x, approximate=false)", "gelu(x, approximate=False)", **loose)
    g("mean(x, axis=-1), var(x, axis=-1), mean(t, axis=[0, 1])", "mean(x, axis=-1), var(x, axis=-1), mean(t, axis=(0, 1))", **loose)
    GROUPS.append(g)

    g = Group(f"labels_{dtype}", wide=wide, python=python, logits=normal(11, 7) * 3, classes=rng.integers(0, 7, 11).astype(np.int32),
              many=normal(3, 5, 4), rows=rng.integers(0, 4, (3, 5)).astype(np.int32),
              soft=rng.dirichlet(np.ones(7), 11).astype(DTYPES[dtype]), u=rng.integers(0, 7, 11).astype(np.uint8))
    g("cross_entropy(logits, classes)", **loose)
    g("cross_entropy(logits, u)", **loose)
    g("cross_entropy(logits, one_hot(classes, 7))", "cross_entropy(logits, jax.nn.one_hot(classes, 7, dtype=jnp.float32))", **loose)
    g("cross_entropy(logits, soft)", **loose)
    g("cross_entropy(many, rows)", **loose)
    g("mean(cross_entropy(logits, classes))", **loose)
    g("cross_entropy(labels=classes, logits=logits)", **loose)
    g("mean(argmax(logits, axis=-1) == classes)", ulps=1)
    GROUPS.append(g)

for dtype in "f32", "f64":
    normal = lambda *shape: rng.normal(size=shape).astype(DTYPES[dtype])
    loose = dict(ulps=4, absolute=ULPS[dtype])
    g = Group(f"attention_{dtype}", wide=dtype == "f64", python=python, q=normal(3, 7, 5), k=normal(3, 7, 5), v=normal(3, 7, 5),
              h=normal(2, 3, 5, 4), long=normal(3, 11, 5), c=normal(3, 11, 6))
    g("attention(q, k, v)", **loose)
    g("attention(q, k, v, causal=true)", "attention(q, k, v, causal=True)", **loose)
    g("attention(q, long, long)", **loose)
    g("attention(q, long, c)", lambda q, k, v, h, long, c: jax.nn.softmax(q @ long.mT / 5**0.5) @ c, **loose)
    g("attention(h, h, h, causal=true)", "attention(h, h, h, causal=True)", **loose)
    g("attention(q[0], k[0], v[0])", **loose)
    GROUPS.append(g)


# Optimisers, four steps each on the gradient of a quadratic, as in jax.example_libraries.
def optimised(init, update, get):
    def run(p, target):
        state = init(p)
        for i in range(4):
            state = update(i, jax.tree.map(lambda x, t: x - t, get(state), target), state)
        return get(state)
    return run


declare = """
struct Params { w: f32[7, 5], b: f32[5] }
fn four_adam(p, t, lr = 1e-3, b1 = 0.9, b2 = 0.999, eps = 1e-8) {
  return (for i in 0..4 carry (p = p, m = 0.0 * p, v = 0.0 * p) { yield adam(p, m, v, p - t, i, lr, b1, b2, eps); })[0];
}
fn four_momentum(p, t, lr, mass) {
  return (for i in 0..4 carry (p = p, v = 0.0 * p) { yield momentum(p, v, p - t, lr=lr, mass=mass); })[0];
}
fn both(w, b) { return Params { w: w, b: b }; }
fn fields(p) { return (p.w, p.b); }
"""
g = Group("optimisers", declare=declare, p=rng.normal(size=(7, 5)).astype(np.float32), t=rng.normal(size=(7, 5)).astype(np.float32),
          b=rng.normal(size=5).astype(np.float32), c=rng.normal(size=5).astype(np.float32))
loose = dict(ulps=2, absolute=1e-6)
g("for i in 0..4 carry (p = p) { yield sgd(p, p - t, lr=0.1); }",
  lambda p, t, *_: optimised(*optimizers.sgd(0.1))(p, t), **loose)
g("sgd(p, t)", "p - 0.01 * t")
g("four_momentum(p, t, 0.1, 0.9)", lambda p, t, *_: optimised(*optimizers.momentum(0.1, 0.9))(p, t), **loose)
g("four_adam(p, t)", lambda p, t, *_: optimised(*optimizers.adam(1e-3))(p, t), **loose)
g("four_adam(p, t, lr=0.1, b1=0.5, eps=1e-3)", lambda p, t, *_: optimised(*optimizers.adam(0.1, 0.5, 0.999, 1e-3))(p, t), **loose)
g("fields(four_adam(both(p, b), both(t, c), b2=0.9))",
  lambda p, t, b, c: optimised(*optimizers.adam(1e-3, b2=0.9))((p, b), (t, c)), **loose)
g("fields(four_momentum(both(p, b), both(t, c), 0.05, 0.8))",
  lambda p, t, b, c: optimised(*optimizers.momentum(0.05, 0.8))((p, b), (t, c)), **loose)
g("clip_by_global_norm(p, 1.0)", lambda p, *_: optimizers.clip_grads(p, 1.0), **loose)
g("clip_by_global_norm(p, 1e3)", lambda p, *_: optimizers.clip_grads(p, 1e3), **loose)
g("fields(clip_by_global_norm(both(p, b), 2.0))", lambda p, t, b, c: optimizers.clip_grads((p, b), 2.0), **loose)
g("clip_by_global_norm(norm=0.5, g=b)", lambda p, t, b, c: optimizers.clip_grads(b, 0.5), **loose)
GROUPS.append(g)

write(__file__, GROUPS)
