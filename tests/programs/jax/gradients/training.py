"""Gradients through optimizers, losses and other functions of the prelude."""

import jax
import jax.numpy as jnp
import numpy as np

from gradients.cases import case, integers, normal


def tree(function, *trees):
    return jax.tree.map(function, *trees)


def global_norm(g):
    return jnp.sqrt(sum(jnp.sum(leaf * leaf) for leaf in jax.tree.leaves(g)))


def clipped(g, norm):
    own = global_norm(g)
    return tree(lambda leaf: jnp.where(own < norm, leaf, leaf * (norm / own)), g)


def mlp_loss(p, x, y):
    return jnp.mean((jnp.tanh(x @ p["w"] + p["b"]) @ p["v"] - y) ** 2)


def adam_step(p, m, v, g, step, lr, b1, b2, eps=1e-8):
    m = tree(lambda m, g: b1 * m + (1 - b1) * g, m, g)
    v = tree(lambda v, g: b2 * v + (1 - b2) * g ** 2, v, g)
    p = tree(lambda p, m, v: p - lr * (m / (1 - b1 ** (step + 1))) / (jnp.sqrt(v / (1 - b2 ** (step + 1))) + eps),
             p, m, v)
    return p, m, v


MLP = """
struct Params { w: f32[6, 5@b], b: f32[5@b], v: f32[5@b] }
fn loss(p, x, y) { return mean((tanh(x @ p.w + p.b) @ p.v - y) ** 2); }
"""
# In the order of the struct's fields.
FIELDS = ("w", "b", "v")
MLP_ARGUMENTS = [normal(6, 5) / 2, normal(5) / 2, normal(5), normal(10, 6), normal(10)]


def fields(p):
    return tuple(p[field] for field in FIELDS)


def learned(after, wrt):
    """Returns gradients of the loss after some steps: by the parameters' fields in order, then by the other arguments."""
    def run(w, b, v, x, y, *others):
        value, (p, *rest) = jax.value_and_grad(
            lambda p, *others: mlp_loss(after(p, x, y, *others), x, y), wrt)(dict(w=w, b=b, v=v), *others)
        return (value, *fields(p), *rest)
    return run


case("meta_sgd", MLP + """
fn after(p, lr, x, y) { return loss(sgd(p, grad(loss)(p, x, y), lr=lr), x, y); }
fn main(p: Params, x: f32[10@a, 6], y: f32[10@a], lr: f32) { return value_and_grad(after, wrt=(0, 1))(p, lr, x, y); }
""", learned(lambda p, x, y, lr: tree(lambda p, g: p - lr * g, p, jax.grad(mlp_loss)(p, x, y)), (0, 1)),
     [*MLP_ARGUMENTS, np.float32(0.3)], tolerance=1e-5)


def momentum_steps(p, x, y, lr, mass):
    v = tree(jnp.zeros_like, p)
    for _ in range(3):
        v = tree(lambda v, g: mass * v + g, v, jax.grad(mlp_loss)(p, x, y))
        p = tree(lambda p, v: p - lr * v, p, v)
    return p


case("meta_momentum", MLP + """
// Three steps in a loop; the backward pass goes through them.
fn after(p, lr, mass, x, y) {
  let (p, v) = for i in 0..3 carry (p = p, v = p * 0.0) {
    yield momentum(p, v, grad(loss)(p, x, y), lr=lr, mass=mass);
  };
  return loss(p, x, y);
}
fn main(p: Params, x: f32[10@a, 6], y: f32[10@a], lr: f32, mass: f32) {
  return value_and_grad(after, wrt=(0, 1, 2))(p, lr, mass, x, y);
}
""", learned(momentum_steps, (0, 1, 2)), [*MLP_ARGUMENTS, np.float32(0.2), np.float32(0.8)], tolerance=2e-5)


def adam_steps(p, x, y, lr, betas):
    m = v = tree(jnp.zeros_like, p)
    for step in range(3):
        p, m, v = adam_step(p, m, v, jax.grad(mlp_loss)(p, x, y), step, lr, betas[0], betas[1])
    return p


case("meta_adam", MLP + """
fn after(p, lr, betas, x, y) {
  let (p, m, v) = for i in 0..3 carry (p = p, m = p * 0.0, v = p * 0.0) {
    yield adam(p, m, v, grad(loss)(p, x, y), i, lr=lr, b1=betas[0], b2=betas[1]);
  };
  return loss(p, x, y);
}
fn main(p: Params, x: f32[10@a, 6], y: f32[10@a], lr: f32, betas: f32[2]) {
  return value_and_grad(after, wrt=(0, 1, 2))(p, lr, betas, x, y);
}
""", learned(adam_steps, (0, 1, 2)), [*MLP_ARGUMENTS, np.float32(0.05), np.array([0.8, 0.9], np.float32)],
     tolerance=1e-4)

for name, norm in (("clipped", 0.1), ("whole", 100.0)):
    case(f"meta_clip_{name}", MLP + """
fn after(p, norm, x, y) { return loss(sgd(p, clip_by_global_norm(grad(loss)(p, x, y), norm), lr=0.4), x, y); }
fn main(p: Params, x: f32[10@a, 6], y: f32[10@a], norm: f32) {
  return value_and_grad(after, wrt=(0, 1))(p, norm, x, y);
}
""", learned(lambda p, x, y, norm: tree(lambda p, g: p - 0.4 * g, p, clipped(jax.grad(mlp_loss)(p, x, y), norm)),
             (0, 1)), [*MLP_ARGUMENTS, np.float32(norm)], tolerance=1e-5)

case("global_norm", """
struct Pair { w: f32[6@a, 5], b: f32[7@b] }
fn main(g: Pair) { return value_and_grad(global_norm)(g); }
""", lambda w, b: (lambda value, g: (value, *g))(*jax.value_and_grad(global_norm)((w, b))), [normal(6, 5), normal(7)])

case("class_numbers", """
fn loss(x, labels) { return sum(cross_entropy(x, labels) ** 2); }
fn main(x: f32[10@a, 6@b], labels: i32[10@a]) { return value_and_grad(loss)(x, labels); }
""", lambda x, labels: jax.value_and_grad(lambda x: jnp.sum(
    jnp.take_along_axis(jax.nn.log_softmax(x), labels[:, None], axis=1) ** 2))(x),
     [normal(10, 6) * 3, integers(0, 6, 10)], tolerance=1e-5)


def causal(q, k, v):
    scores = jnp.where(jnp.tril(jnp.ones((q.shape[-2], k.shape[-2]), bool)), q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5,
                       -jnp.inf)
    return jax.nn.softmax(scores) @ v


case("causal_attention", """
fn loss(q, k, v) { return sum(sin(attention(q, k, v, causal=true))); }
fn main(q: f32[4@a, 7, 6], k: f32[4@a, 7, 6], v: f32[4@a, 7, 6@b]) { return grad(loss, wrt=(0, 1, 2))(q, k, v); }
""", lambda q, k, v: jax.grad(lambda q, k, v: jnp.sum(jnp.sin(causal(q, k, v))), (0, 1, 2))(q, k, v),
     [normal(4, 7, 6), normal(4, 7, 6), normal(4, 7, 6)], tolerance=1e-5)

case("dropped_out", """
fn loss(x) { return sum(dropout(key(7), sin(x), 0.25) * x); }
fn main(x: f32[10@a, 7@b]) { return value_and_grad(loss)(x); }
""", jax.value_and_grad(lambda x: jnp.sum(jnp.where(jax.random.bernoulli(jax.random.key(7), 0.75, x.shape),
                                                    jnp.sin(x) / 0.75, 0.0) * x)), [normal(10, 7)], tolerance=1e-5)
