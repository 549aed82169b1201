"""Writes control.json: the results of JAX's loops and branches for the programs below.

Run with JAX 0.10 in a virtual environment: python make_control.py
Each case: a program of the language (its mesh line is put before it), the same in Python, arguments, and meshes.
"""

import json
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

rng = np.random.default_rng(29)


def normal(*shape):
    return rng.normal(size=shape).astype(np.float32)


CASES = []


def case(name, text, function, arguments, meshes=((4, 2), (3, 2), (1, 8), (1, 1)), tolerance=4e-6):
    results = jax.jit(function)(*arguments)
    for sizes in meshes:
        CASES.append({
            "name": f"{name}_{sizes[0]}x{sizes[1]}",
            "program": f"mesh m(a={sizes[0]}, b={sizes[1]})\n{text}",
            "arguments": [encode(x) for x in arguments],
            "results": [encode(x) for x in jax.tree.leaves(results)],
            "tolerance": tolerance,
        })


def encode(x):
    x = np.asarray(x)
    dtype = {"float32": "f32", "int32": "i32", "bool": "bool"}[x.dtype.name]
    # The shortest text that rounds to the same f32; NaN and infinities as text.
    number = lambda v: float(str(v)) if np.isfinite(v) else str(v)
    values = [number(v) for v in x.ravel()] if dtype == "f32" else x.astype(int).ravel().tolist()
    return {"dtype": dtype, "shape": list(x.shape), "values": values}


def fori(low, high, body, init):
    return lax.fori_loop(low, high, body, init)


case("counter", """
fn main(x: f32[6@a, 5@b]) {
  return for i in 3..9 carry (x = x) { yield x * 0.5 + i; };
}
""", lambda x: fori(3, 9, lambda i, x: x * 0.5 + i, x), [normal(6, 5)])

case("literal_carries_take_the_yielded_type", """
fn main(x: f32[7@a]) {
  let (s, n, best) = for i in 0..5 carry (s = 0, n = 0, best = 1) {
    yield (s + sum(x) * i, n + 1, max(best, max(x)));
  };
  return (s, n, best);
}
""", lambda x: fori(0, 5, lambda i, c: (c[0] + jnp.sum(x) * i, c[1] + 1, jnp.maximum(c[2], jnp.max(x))),
                    (jnp.float32(0), jnp.int32(0), jnp.float32(1))), [normal(7)])

case("carries_change_places", """
fn main(x: f32[5@a, 4], y: f32[5, 4@b]) {
  let (u, v, w) = for i in 0..7 carry (u = x, v = y, w = x + y) { yield (v, w, u + 0.25 * v); };
  return (u, v, w);
}
""", lambda x, y: fori(0, 7, lambda i, c: (c[1], c[2], c[0] + 0.25 * c[1]), (x, y, x + y)), [normal(5, 4), normal(5, 4)])

case("swap_only", """
fn main(x: f32[8@a], y: f32[8@a]) {
  let (u, v) = for i in 0..1001 carry (u = x, v = y) { yield (v, u); };
  return (u, v);
}
""", lambda x, y: fori(0, 1001, lambda i, c: (c[1], c[0]), (x, y)), [normal(8), normal(8)])

case("one_value_for_two_carries", """
fn main(x: f32[6@a]) {
  let (u, v) = for i in 0..3 carry (u = x, v = x) { let w = u * v + 1.0; yield (w, w); };
  return (u, v);
}
""", lambda x: fori(0, 3, lambda i, c: (c[0] * c[1] + 1, c[0] * c[1] + 1), (x, x)), [normal(6) * 0.5])

case("zero_trips", """
fn main(x: f32[6@a]) {
  let y = for i in 5..5 carry (y = x) { yield y * 2.0; };
  let z = for i in 5..2 carry (z = x + 1.0) { yield z * 2.0; };
  let w = while false carry (w = x) { yield w + 1.0; };
  let v = while sum(v) < -1e30 carry (v = x) { yield v + 1.0; };
  return (y, z, w, v);
}
""", lambda x: (x, x + 1, x, x), [normal(6)])

case("nested", """
fn main(x: f32[4@a, 6@b]) {
  return for i in 0..3 carry (x = x) {
    let y = for j in 0..4 carry (y = x * 0.5) { yield y + x * 0.125 + i * j; };
    yield sin(y) + x;
  };
}
""", lambda x: fori(0, 3, lambda i, x: jnp.sin(fori(0, 4, lambda j, y: y + x * 0.125 + i * j, x * 0.5)) + x, x),
     [normal(4, 6)])

case("power_iteration", """
fn main(m: f32[12@a, 12@b]) {
  let v = for i in 0..20 carry (v = ones(f32[12]) / sqrt(12.0)) { let w = m @ v; yield w / sqrt(sum(w * w)); };
  return (v, v @ (m @ v));
}
""", lambda m: (lambda v: (v, v @ (m @ v)))(
    fori(0, 20, lambda i, v: (lambda w: w / jnp.sqrt(jnp.sum(w * w)))(m @ v), jnp.ones(12, jnp.float32) / np.sqrt(np.float32(12)))),
     [(lambda m: m @ m.T / 12 + 3 * np.outer(np.ones(12), np.ones(12)).astype(np.float32))(normal(12, 12))],
     tolerance=2e-5)

case("the_carry_lies_otherwise_than_its_start", """
fn main(x: f32[8@a, 6]) -> f32[8, 6@b] {
  return for i in 0..4 carry (x = x) { let h: f32[8, 6@b] = x * 0.5; yield h + sum(x, axis=0); };
}
""", lambda x: fori(0, 4, lambda i, x: x * 0.5 + jnp.sum(x, axis=0), x), [normal(8, 6)])

case("transposed_every_time", """
fn main(x: f32[6@a, 6@b]) {
  return for i in 0..5 carry (x = x) { yield shard(x.T, P(a, b)) * 0.9 + x * 0.1; };
}
""", lambda x: fori(0, 5, lambda i, x: x.T * np.float32(0.9) + x * np.float32(0.1), x), [normal(6, 6)])

case("while_reduces_over_devices", """
fn main(x: f32[10@(a, b)]) {
  let (y, n) = while max(abs(y)) > 1e-3 carry (y = x, n = 0) { yield (y - mean(y) - 0.25 * y, n + 1); };
  return (y, n);
}
""", lambda x: lax.while_loop(lambda c: jnp.max(jnp.abs(c[0])) > 1e-3,
                              lambda c: (c[0] - jnp.mean(c[0]) - 0.25 * c[0], c[1] + 1), (x, jnp.int32(0))),
     [normal(10)], tolerance=2e-3)

case("a_nan_ends_a_while", """
fn main(x: f32[5@a]) {
  let (s, n) = while s < 1e30 carry (s = sum(x), n = 0) { yield (s * s * s + sqrt(1.5 - n), n + 1); };
  let m = while !(t >= 10.0) carry (t = sum(x) - sum(x) + nan, m = 0) { yield (10.0, m + 1); };
  return (s, n, m);
}
""", lambda x: (lambda c: (c[0], c[1], (jnp.float32(10), jnp.int32(1))))(
    lax.while_loop(lambda c: c[0] < 1e30, lambda c: (c[0] ** 3 + jnp.sqrt(1.5 - c[1]), c[1] + 1),
                   (jnp.sum(x), jnp.int32(0)))), [normal(5) * 0.1])

case("while_within_for_within_if", """
fn main(x: f32[9@a], limit: f32) {
  return if limit > 0.0 {
    for i in 0..3 carry (x = x) {
      while sum(y * y) > limit carry (y = x + i) { yield y * 0.5; }
    }
  } else {
    x - limit
  };
}
""".replace("for i in 0..3 carry (x = x) {\n      while", "for i in 0..3 carry (x = x) {\n      yield while")
   .replace("yield y * 0.5; }\n", "yield y * 0.5; };\n"),
     lambda x, limit: lax.cond(
         limit > 0, lambda: fori(0, 3, lambda i, x: lax.while_loop(lambda y: jnp.sum(y * y) > limit, lambda y: y * 0.5,
                                                                   x + i), x), lambda: x - limit),
     [normal(9), np.float32(0.75)])

for limit in (0.5, -0.5):
    case(f"if_{'then' if limit > 0 else 'else'}", """
fn main(x: f32[9@a, 4], y: f32[9, 4@b], limit: f32) {
  let (u, v) = if limit > 0.0 { (x + y, sum(x)) } else { let t = x * y; (t, 3) };
  return (u, v);
}
""", lambda x, y, limit: lax.cond(limit > 0, lambda: (x + y, jnp.sum(x)), lambda: (x * y, jnp.float32(3))),
         [normal(9, 4), normal(9, 4), np.float32(limit)])

case("if_updates_a_carry_in_place", """
fn main(x: f32[8@a]) {
  let (x, n) = for i in 0..10 carry (x = x, n = 0) {
    let big = max(abs(x)) > 2.0;
    yield if big { (x * 0.25, n + 1) } else { (x * 1.5, n) };
  };
  return (x, n);
}
""", lambda x: fori(0, 10, lambda i, c: lax.cond(jnp.max(jnp.abs(c[0])) > 2, lambda: (c[0] * 0.25, c[1] + 1),
                                                lambda: (c[0] * 1.5, c[1])), (x, jnp.int32(0))), [normal(8)])

case("if_with_equal_arms", """
fn main(x: f32[8@a], c: bool) {
  let (u, v) = if c { (x, x) } else { (x * 2.0, x) };
  let w = if !c { 1.0 } else { 2 };
  return (u + v, w);
}
""", lambda x, c: (jnp.where(c, x + x, x * 2 + x), jnp.where(c, jnp.float32(2), jnp.float32(1))),
     [normal(8), np.bool_(True)])

case("structs_are_carried", """
struct Layer { w: f32[6, 4@b], b: f32[4] }
fn main(x: f32[5@a, 6], w: f32[6, 4]) {
  let start = Layer { w: w, b: zeros([4]) };
  let (p, (loss, n)) = for i in 0..6 carry (p = start, q = (0.0, 0)) {
    let h = tanh(x @ p.w + p.b);
    yield (p - 0.1 * Layer { w: x.T @ h, b: sum(h, axis=0) }, (sum(h * h), q[1] + 1));
  };
  return (p.w, p.b, loss, n);
}
""", lambda x, w: (lambda c: (c[0][0], c[0][1], c[1], c[2]))(
    fori(0, 6, lambda i, c: (lambda h: ((c[0][0] - 0.1 * (x.T @ h), c[0][1] - 0.1 * jnp.sum(h, axis=0)),
                                        jnp.sum(h * h), c[2] + 1))(jnp.tanh(x @ c[0][0] + c[0][1])),
         ((w, jnp.zeros(4, jnp.float32)), jnp.float32(0), jnp.int32(0)))), [normal(5, 6), normal(6, 4) * 0.3],
     tolerance=2e-5)

case("a_loop_of_many_trips", """
fn main(x: f32) { return for i in 0..100000 carry (x = x) { yield x * 0.999 + 1.0; }; }
""", lambda x: fori(0, 100000, lambda i, x: x * np.float32(0.999) + 1, x), [np.float32(3)], meshes=((1, 1), (2, 1)),
     tolerance=1e-4)

case("what_is_outside_is_read_in_each_trip", """
fn main(x: f32[6@a, 4], w: f32[4, 4@b]) {
  let z = exp(x);
  return for i in 0..3 carry (y = x) { yield tanh(y @ w) + z * x; };
}
""", lambda x, w: fori(0, 3, lambda i, y: jnp.tanh(y @ w) + jnp.exp(x) * x, x), [normal(6, 4), normal(4, 4)],
     tolerance=1e-5)

case("cumulative_and_extremes_in_a_loop", """
fn main(x: f32[11@a]) {
  let (x, k) = for i in 0..4 carry (x = x, k = 0) { let c = cumsum(x); yield (c - mean(c), k + argmax(c)); };
  return (x, k);
}
""", lambda x: fori(0, 4, lambda i, c: (lambda s: (s - jnp.mean(s), c[1] + jnp.argmax(s).astype(jnp.int32)))(
    jnp.cumsum(c[0])), (x, jnp.int32(0))), [normal(11)], tolerance=2e-5)

case("shard_map_in_a_loop", """
fn step(x) { return x + 0.5 * ppermute(x, a, [(0, 1), (1, 0)]) - 0.25 * psum(x, b); }
fn main(x: f32[8@a, 4@b]) {
  return for i in 0..5 carry (x = x) { yield shard_map(step, in=P(a, b), out=P(a, b))(x); };
}
""", lambda x: fori(0, 5, lambda i, x: x + 0.5 * jnp.concatenate([x[4:], x[:4]]) -
                    0.25 * jnp.tile(x[:, :2] + x[:, 2:], (1, 2)), x), [normal(8, 4)], meshes=((2, 2),))

case("a_loop_in_shard_map", """
fn local(x) {
  return for i in 0..4 carry (x = x) { yield x * 0.5 + pmean(x, a) + if i > 1 { 1.0 } else { 0.0 }; };
}
fn main(x: f32[8@a, 4@b]) { return shard_map(local, in=P(a, b), out=P(a, b))(x); }
""", lambda x: fori(0, 4, lambda i, x: x * 0.5 + jnp.tile((x[:4] + x[4:]) * 0.5, (2, 1)) + jnp.where(i > 1, 1.0, 0.0),
                    x), [normal(8, 4)], meshes=((2, 2), (2, 1)))

path = pathlib.Path(__file__).with_name("control.json")
path.write_text("[\n" + ",\n".join(json.dumps(c) for c in CASES) + "\n]\n")
