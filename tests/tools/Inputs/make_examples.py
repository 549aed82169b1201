"""Prints what examples.test expects of the examples, from JAX and scikit-learn.

Run with both in a virtual environment, in the root of the repository: python tests/tools/Inputs/make_examples.py
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.example_libraries import optimizers
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression

images, labels = (np.load(f"examples/data/digits_{name}.npy") for name in ("images", "labels"))
x = jnp.asarray(images) / 16


def cross_entropy(logits, labels):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1)[..., 0]


def train_linear():
    k = jax.random.key(42)
    start = jax.random.normal(k, (10, 1)), jax.random.normal(k, (1,))
    x, y = jax.random.normal(k, (32, 10)), jax.random.normal(k, (32, 1))
    loss = lambda p: jnp.mean((x @ p[0] + p[1] - y) ** 2)
    init, update, get = optimizers.adam(1e-3)
    state, printed = init(start), []
    for epoch in range(10):
        if epoch % 5 == 0:
            printed += [epoch, loss(get(state))]
            print("train_linear: epoch", *printed[-2:])
        state = update(epoch, jax.grad(loss)(get(state)), state)
    print("train_linear:", get(state)[0].ravel(), get(state)[1])
    return {"printed": printed, "p.w": get(state)[0], "p.b": get(state)[1]}


def data_loader():
    data = np.asarray(jax.random.normal(jax.random.key(0), (10000, 784))).astype(np.float64)
    for steps in 1, 312:
        taken = data.reshape(8, 1250, 784)[:, :steps * 4].reshape(-1, 784)
        mean = taken.mean(0)
        print("data_loader:", steps, "steps", mean[:3], mean[-3:], "spread", mean.var())
    return {"step": steps, "mean": mean, "spread": mean.var()}


def monte_carlo_pi():
    n, count = 1000003, 0
    for i in range(20):
        kx, ky = jax.random.split(jax.random.fold_in(jax.random.key(2026), i))
        x, y = jax.random.uniform(kx, (n,)), jax.random.uniform(ky, (n,))
        count += int((x * x + y * y < 1).sum())
    print("monte_carlo_pi:", count, 4 * count / (20 * n))
    return {"pi": 4 * count / (20 * n), "count": count}


def pagerank():
    pages, links, damping = 1000, 10, 0.85
    start = jnp.arange(pages * links) // links
    to = (pages * jax.random.uniform(jax.random.key(7), (pages * links,)) ** 2).astype(jnp.int32)
    rank, moved, steps = jnp.ones(pages) / pages, 1.0, 0
    while moved > 1e-6:
        following = damping * jnp.zeros(pages).at[to].add(rank[start] / links) + (1 - damping) / pages
        rank, moved, steps = following, jnp.abs(following - rank).sum(), steps + 1
    ranks, first = jax.lax.top_k(rank, 5)
    print("pagerank:", ranks, first, steps)
    return {"pages": first, "ranks": ranks, "steps": steps}


def model_replicas():
    def loss(w):
        logits = jnp.einsum("nf,mfc->mnc", x, w)
        return cross_entropy(logits, jnp.broadcast_to(labels, (2, 1797))).mean(1).sum()
    w = 0.1 * jax.random.normal(jax.random.key(0), (2, 64, 10))
    w = jax.lax.fori_loop(0, 100, lambda i, w: w - jax.grad(loss)(w), w)
    votes = jax.nn.softmax(jnp.einsum("nf,mfc->mnc", x, w)).sum(0)
    accuracy = (votes.argmax(1) == labels).mean()
    print("model_replicas:", loss(w) / 2, accuracy)
    return {"error": loss(w) / 2, "accuracy": accuracy}


def digits_mlp():
    held_out = np.arange(1797) % 5 == 4
    logits = lambda p: jnp.tanh(x @ (p[0] * 0.2) + p[1]) @ (p[2] * 0.2) + p[3]
    loss = lambda p: cross_entropy(logits(p), labels)[~held_out].mean()
    normal = lambda seed, shape: jax.random.normal(jax.random.key(seed), shape)
    start = normal(0, (64, 64)), jnp.zeros(64), normal(1, (64, 10)), jnp.zeros(10)
    step = jax.jit(lambda p: jax.tree.map(lambda p, g: p - 4.0 * g, p, jax.grad(loss)(p)))
    p = start
    for i in range(1200):
        if i in (0, 9, 1199):
            right = (logits(p).argmax(1) == labels)[held_out]
            error = loss(p)
            print("digits_mlp: call", i + 1, "error", error, "accuracy", right.mean(), right.sum(), "of", right.size)
        p = step(p)
    return {"error": error, "accuracy": right.mean()}


def least_squares():
    data = load_diabetes()
    x, y = data.data.astype(np.float32).astype(np.float64), data.target
    model = LinearRegression().fit(x, y)
    print("least_squares:", model.coef_, model.intercept_, model.score(x, y))
    return {"coefficients": model.coef_, "intercept": model.intercept_, "r2": model.score(x, y)}


def char_transformer(layers):
    characters, batch, context, width, heads = 76, 16, 64, 64, 4
    text = jnp.asarray(np.load("examples/data/gpl3.npy"))
    block = {"norm1": (width,), "qkv": (3, width, heads, width // heads), "out": (heads, width // heads, width),
             "norm2": (width,), "up": (width, 4 * width), "down": (4 * width, width)}
    shapes = {"embedding": (characters, width), "position": (context, width), "norm": (width,), "layers": [block] * layers}
    p = jax.tree.map(lambda s: jax.random.normal(jax.random.key(0), s), shapes, is_leaf=lambda s: isinstance(s, tuple))
    rms_norm = lambda x, scale: x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * scale

    def loss(p, tokens, following):
        p = jax.tree.map(lambda a: 0.1 * a, p)
        x = p["embedding"][tokens] + p["position"]
        for layer in p["layers"]:
            q, k, v = jnp.einsum("btd,cdhk->cbhtk", rms_norm(x, 1 + layer["norm1"]), layer["qkv"])
            scores = q @ k.mT / (width // heads) ** 0.5
            seen = jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((context, context))) > 0, scores, -jnp.inf)) @ v
            x = x + jnp.einsum("bhtk,hkd->btd", seen, layer["out"])
            x = x + jax.nn.gelu(rms_norm(x, 1 + layer["norm2"]) @ layer["up"]) @ layer["down"]
        return cross_entropy(rms_norm(x, 1 + p["norm"]) @ p["embedding"].T, following).mean()

    init, update, get = optimizers.adam(0.01)
    state, losses = init(p), []
    gradient = jax.jit(jax.value_and_grad(loss))
    for step in range(20):
        start = jax.random.randint(jax.random.fold_in(jax.random.key(0), step), (batch,), 0, text.size - context)
        window = text[start[:, None] + jnp.arange(context + 1)]
        error, g = gradient(get(state), window[:, :-1], window[:, 1:])
        losses.append(float(error))
        state = update(step, g, state)
    print(f"layers_{layers}:", *(f"{error:.6f}" for error in losses))
    return losses


if __name__ == "__main__":
    for part in (train_linear, data_loader, model_replicas, digits_mlp, least_squares, monte_carlo_pi, pagerank):
        part()
    for layers in 1, 2, 12:
        char_transformer(layers)
