"""Writes indexing.json: JAX's results for run-time indices, sorts and random numbers, and for gradients through them.

Run with JAX 0.10 in a virtual environment: python make_indexing.py
Each case: a program of the language (its mesh line is put before it), the same in Python, arguments, and meshes, the
second of which divides no dimension.
"""

import json
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

rng = np.random.default_rng(31)


def normal(*shape):
    return rng.normal(size=shape).astype(np.float32)


def integers(low, high, *shape):
    return rng.integers(low, high, size=shape).astype(np.int32)


CASES = []


def case(name, text, function, arguments, meshes=((4, 2), (3, 2), (1, 8), (1, 1)), tolerance=2e-6):
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
    dtype = {"float32": "f32", "int32": "i32", "uint32": "u32", "int8": "i8", "uint8": "u8", "bool": "bool"}[x.dtype.name]
    # The shortest text that rounds to the same f32; NaN and infinities as text.
    number = lambda v: float(str(v)) if np.isfinite(v) else str(v)
    values = [number(v) for v in x.ravel()] if dtype == "f32" else x.astype(int).ravel().tolist()
    return {"dtype": dtype, "shape": list(x.shape), "values": values}


# Indices in bounds, negative, and out of bounds on either side.
case("integers", """
fn main(x: f32[7@a, 5@b], i: i32[4]) {
  return (x[i[0]], x[:, i[1]], x[i[2], i[3]], x[i[3], 1:4], x[2, i[0]], x[..., i[0], None]);
}
""", lambda x, i: (x[i[0]], x[:, i[1]], x[i[2], i[3]], x[i[3], 1:4], x[2, i[0]], x[..., i[0], None]),
     [normal(7, 5), np.array([3, -2, -100, 100], np.int32)])

case("arrays_of_integers", """
fn main(x: f32[7@a, 5@b, 6], i: i32[3, 4@a], j: i32[4]) {
  return (x[i], x[:, i], x[..., j], x[i, 1], x[2, i, :], x[1, :, j], x[j, :, -2], x[i, j], x[i, :, j], x[j, j, j],
          x[j[0], :, j], x[j[1], j], x[::-2, j, None, 1]);
}
""", lambda x, i, j: (x[i], x[:, i], x[..., j], x[i, 1], x[2, i, :], x[1, :, j], x[j, :, -2], x[i, j], x[i, :, j],
                      x[j, j, j], x[j[0], :, j], x[j[1], j], x[::-2, j, None, 1]),
     [normal(7, 5, 6), integers(-9, 9, 3, 4), np.array([0, -1, 4, 77], np.int32)])

case("indices_of_other_types", """
fn main(x: f32[7@a], i: u8[3], j: i8[3], k: u32[3]) { return (x[i], x[j], x[k], take(x, k), take(x, j)); }
""", lambda x, i, j, k: (x[i], x[j], x[k], jnp.take(x, k), jnp.take(x, j)),
     [normal(7), np.array([0, 6, 200], np.uint8), np.array([-1, -8, 127], np.int8),
      np.array([3, 7, 2**31 - 1], np.uint32)])

case("take", """
fn main(x: f32[7@a, 5@b], n: i32[9@b, 3], i: i32[2, 6@b], s: i32[]) {
  return (take(x, i), take(x, i, axis=0), take(x, i, axis=-1), take(x, s, axis=1), take(n, i, axis=0),
          take(n > 3, i, axis=0));
}
""", lambda x, n, i, s: (jnp.take(x, i), jnp.take(x, i, axis=0), jnp.take(x, i, axis=-1), jnp.take(x, s, axis=1),
                         jnp.take(n, i, axis=0), jnp.take(n > 3, i, axis=0)),
     [normal(7, 5), integers(-99, 99, 9, 3), integers(-11, 11, 2, 6), np.array(3, np.int32)])

case("take_along_axis", """
fn main(x: f32[7@a, 5@b], i: i32[7@a, 3], j: i32[9@b, 5], k: i32[1, 5]) {
  return (take_along_axis(x, i, axis=1), take_along_axis(x, j, axis=0), take_along_axis(x, k, axis=0));
}
""", lambda x, i, j, k: (jnp.take_along_axis(x, i, axis=1), jnp.take_along_axis(x, j, axis=0),
                         jnp.take_along_axis(x, k, axis=0)),
     [normal(7, 5), integers(-6, 6, 7, 3), integers(-9, 9, 9, 5), integers(0, 7, 1, 5)])

case("update", """
fn main(x: f32[9@a, 6@b], v: f32[3, 2@b], w: f32[9@a, 1], i: i32[2]) {
  return (update(x, v, start=[i[0], i[1]]), update(x, w, start=[0, i[0]]), update(x, v, start=[-1, 3]),
          update(x, x * 2.0, start=[i[0], 0]), update(x[0], v[1], start=[i[1]]));
}
""", lambda x, v, w, i: (lax.dynamic_update_slice(x, v, (i[0], i[1])), lax.dynamic_update_slice(x, w, (0, i[0])),
                         lax.dynamic_update_slice(x, v, (-1, 3)), lax.dynamic_update_slice(x, x * 2, (i[0], 0)),
                         lax.dynamic_update_slice(x[0], v[1], (i[1],))),
     [normal(9, 6), normal(3, 2), normal(9, 1), np.array([4, -3], np.int32)])

case("updates_in_a_loop", """
fn main(x: f32[9@a, 6@b], v: f32[3, 2]) {
  return for i in 0..12 carry (x = x) { yield update(x, v * i, start=[i, 7 - i]); };
}
""", lambda x, v: lax.fori_loop(0, 12, lambda i, x: lax.dynamic_update_slice(x, v * i, (i, 7 - i)), x),
     [normal(9, 6), normal(3, 2)])

case("scatter_add", """
fn main(x: f32[7@a, 5@b], i: i32[6@b], v: f32[6, 5], w: f32[7, 2, 6@a], n: i32[7@b]) {
  return (scatter_add(x, i, v), scatter_add(x, stack([i, i + 1]), w, axis=1), scatter_add(x, i[0], v[0]),
          scatter_add(n, i, 1), scatter_add(x, i, 0.5));
}
""", lambda x, i, v, w, n: (x.at[i].add(v), x.at[:, jnp.stack([i, i + 1])].add(w), x.at[i[0]].add(v[0]),
                               n.at[i].add(1), x.at[i].add(0.5)),
     [normal(7, 5), np.array([2, 2, -1, -9, 12, 0], np.int32), normal(6, 5), normal(7, 2, 6), integers(-9, 9, 7)],
     tolerance=4e-6)

case("histogram", """
fn main(i: i32[1000@(a, b)]) { return scatter_add(zeros(i32[13@a]), i % 13, 1); }
""", lambda i: jnp.zeros(13, jnp.int32).at[i % 13].add(1), [integers(0, 10000, 1000)])

case("order", """
fn main(x: f32[7@a, 9@b], n: i32[5, 6@b]) {
  return (sort(x), sort(x, axis=0), argsort(x), argsort(n, axis=0), sort(n), top_k(x, 3), top_k(n, 6), sort(n > 2),
          argsort(n > 2));
}
""", lambda x, n: (jnp.sort(x), jnp.sort(x, axis=0), jnp.argsort(x), jnp.argsort(n, axis=0), jnp.sort(n),
                   lax.top_k(x, 3), lax.top_k(n, 6), jnp.sort(n > 2), jnp.argsort(n > 2)),
     [normal(7, 9), integers(-3, 4, 5, 6)])

inf, nan = np.inf, np.nan
case("order_of_special_numbers", """
fn main(x: f32[9@a]) {
  let top = top_k(x, 9);
  return (argsort(x), 1.0 / sort(x), top[1], 1.0 / top[0], top_k(-x, 9)[1], argsort(-x));
}
""", lambda x: (jnp.argsort(x), 1 / jnp.sort(x), lax.top_k(x, 9)[1], 1 / lax.top_k(x, 9)[0],
             lax.top_k(-x, 9)[1], jnp.argsort(-x)),
     [np.array([0.0, -0.0, nan, 1.5, inf, -inf, 0.0, -0.0, -1.5], np.float32)])


# Random numbers: the same on every mesh.
case("keys", """
fn main(s: i32[]) {
  let (k1, k2) = split(key(7));
  let many = split(k1, 5);
  return (key_data(key(s)), key_data(many), key_data(many[3]), key_data(many[s]), key_data(fold_in(k2, s)),
          key_data(fold_in(many[-1], 12)));
}
""", lambda s: (lambda k1, k2: (
    jax.random.key_data(jax.random.key(s)), jax.random.key_data(jax.random.split(k1, 5)),
    jax.random.key_data(jax.random.split(k1, 5)[3]), jax.random.key_data(jax.random.split(k1, 5)[s]),
    jax.random.key_data(jax.random.fold_in(k2, s)),
    jax.random.key_data(jax.random.fold_in(jax.random.split(k1, 5)[-1], 12))))(*jax.random.split(jax.random.key(7))),
     [np.array(2, np.int32)])

case("bits", """
fn main(s: i32[]) {
  let k = key(s);
  return (bits(k, u32[7@a, 5@b]), bits(k, u32[13@(a, b)]), bits(k, u8[9@b]), uniform(k, f32[7@a, 5@b]),
          uniform(k, f32[9@b], minval=-1.5, maxval=4.0), randint(k, i32[7@a, 3], 0, 10), randint(k, u8[9@a], 3, 200),
          randint(k, i8[5, 3@b], -100, 100), bernoulli(k, 0.3, bool[11@a]));
}
""", lambda s: (lambda k: (
    jax.random.bits(k, (7, 5)), jax.random.bits(k, (13,)), jax.random.bits(k, (9,), jnp.uint8),
    jax.random.uniform(k, (7, 5)), jax.random.uniform(k, (9,), minval=-1.5, maxval=4.0),
    jax.random.randint(k, (7, 3), 0, 10), jax.random.randint(k, (9,), 3, 200, jnp.uint8),
    jax.random.randint(k, (5, 3), -100, 100, jnp.int8), jax.random.bernoulli(k, 0.3, (11,))))(jax.random.key(s)),
     [np.array(-5, np.int32)], tolerance=0)

# Exact to the bit.
case("normal", """
fn main(s: i32[]) { return (normal(key(s), f32[97@a, 5@b]), normal(key(s), f32[])); }
""", lambda s: (jax.random.normal(jax.random.key(s), (97, 5)), jax.random.normal(jax.random.key(s))),
     [np.array(11, np.int32)], tolerance=0)

case("bounds_that_are_arrays", """
fn main(x: f32[7@a, 5@b], low: i32[5@a], p: f32[5@b], logits: f32[9@a, 6@b]) {
  let k = key(3);
  return (uniform(k, f32[7, 5@a], minval=x, maxval=2.0), randint(k, i32[7@b, 5], low, 40), bernoulli(k, p),
          bernoulli(k, p, bool[7, 5]), categorical(k, logits), categorical(k, logits, axis=0));
}
""", lambda x, low, p, logits: (lambda k: (
    jax.random.uniform(k, (7, 5), minval=x, maxval=2.0), jax.random.randint(k, (7, 5), low, 40),
    jax.random.bernoulli(k, p), jax.random.bernoulli(k, p, (7, 5)), jax.random.categorical(k, logits),
    jax.random.categorical(k, logits, axis=0)))(jax.random.key(3)),
     [normal(7, 5), integers(-9, 9, 5), rng.random(5).astype(np.float32), normal(9, 6)])

# Keys are values as others: carried, selected, in structs, in shard_map, beside differentiated values.
case("keys_in_a_loop", """
fn main(x: f32[6@a]) {
  let (k, x) = for i in 0..5 carry (k = key(1), x = x) {
    let (k, mine) = split(k);
    yield (k, x + uniform(mine, f32[6]));
  };
  return (key_data(k), x);
}
""", lambda x: (lambda r: (jax.random.key_data(r[0]), r[1]))(lax.fori_loop(
    0, 5, lambda i, c: (lambda k, mine: (k, c[1] + jax.random.uniform(mine, (6,))))(*jax.random.split(c[0])),
    (jax.random.key(1), x))), [normal(6)])

case("keys_in_while_and_if", """
fn main(limit: f32[]) {
  let (k, n) = while n < 20 && uniform(k, f32) < limit carry (k = key(5), n = 0) {
    let k = if n % 2 == 0 { fold_in(k, n) } else { split(k)[1] };
    yield (k, n + 1);
  };
  let pair = if n > 3 { split(k, 3) } else { split(key(0), 3) };
  return (key_data(k), n, key_data(pair));
}
""", lambda limit: (lambda r: (jax.random.key_data(r[0]), r[1], jax.random.key_data(
    lax.cond(r[1] > 3, lambda: jax.random.split(r[0], 3), lambda: jax.random.split(jax.random.key(0), 3)))))(
        lax.while_loop(lambda c: (c[1] < 20) & (jax.random.uniform(c[0]) < limit),
                       lambda c: (lax.cond(c[1] % 2 == 0, lambda: jax.random.fold_in(c[0], c[1]),
                                           lambda: jax.random.split(c[0])[1]), c[1] + 1),
                       (jax.random.key(5), jnp.int32(0)))), [np.array(0.9, np.float32)])

case("keys_in_structs", """
struct State<N> { k: key, x: f32[N@a], more: key[2] }
fn step(s) { return State { k: s.more[0], x: s.x + normal(s.k, f32[7]), more: split(s.more[1]) }; }
fn main(x: f32[7@a]) {
  let s = State { k: key(1), x: x, more: split(key(2)) };
  let s = for i in 0..3 carry (s = s) { yield step(s); };
  return (key_data(s.k), s.x, key_data(s.more));
}
""", lambda x: (lambda s: (jax.random.key_data(s[0]), s[1], jax.random.key_data(s[2])))(lax.fori_loop(
    0, 3, lambda i, s: (s[2][0], s[1] + jax.random.normal(s[0], (7,)), jax.random.split(s[2][1])),
    (jax.random.key(1), x, jax.random.split(jax.random.key(2))))), [normal(7)])

case("keys_in_shard_map", """
fn f(ks, k, x) {
  return (x + uniform(ks[0], f32[2]), split(k), normal(fold_in(k, axis_index(a)), f32[1]));
}
fn main(x: f32[8]) {
  let (y, ks, z) = shard_map(f, in=(P(a), P(), P(a)), out=(P(a), P(), P(a)))(split(key(9), 4), key(3), x);
  return (y, key_data(ks), z);
}
""", lambda x: (jnp.concatenate([x[2 * d:2 * d + 2] + jax.random.uniform(jax.random.split(jax.random.key(9), 4)[d], (2,))
                                 for d in range(4)]),
                jax.random.key_data(jax.random.split(jax.random.key(3))),
                jnp.concatenate([jax.random.normal(jax.random.fold_in(jax.random.key(3), d), (1,)) for d in range(4)])),
     [normal(8)], meshes=((4, 2), (4, 1), (4, 3)))

case("keys_under_grad", """
fn loss(w, k, x) {
  let mask = bernoulli(k, 0.7, bool[6, 5]);
  return sum(checkpoint(noisy)(where(mask, x @ w, 0.0), k) ** 2);
}
fn noisy(h, k) { return tanh(h) + normal(k, f32[6, 5]); }
fn main(w: f32[4, 5@b], x: f32[6@a, 4]) { return value_and_grad(loss)(w, key(8), x); }
""", lambda w, x: jax.value_and_grad(lambda w: jnp.sum((
    jnp.tanh(jnp.where(jax.random.bernoulli(jax.random.key(8), 0.7, (6, 5)), x @ w, 0))
    + jax.random.normal(jax.random.key(8), (6, 5))) ** 2))(w), [normal(4, 5), normal(6, 4)], tolerance=4e-6)

# Gradients.
case("gradient_of_take", """
fn f(x, i, w) { return sum(take(x, i, axis=0) * w) + sum(x[i, 1] ** 2); }
fn main(x: f32[7@a, 5@b], i: i32[6@b], w: f32[6, 5@b]) { return value_and_grad(f, wrt=(0, 2))(x, i, w); }
""", lambda x, i, w: jax.value_and_grad(lambda x, w: jnp.sum(jnp.take(x, i, axis=0) * w) + jnp.sum(x[i, 1] ** 2),
                                        (0, 1))(x, w),
     [normal(7, 5), np.array([3, 3, -1, 0, 6, 3], np.int32), normal(6, 5)], tolerance=4e-6)

case("gradient_of_take_along_axis", """
fn f(x, i) { return sum(take_along_axis(x, i, axis=1) ** 3); }
fn main(x: f32[7@a, 5@b], i: i32[7@a, 3]) { return grad(f)(x, i); }
""", lambda x, i: jax.grad(lambda x: jnp.sum(jnp.take_along_axis(x, i, axis=1) ** 3))(x),
     [normal(7, 5), integers(-5, 5, 7, 3)], tolerance=4e-6)

case("gradient_of_indices", """
fn f(x, i) { return sum(x[i[0]] * x[i[1], ::-1]) + x[i[2], i[3]] ** 2 + sum(x[i, i] ** 3); }
fn main(x: f32[7@a, 5@b], i: i32[4]) { return grad(f)(x, i); }
""", lambda x, i: jax.grad(lambda x: jnp.sum(x[i[0]] * x[i[1], ::-1]) + x[i[2], i[3]] ** 2 + jnp.sum(x[i, i] ** 3))(x),
     [normal(7, 5), np.array([3, -2, 0, 4], np.int32)], tolerance=4e-6)

case("gradient_of_update", """
fn f(x, v, i) { return sum(update(x, v * v, start=[i, 1]) ** 2); }
fn main(x: f32[7@a, 5@b], v: f32[3, 2@b], i: i32) { return grad(f, wrt=(0, 1))(x, v, i); }
""", lambda x, v, i: jax.grad(lambda x, v: jnp.sum(lax.dynamic_update_slice(x, v * v, (i, 1)) ** 2), (0, 1))(x, v),
     [normal(7, 5), normal(3, 2), np.array(6, np.int32)], tolerance=4e-6)

case("gradient_of_scatter_add", """
fn f(x, v, i) { return sum(scatter_add(x, i, v * v) ** 2); }
fn main(x: f32[7@a, 5@b], v: f32[6@b, 5], i: i32[6@a]) { return grad(f, wrt=(0, 1))(x, v, i); }
""", lambda x, v, i: jax.grad(lambda x, v: jnp.sum(x.at[i].add(v * v) ** 2), (0, 1))(x, v),
     [normal(7, 5), normal(6, 5), np.array([2, 2, -1, -9, 12, 0], np.int32)], tolerance=8e-6)

case("gradient_of_order", """
fn f(x, w) { return sum(sort(x, axis=0) * w) + sum(top_k(x, 2)[0] ** 2); }
fn main(x: f32[7@a, 5@b], w: f32[7, 5@b]) { return grad(f)(x, w); }
""", lambda x, w: jax.grad(lambda x: jnp.sum(jnp.sort(x, axis=0) * w) + jnp.sum(lax.top_k(x, 2)[0] ** 2))(x),
     [normal(7, 5), normal(7, 5)], tolerance=4e-6)

case("gradient_of_gradient_of_take", """
fn f(x, i) { return sum(x[i] ** 3); }
fn g(x, i) { return sum(grad(f)(x, i) ** 2); }
fn main(x: f32[7@a], i: i32[5@b]) { return grad(g)(x, i); }
""", lambda x, i: jax.grad(lambda x: jnp.sum(jax.grad(lambda x: jnp.sum(x[i] ** 3))(x) ** 2))(x),
     [normal(7), np.array([3, 3, 0, -1, 5], np.int32)], tolerance=8e-6)

case("embedding", """
fn loss(table, tokens, targets, w) {
  let h = tanh(table[tokens]);
  return mean(cross_entropy(h @ w, targets));
}
fn main(table: f32[11@a, 6], tokens: i32[5@b, 7], targets: i32[5@b, 7], w: f32[6, 11@b]) {
  return value_and_grad(loss, wrt=(0, 3))(table, tokens, targets, w);
}
""", lambda table, tokens, targets, w: jax.value_and_grad(lambda table, w: jnp.mean(
    -jnp.take_along_axis(jax.nn.log_softmax(jnp.tanh(table[tokens]) @ w), targets[..., None], axis=-1)), (0, 1))(table, w),
     [normal(11, 6), integers(0, 11, 5, 7), integers(0, 11, 5, 7), normal(6, 11)], tolerance=8e-6)

case("dropout", """
fn loss(x, k) { return sum(dropout(k, x, 0.3) ** 2); }
fn main(x: f32[7@a, 5@b], h: f32[6@a]) {
  return (dropout(key(4), x, 0.25), grad(loss)(x, key(5)), dropout(key(4), h, 0.0), dropout(key(4), h, 1.0));
}
""", lambda x, h: (lambda dropout: (
    dropout(jax.random.key(4), x, 0.25), jax.grad(lambda x: jnp.sum(dropout(jax.random.key(5), x, 0.3) ** 2))(x),
    h, jnp.zeros(6)))(lambda k, x, rate: jnp.where(jax.random.bernoulli(k, 1 - rate, x.shape), x / (1 - rate), 0)),
     [normal(7, 5), normal(6)])

# Layers as a list, and a loop that uses one body for all.
case("layers", """
struct Block { w: f32[6, 6@b], b: f32[6@b] }
struct Net { first: f32[5, 6], layers: [Block; 4] }
fn block(p, x) { return x + tanh(x @ p.w + p.b); }
fn forward(p, x) {
  let x = x @ p.first;
  return for i in 0..4 carry (x = x) { yield block(p.layers[i], x); };
}
fn main(first: f32[5, 6], w: f32[4, 6, 6@b], b: f32[4, 6@b], x: f32[7@a, 5], i: i32) {
  let layers = [Block { w: w[0], b: b[0] }, Block { w: w[1], b: b[1] }, Block { w: w[2], b: b[2] },
                Block { w: w[3], b: b[3] }];
  let p = Net { first: first, layers: layers };
  return (forward(p, x), p.layers[i].b, p.layers[i - 1].w, p.layers[i + 100].b, if i > 1 { p.layers[i] } else { p.layers[0] });
}
""", lambda first, w, b, x, i: (
    lax.fori_loop(0, 4, lambda i, x: x + jnp.tanh(x @ w[i] + b[i]), x @ first), b[i], w[i - 1], b[3], w[i], b[i]),
     [normal(5, 6), normal(4, 6, 6), normal(4, 6), normal(7, 5), np.array(2, np.int32)])

case("lists_at_run_time", """
fn main(x: f32[5@a], y: f32[5], n: i32) {
  let arrays = [x, y, x + y];
  let keys = [key(1), key(2)];
  return for i in 0..3 carry (s = x, k = 0.0) {
    let rows = [s, x];
    yield (arrays[i] * rows[n] + [0.5, 1.5, 2.5][i], k + uniform(keys[i % 2], f32) + arrays[-1][n]);
  };
}
""", lambda x, y, n: lax.fori_loop(0, 3, lambda i, c: (
    jnp.stack([x, y, x + y])[i] * jnp.stack([c[0], x])[n] + jnp.array([0.5, 1.5, 2.5])[i],
    c[1] + jax.random.uniform(jax.random.key(i % 2 + 1)) + (x + y)[n]), (x, jnp.float32(0))),
     [normal(5), normal(5), np.array(1, np.int32)])

pathlib.Path(__file__).with_name("indexing.json").write_text(
    "[\n" + ",\n".join(json.dumps(c) for c in CASES) + "\n]\n")
