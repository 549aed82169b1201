"""Branches of the global program, and loops that stop at a condition."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from gradients.cases import case, loop, normal


def branching(x, w):
    y = lax.cond(jnp.sum(x) > 0, lambda: jnp.sin(x) * w, lambda: (x * x) * x)
    z = lax.cond(y[0] > 0.1, lambda: lax.cond(x[1] > 0, lambda: y * w, lambda: -y), lambda: jnp.cos(w))
    return jnp.sum(z * y)


for sign in (1, -1):
    case("branches" if sign > 0 else "other_branches", """
fn f(x, w) {
  let y = if sum(x) > 0.0 { sin(x) * w } else { let s = x * x; s * x };
  let z = if y[0] > 0.1 { if x[1] > 0.0 { y * w } else { -y } } else { cos(w) };
  return sum(z * y);
}
fn main(x: f32[6@a], w: f32[6@b]) { return grad(f, wrt=(0, 1))(x, w); }
""", jax.grad(branching, (0, 1)), [sign * np.abs(normal(6)), normal(6)])


def wandering(x, w):
    def body(i, h):
        h = lax.cond(i % 2 == 0, lambda: jnp.tanh(h * w), lambda: h + w)
        return lax.cond(jnp.sum(h) > 1, lambda: h * 0.5, lambda: h * jnp.exp(w * 0.1))
    return jnp.sum(loop(0, 6, body, x) ** 2)


case("branches_in_loop", """
fn f(x, w) {
  let r = for i in 0..6 carry (h = x) {
    let g = if i % 2 == 0 { tanh(h * w) } else { h + w };
    yield if sum(g) > 1.0 { g * 0.5 } else { g * exp(w * 0.1) };
  };
  return sum(r * r);
}
fn main(x: f32[5@a], w: f32[5]) {
  return (grad(f, wrt=(0, 1))(x, w), grad(second, wrt=(0, 1))(x, w));
}
fn second(x, w) { let (p, q) = grad(f, wrt=(0, 1))(x, w); return sum(p * p) + sum(q); }
""", lambda x, w: (jax.grad(wandering, (0, 1))(x, w), jax.grad(
    lambda x, w: (lambda g: jnp.sum(g[0] ** 2) + jnp.sum(g[1]))(jax.grad(wandering, (0, 1))(x, w)), (0, 1))(x, w)),
     [normal(5), normal(5)], tolerance=1e-5)

case("loop_in_branch", """
fn f(x, n) {
  return sum(if n > 2 { for i in 0..4 carry (h = x) { yield h * sin(x); } } else { x });
}
fn main(x: f32[7@a], n: i32) { return grad(f)(x, n); }
""", lambda x, n: jax.grad(lambda x: jnp.sum(x * jnp.sin(x) ** 4))(x), [normal(7), np.int32(3)])

case("while_beside", """
// The result of a while loop that does not depend on differentiated values is a constant to the derivative.
fn f(x, limit) {
  let (n, s) = while n < limit carry (n = 0, s = 1.0) { yield (n + 1, s * 1.5); };
  let stopped = stop_gradient(x);
  let t = while sum(t) < 10.0 carry (t = abs(stopped) + 0.1) { yield t * 2.0; };
  return sum(x * x * s * t);
}
fn main(x: f32[6@a], limit: i32) { return grad(f)(x, limit); }
""", lambda x, limit: jax.grad(lambda x: jnp.sum(x * x * 1.5 ** limit.astype(jnp.float32) * lax.stop_gradient(
    lax.while_loop(lambda t: jnp.sum(t) < 10, lambda t: t * 2, jnp.abs(lax.stop_gradient(x)) + 0.1))))(x),
     [normal(6), np.int32(4)])
