"""Loops of the global program."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from gradients.cases import case, integers, loop, normal

case("recurrence", """
fn f(w, b, x) {
  let h = for i in 0..5 carry (h = x) { yield tanh(h @ w + b) + 0.1 * cast(i, f32); };
  return sum(h * h);
}
fn main(w: f32[6, 6@b], b: f32[6], x: f32[7@a, 6]) { return value_and_grad(f, wrt=(0, 1, 2))(w, b, x); }
""", jax.value_and_grad(lambda w, b, x: jnp.sum(loop(
    0, 5, lambda i, h: jnp.tanh(h @ w + b) + 0.1 * i.astype(jnp.float32), x) ** 2), (0, 1, 2)),
     [normal(6, 6) / 2, normal(6), normal(7, 6)])

case("carries", """
// An integer carry, an unused carry, a carry that is passed on, and a carry that swaps.
fn f(x, y) {
  let (p, q, n, unused, same) = for i in 2..6 carry (p = x, q = y, n = 0, unused = x, same = y) {
    yield (q * sin(p), p + same, n + i, unused * 2.0, same);
  };
  return sum(p * q) * cast(n, f32);
}
fn main(x: f32[5, 3@b], y: f32[5@a, 3]) { return grad(f, wrt=(0, 1))(x, y); }
""", jax.grad(lambda x, y: (lambda r: jnp.sum(r[0] * r[1]) * r[2].astype(jnp.float32))(loop(
    2, 6, lambda i, c: (c[1] * jnp.sin(c[0]), c[0] + y, c[2] + i), (x, y, jnp.int32(0)))), (0, 1)),
     [normal(5, 3), normal(5, 3)])


def nested(x, w):
    def outer(i, h):
        inner = loop(0, 3, lambda j, g: jnp.sin(g * w[j]) + h * 0.5, h)
        return inner + w[i] * h
    return jnp.sum(loop(0, 4, outer, x) ** 2)


case("nested", """
fn f(x, w) {
  let r = for i in 0..4 carry (h = x) {
    let inner = for j in 0..3 carry (g = h) { yield sin(g * w[j]) + h * 0.5; };
    yield inner + w[i] * h;
  };
  return sum(r * r);
}
fn main(x: f32[6@a, 5], w: f32[4, 5@b]) { return grad(f, wrt=(0, 1))(x, w); }
""", jax.grad(nested, (0, 1)), [normal(6, 5), normal(4, 5)])

case("layers", """
// One body for all layers; each has its own slice of the parameters.
struct Block { w: f32[3, 6, 6], b: f32[3, 6] }
fn f(p: Block, x: f32[8, 6]) {
  let h = for i in 0..3 carry (h = x) { yield h + tanh(h @ p.w[i] + p.b[i]); };
  return mean(h ** 2);
}
fn main(w: f32[3, 6, 6@b], b: f32[3, 6], x: f32[8@a, 6]) { return value_and_grad(f)(Block { w: w, b: b }, x); }
""", lambda w, b, x: jax.value_and_grad(lambda w, b: jnp.mean(loop(
    0, 3, lambda i, h: h + jnp.tanh(h @ w[i] + b[i]), x) ** 2), (0, 1))(w, b),
     [normal(3, 6, 6) / 2, normal(3, 6), normal(8, 6)])

case("stacked", """
// Rows written and read back at run-time indices.
fn f(x) {
  let rows = for i in 0..4 carry (rows = zeros(f32[4, 6])) { yield update(rows, expand_dims(sin(x * cast(i + 1, f32)), 0), start=[i, 0]); };
  let r = for i in 0..4 carry (r = x) { yield r * rows[3 - i] + rows[i]; };
  return sum(r);
}
fn main(x: f32[6@a]) { return grad(f)(x); }
""", jax.grad(lambda x: jnp.sum(loop(0, 4, lambda i, r: r * (rows := loop(
         0, 4, lambda i, rows: lax.dynamic_update_slice(rows, jnp.sin(x * (i + 1).astype(jnp.float32))[None], (i, 0)),
         jnp.zeros((4, 6))))[3 - i] + rows[i], x))), [normal(6)])

case("few_trips", """
fn f(x) {
  let none = for i in 3..3 carry (h = x) { yield h * 100.0; };
  let one = for i in 3..4 carry (h = none) { yield h * h * cast(i, f32); };
  return sum(one * x);
}
fn main(x: f32[7@a]) { return grad(f)(x); }
""", jax.grad(lambda x: jnp.sum(3 * x ** 3)), [normal(7)])

case("checkpointed", """
fn step(h, w) { return tanh(sin(h @ w) * h); }
fn f(w, x) {
  let h = for i in 0..6 carry (h = x) { yield checkpoint(step)(h, w); };
  return sum(h * h);
}
fn g(w, x) { return sum(for i in 0..2 carry (h = x) { yield checkpoint(twice)(h, w); }); }
fn twice(h, w) { return for j in 0..3 carry (h = h) { yield step(h, w); }; }
fn main(w: f32[5, 5], x: f32[4@a, 5@b]) { return (grad(f, wrt=(0, 1))(w, x), grad(g, wrt=(0, 1))(w, x)); }
""", lambda w, x: (lambda many: (
    jax.grad(lambda w, x: jnp.sum(many(w, x) ** 2), (0, 1))(w, x), jax.grad(lambda w, x: jnp.sum(many(w, x)), (0, 1))(w, x)))(
        lambda w, x: loop(0, 6, lambda i, h: jnp.tanh(jnp.sin(h @ w) * h), x)), [normal(5, 5), normal(4, 5)])


def unrolled(x, v):
    return jnp.sum(loop(0, 4, lambda i, h: jnp.sin(h) * x + h * v[i], x) ** 2)


case("second_order", """
fn f(x, v) { let h = for i in 0..4 carry (h = x) { yield sin(h) * x + h * v[i]; }; return sum(h * h); }
fn slope(x, v) { let (gx, gv) = grad(f, wrt=(0, 1))(x, v); return sum(gx * gx) + sum(gv * gv * gv); }
fn main(x: f32[5@a], v: f32[4]) { return (grad(slope, wrt=(0, 1))(x, v), slope(x, v)); }
""", lambda x, v: (lambda slope: (jax.grad(slope, (0, 1))(x, v), slope(x, v)))(
    lambda x, v: (lambda g: jnp.sum(g[0] ** 2) + jnp.sum(g[1] ** 3))(jax.grad(unrolled, (0, 1))(x, v))),
     [normal(5), normal(4)], tolerance=2e-5)


def trained(rate, w, x, y):
    loss = lambda w: jnp.mean((jnp.tanh(x @ w) - y) ** 2)
    return loss(loop(0, 5, lambda i, w: w - rate * jax.grad(loss)(w), w))


case("through_training", """
// The derivative of the result of a loop of gradient steps.
fn loss(w, x, y) { return mean((tanh(x @ w) - y) ** 2); }
fn f(rate, w, x, y) {
  let last = for i in 0..5 carry (w = w) { yield w - rate * grad(loss)(w, x, y); };
  return loss(last, x, y);
}
fn main(rate: f32, w: f32[4], x: f32[9@a, 4], y: f32[9]) { return value_and_grad(f, wrt=(0, 1))(rate, w, x, y); }
""", jax.value_and_grad(trained, (0, 1)), [np.float32(0.3), normal(4), normal(9, 4), normal(9)], tolerance=1e-5)

case("embedded", """
// Rows are looked up at carried indices; the table's gradient is scattered.
fn f(table, first) {
  let (s, i) = for k in 0..4 carry (s = 0.0, i = first) {
    let rows = take(table, i, axis=0);
    yield (s + sum(sin(rows) * cast(k + 1, f32)), (i * 3 + 1) % 7);
  };
  return s;
}
fn main(table: f32[7@a, 5@b], first: i32[6]) { return grad(f)(table, first); }
""", lambda table, first: jax.grad(lambda t: loop(0, 4, lambda k, c: (
    c[0] + jnp.sum(jnp.sin(t[c[1]]) * (k + 1).astype(jnp.float32)), (c[1] * 3 + 1) % 7), (jnp.float32(0), first))[0])(table),
     [normal(7, 5), integers(0, 7, 6)])

case("many_trips", """
// Memory grows with the number of iterations, the program does not.
fn f(x) { return for i in 0..1000000 carry (h = x) { yield h + (sin(h) - h) * 1e-6; }; }
fn main(x: f32) { return grad(f)(x); }
""", jax.grad(lambda x: loop(0, 1000000, lambda i, h: h + (jnp.sin(h) - h) * 1e-6, x)), [np.float32(0.7)],
     meshes=((1, 1), (4, 2)))
