"""Networks and their training steps."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from cases import P, case, integers, normal


def mlp(p, x):
    return jax.nn.gelu(x @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]


def cross_entropy(logits, y):
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1))


def sgd_step(p, x, y):
    loss, g = jax.value_and_grad(lambda p: cross_entropy(mlp(p, x), y))(p)
    return loss, jax.tree.map(lambda a, b: a - 0.1 * b, p, g)


params = {"w1": normal(16, 32) * 0.3, "b1": normal(32), "w2": normal(32, 8) * 0.3, "b2": normal(8)}
x, y = normal(24, 16), integers(0, 8, 24)
case("mlp", mlp, params, x, tolerance=4e-6)
case("mlp_step", sgd_step, params, x, y, tolerance=4e-6)
tensor_parallel = {"w1": P(None, "b"), "b1": P("b"), "w2": P("b", None), "b2": P()}
case("mlp_step_sharded", sgd_step, params, x, y, in_shardings=(tensor_parallel, P("a"), P("a")), tolerance=4e-6)


def adam_step(p, m, v, t, x, y):
    loss, g = jax.value_and_grad(lambda p: cross_entropy(mlp(p, x), y))(p)
    t = t + 1
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
    v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
    p = jax.tree.map(lambda p, m, v: p - 1e-2 * (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.999**t)) + 1e-8), p, m, v)
    return loss, p, m, v, t


zeros = jax.tree.map(np.zeros_like, params)
case("adam_step", adam_step, params, zeros, zeros, np.float32(0), x, y, tolerance=2e-5, donate_argnums=(0, 1, 2))


def block(p, x, heads=4):
    def norm(x, scale):
        return scale * (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)

    b, t, d = x.shape
    h = norm(x, p["n1"])
    q, k, v = (jnp.einsum("btd,dhk->bhtk", h, p[name].reshape(d, heads, d // heads)) for name in ("q", "k", "v"))
    scores = jnp.einsum("bhtk,bhsk->bhts", q, k) / np.sqrt(d // heads)
    scores = jnp.where(jnp.tril(jnp.ones((t, t), bool)), scores, -1e9)
    out = jnp.einsum("bhts,bhsk->bthk", jax.nn.softmax(scores), v).reshape(b, t, d)
    x = x + out @ p["o"]
    return x + jax.nn.gelu(norm(x, p["n2"]) @ p["up"]) @ p["down"]


d = 16
weights = {"q": normal(d, d) * 0.2, "k": normal(d, d) * 0.2, "v": normal(d, d) * 0.2, "o": normal(d, d) * 0.2,
           "up": normal(d, 4 * d) * 0.2, "down": normal(4 * d, d) * 0.2, "n1": np.ones(d, np.float32), "n2": np.ones(d, np.float32)}
tokens = normal(8, 6, d)
block_shardings = {"q": P(None, "b"), "k": P(None, "b"), "v": P(None, "b"), "o": P("b", None), "up": P(None, "b"), "down": P("b", None),
                   "n1": P(), "n2": P()}


def block_step(p, x):
    loss, g = jax.value_and_grad(lambda p: jnp.mean(block(p, x) ** 2))(p)
    return loss, jax.tree.map(lambda a, b: a - 0.1 * b, p, g)


case("transformer_block", block, weights, tokens, tolerance=4e-6)
case("transformer_step", block_step, weights, tokens, tolerance=1e-5)
case("transformer_step_sharded", block_step, weights, tokens, in_shardings=(block_shardings, P("a")),
     out_shardings=(P(), block_shardings), tolerance=1e-5)
stacked = jax.tree.map(lambda w: np.stack([w, w * 0.5, w * 0.8]), weights)
case("transformer_scan_step", lambda p, x: jax.grad(lambda p: jnp.mean(lax.scan(lambda x, p: (block(p, x), None), x, p)[0] ** 2))(p),
     stacked, tokens, tolerance=2e-5)


def lstm(p, x):
    def cell(carry, row):
        h, c = carry
        i, f, g, o = jnp.split(row @ p["wx"] + h @ p["wh"] + p["b"], 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zeros = jnp.zeros((x.shape[1], p["wh"].shape[0]))
    return lax.scan(cell, (zeros, zeros), x)[1]


lstm_params = {"wx": normal(5, 24) * 0.5, "wh": normal(6, 24) * 0.5, "b": normal(24)}
case("lstm", lstm, lstm_params, normal(7, 3, 5), tolerance=4e-6)
case("lstm_gradient", lambda p, x: jax.grad(lambda p: jnp.sum(lstm(p, x) ** 2))(p), lstm_params, normal(7, 3, 5), tolerance=1e-5)


def cnn(p, x):
    h = jax.nn.relu(lax.conv_general_dilated(x, p["k1"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
    h = lax.reduce_window(h, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return h.reshape(h.shape[0], -1) @ p["w"]


cnn_params = {"k1": normal(3, 3, 1, 4), "w": normal(64, 5) * 0.2}
case("cnn_step", lambda p, x, y: jax.value_and_grad(lambda p: cross_entropy(cnn(p, x), y))(p), cnn_params, normal(6, 8, 8, 1),
     integers(0, 5, 6), tolerance=1e-5)
case("embedding_step", lambda table, i: jax.value_and_grad(lambda t: jnp.sum(t[i] ** 2))(table), normal(20, 6), integers(0, 20, 4, 5))


def experts(p, x):
    gates = jax.nn.softmax(x @ p["router"])
    weights, chosen = lax.top_k(gates, 2)
    hot = jax.nn.one_hot(chosen, gates.shape[-1])
    combine = jnp.einsum("tk,tke->te", weights, hot)
    h = jax.nn.relu(jnp.einsum("td,edf->tef", x, p["up"]))
    return jnp.einsum("tef,efd,te->td", h, p["down"], combine)


case("mixture_of_experts", experts, {"router": normal(8, 4), "up": normal(4, 8, 12), "down": normal(4, 12, 8)}, normal(10, 8), tolerance=4e-6)


def decode(cache, k, position, q):
    cache = lax.dynamic_update_slice(cache, k[None], (position, 0, 0))
    scores = jnp.einsum("hd,thd->ht", q, cache)
    scores = jnp.where(jnp.arange(cache.shape[0]) <= position, scores, -jnp.inf)
    return cache, jnp.einsum("ht,thd->hd", jax.nn.softmax(scores), cache)


case("key_value_cache", decode, normal(10, 3, 4), normal(3, 4), np.int32(6), normal(3, 4), donate_argnums=(0,))
case("batched_norms", jax.vmap(lambda a: a / jnp.linalg.norm(a)), x)
case("hessian", jax.hessian(lambda v: jnp.sum(jnp.tanh(v) ** 3)), normal(5), tolerance=4e-6)
case("linear_regression", lambda w, x, y: lax.fori_loop(0, 20, lambda i, w: w - 0.05 * x.T @ (x @ w - y) / len(y), w),
     np.zeros(16, np.float32), x, normal(24), tolerance=4e-6)
case("k_means", lambda c, x: lax.fori_loop(0, 4, lambda i, c: means(c, x), c), normal(3, 16), x, tolerance=4e-6)


def means(c, x):
    nearest = jnp.argmin(((x[:, None] - c) ** 2).sum(-1), 1)
    hot = jax.nn.one_hot(nearest, len(c))
    return hot.T @ x / jnp.maximum(hot.sum(0)[:, None], 1)
