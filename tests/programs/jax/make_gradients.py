"""Writes gradients.json: JAX's gradients of programs with loops, branches and shard_map, on eight devices of the CPU.

Run with JAX 0.10 in a virtual environment: python make_gradients.py
Each case: a program of the language (its mesh line is put before it), the same in Python, arguments, and meshes. The
global programs mean the same on every mesh. Those with shard_map are differentiated with JAX's varying types
(check_vma); where JAX has no such type for a collective's result, the same is written without devices.
"""

import json
import os
import pathlib

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

rng = np.random.default_rng(20)
CASES = []


def normal(*shape):
    return rng.normal(size=shape).astype(np.float32)


def integers(low, high, *shape):
    return rng.integers(low, high, size=shape).astype(np.int32)


def encode(x):
    x = np.asarray(x)
    dtype = {"float32": "f32", "int32": "i32", "bool": "bool"}[x.dtype.name]
    # The shortest text that means the same f32.
    values = [float(str(v)) for v in x.ravel()] if dtype == "f32" else x.astype(int).ravel().tolist()
    return {"dtype": dtype, "shape": list(x.shape), "values": values}


def add(name, sizes, text, results, arguments, tolerance=4e-6):
    CASES.append({"name": f"{name}_{sizes[0]}x{sizes[1]}",
                  "program": f"mesh m(a={sizes[0]}, b={sizes[1]})\n{text}",
                  "arguments": [encode(x) for x in arguments],
                  "results": [encode(x) for x in jax.tree.leaves(results)], "tolerance": tolerance})


def case(name, text, function, arguments, meshes=((4, 2), (1, 1), (3, 2), (2, 4)), tolerance=4e-6):
    """A global program: one value on all meshes, of which the third divides nothing."""
    results = jax.jit(function)(*arguments)
    for sizes in meshes:
        add(name, sizes, text, results, arguments, tolerance)


def manual(name, text, function, arguments, meshes=((4, 2), (2, 4), (8, 1), (1, 1)), tolerance=4e-6):
    """`function(mesh)` gives the function of the arguments."""
    for sizes in meshes:
        mesh = jax.make_mesh(sizes, ("a", "b"), devices=jax.devices()[:sizes[0] * sizes[1]],
                             axis_types=(jax.sharding.AxisType.Auto,) * 2)
        add(name, sizes, text, jax.jit(function(mesh))(*arguments), arguments, tolerance)


def shard_map(mesh, f, in_specs, out_specs):
    return jax.shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=True)


def loop(low, high, body, init):
    return lax.fori_loop(low, high, body, init)


# ---- Loops -------------------------------------------------------------------------------------------------------

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
// A carry that is an integer, one that nothing depends on, one that is handed on, one that swaps.
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
// Rows written and read back at run-time positions.
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
// The derivative of what a loop of gradient steps reaches.
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
// Memory grows with the trips, the program does not.
fn f(x) { return for i in 0..1000000 carry (h = x) { yield h + (sin(h) - h) * 1e-6; }; }
fn main(x: f32) { return grad(f)(x); }
""", jax.grad(lambda x: loop(0, 1000000, lambda i, h: h + (jnp.sin(h) - h) * 1e-6, x)), [np.float32(0.7)],
     meshes=((1, 1), (4, 2)))

# ---- Branches ----------------------------------------------------------------------------------------------------


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
// What a while computes is a constant to the derivative where nothing flows through it.
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

# ---- shard_map ---------------------------------------------------------------------------------------------------

manual("tensor_parallel", """
fn layer(x, w1, b1, w2) { return psum(relu(x @ w1 + b1) @ w2, b); }
fn loss(w1, b1, w2, x, y) {
  let h = shard_map(layer, in=(P(a), P(_, b), P(b), P(b)), out=P(a))(x, w1, b1, w2);
  return mean((h - y) ** 2);
}
fn main(w1: f32[6, 16], b1: f32[16], w2: f32[16, 3], x: f32[16@a, 6], y: f32[16, 3]) {
  return value_and_grad(loss, wrt=(0, 1, 2, 3))(w1, b1, w2, x, y);
}
""", lambda mesh: jax.value_and_grad(lambda w1, b1, w2, x, y: jnp.mean((shard_map(
    mesh, lambda x, w1, b1, w2: lax.psum(jax.nn.relu(x @ w1 + b1) @ w2, "b"),
    (P("a"), P(None, "b"), P("b"), P("b")), P("a"))(x, w1, b1, w2) - y) ** 2), (0, 1, 2, 3)),
       [normal(6, 16), normal(16), normal(16, 3), normal(16, 6), normal(16, 3)])

manual("replicated_scalars", """
// Scalars and vectors that are the same everywhere; a loss reduced inside.
fn f(s, v, x) {
  let local = sum(sin(x * s) @ v) + sum(v) * s;
  return (psum(local, (a, b)), pmean(local * local, (a, b)) * v);
}
fn loss(s, v, x) {
  let (total, means) = shard_map(f, in=(P(), P(), P(a, b)), out=(P(), P(_)))(s, v, x);
  return total + sum(means);
}
fn main(s: f32, v: f32[3], x: f32[8, 8, 3]) { return grad(loss, wrt=(0, 1, 2))(s, v, x); }
""", lambda mesh: jax.grad(lambda s, v, x: (lambda r: r[0] + jnp.sum(r[1]))(shard_map(
           mesh, lambda s, v, x: (lambda local: (lax.psum(local, ("a", "b")), lax.pmean(local * local, ("a", "b")) * v))(
               jnp.sum(jnp.sin(x * s) @ v) + jnp.sum(v) * s),
           (P(), P(), P("a", "b")), (P(), P(None)))(s, v, x)), (0, 1, 2)),
       [np.float32(0.4), normal(3), normal(8, 8, 3)], tolerance=1e-5)

manual("moving", """
fn f(x, w) {
  let right = ppermute(x, b, [(0, 1), (1, 0)]);
  let back = all_to_all(sin(x) * w, a, split_axis=1, concat_axis=0, tiled=true);
  let pieces = psum_scatter(x * w * cast(axis_index(a) + 1, f32), b, scatter_dimension=0, tiled=true);
  return (right * right, back, pieces * pieces);
}
fn loss(x, w) {
  let (p, q, r) = shard_map(f, in=(P(a, b), P()), out=(P(a, b), P(_, (b, a)), P((a, b), _)))(x, w);
  return sum(p * x) + sum(q * sin(q)) + sum(r);
}
fn main(x: f32[16, 16], w: f32) { return grad(loss, wrt=(0, 1))(x, w); }
""", lambda mesh: jax.grad(lambda x, w: (
    lambda r: jnp.sum(r[0] * x) + jnp.sum(r[1] * jnp.sin(r[1])) + jnp.sum(r[2]))(shard_map(mesh, lambda x, w: (
        lax.ppermute(x, "b", [(0, 1), (1, 0)]) ** 2,
        lax.all_to_all(jnp.sin(x) * w, "a", 1, 0, tiled=True),
        lax.psum_scatter(x * w * (lax.axis_index("a") + 1).astype(jnp.float32), "b", scatter_dimension=0, tiled=True) ** 2),
        (P("a", "b"), P()), (P("a", "b"), P(None, ("b", "a")), P(("a", "b"), None)))(x, w)), (0, 1)),
       [normal(16, 16), np.float32(1.3)], meshes=((4, 2), (2, 2), (1, 2)), tolerance=1e-5)

manual("one_way", """
// Who is no target gets zeros, who is no source no cotangent.
fn f(x) { return ppermute(x, a, [(0, 1), (1, 2)]) * x; }
fn loss(x) { return sum(sin(shard_map(f, in=P(a), out=P(a))(x))); }
fn main(x: f32[8, 3]) { return grad(loss)(x); }
""", lambda mesh: jax.grad(lambda x: jnp.sum(jnp.sin(shard_map(
    mesh, lambda x: lax.ppermute(x, "a", [(0, 1), (1, 2)]) * x, P("a"), P("a"))(x)))), [normal(8, 3)], meshes=((4, 2), (8, 1)))

# What is gathered is the same on all devices: JAX's types call it varying. The same without devices.
manual("gathered", """
fn f(x, w) {
  let all = all_gather(x, a, tiled=true);           // used alike by all, and by each with its own
  let rows = all_gather(x, b, axis=1, tiled=false);
  return (all * all, x @ transpose(all) * w, sum(rows, axis=1) * sum(x));
}
fn loss(x, w) {
  let (p, q, r) = shard_map(f, in=(P(a), P()), out=(P(), P(a), P(a)))(x, w);
  return sum(sin(p)) + sum(q * cos(q)) + sum(r);
}
fn main(x: f32[8, 3], w: f32) { return grad(loss, wrt=(0, 1))(x, w); }
""", lambda mesh: jax.grad(lambda x, w: (lambda q, n, k: jnp.sum(jnp.sin(x * x)) + jnp.sum(q * jnp.cos(q)) + sum(
    jnp.sum(x[i * k:(i + 1) * k]) ** 2 * mesh.shape["b"] for i in range(n)))(
        x @ x.T * w, mesh.shape["a"], x.shape[0] // mesh.shape["a"]), (0, 1)),
       [normal(8, 3), np.float32(0.8)], tolerance=1e-5)

manual("extremes", """
// Devices that have the extreme share its cotangent, as elements do.
fn f(x, y) { return (pmax(x, a), pmin(y * y, (a, b)) * pmax(y, b)); }
fn loss(x, y) {
  let (p, q) = shard_map(f, in=(P(a), P(a, b)), out=(P(), P(a, _)))(x, y);
  return sum(p * p) + sum(q);
}
fn main(x: f32[8, 3], y: f32[8, 8]) { return grad(loss, wrt=(0, 1))(x, y); }
""", lambda mesh: jax.grad(lambda x, y: (lambda na, nb: jnp.sum(
    jnp.max(x.reshape(na, -1, 3), 0) ** 2) + (lambda t: jnp.sum(jnp.min(t * t, (0, 2))[None] * jnp.max(t, 2)))(
        y.reshape(na, 8 // na, nb, 8 // nb)))(mesh.shape["a"], mesh.shape["b"]), (0, 1)),
       [np.repeat(normal(2, 3), 4, 0), normal(8, 8)], tolerance=1e-5)

manual("ring", """
// A loop of collectives on the device: each turn multiplies with the piece that comes by.
fn turn(x, w) {
  let (s, piece) = for i in 0..axis_size(a) carry (s = x * 0.0, piece = x) {
    yield (s + sin(piece * w) * x, ppermute(piece, a, [(0, 1), (1, 2), (2, 3), (3, 0)]));
  };
  return s;
}
fn loss(x, w) { return sum(shard_map(turn, in=(P(a), P()), out=P(a))(x, w)); }
fn second(x, w) { let (gx, gw) = grad(loss, wrt=(0, 1))(x, w); return sum(gx * gx) + sum(gw * gw); }
fn main(x: f32[8, 3], w: f32[3]) { return (grad(loss, wrt=(0, 1))(x, w), grad(second, wrt=(0, 1))(x, w)); }
""", lambda mesh: (lambda loss: lambda x, w: (
    jax.grad(loss, (0, 1))(x, w), jax.grad(
        lambda x, w: (lambda g: jnp.sum(g[0] ** 2) + jnp.sum(g[1] ** 2))(jax.grad(loss, (0, 1))(x, w)), (0, 1))(x, w)))(
            lambda x, w: jnp.sum(shard_map(mesh, lambda x, w: loop(0, 4, lambda i, c: (
                c[0] + jnp.sin(c[1] * w) * x, lax.ppermute(c[1], "a", [(0, 1), (1, 2), (2, 3), (3, 0)])), (x * 0, x))[0],
                (P("a"), P()), P("a"))(x, w))), [normal(8, 3), normal(3)], meshes=((4, 2), (4, 1)), tolerance=2e-5)

manual("in_loop", """
// shard_map in a loop of the global program, with a carry that it reshards.
fn mix(h, w) { return psum(tanh(h @ w), b) * cast(axis_index(a) + 1, f32); }
fn loss(w, x) {
  let h = for i in 0..3 carry (h = x) { yield h + 0.1 * shard_map(mix, in=(P(a, b), P(b)), out=P(a))(h, w); };
  return sum(h * h);
}
fn main(w: f32[8, 8], x: f32[8, 8@b]) { return value_and_grad(loss, wrt=(0, 1))(w, x); }
""", lambda mesh: jax.value_and_grad(lambda w, x: jnp.sum(loop(0, 3, lambda i, h: h + 0.1 * shard_map(
    mesh, lambda h, w: lax.psum(jnp.tanh(h @ w), "b") * (lax.axis_index("a") + 1).astype(jnp.float32),
    (P("a", "b"), P("b")), P("a"))(h, w), x) ** 2), (0, 1)), [normal(8, 8) / 2, normal(8, 8)], tolerance=1e-5)

manual("branch_by_device", """
// Each device goes its own way; what all share is summed once they are together again.
fn f(x, w) {
  let y = if sum(x) > 0.0 { x * w } else { sin(x) + w * w };
  return if axis_index(a) == 0 { for i in 0..3 carry (y = y) { yield y * w; } } else { y };
}
fn loss(x, w) { return sum(sin(shard_map(f, in=(P(a, b), P()), out=P(a, b))(x, w))); }
fn main(x: f32[8, 8], w: f32) { return grad(loss, wrt=(0, 1))(x, w); }
""", lambda mesh: jax.grad(lambda x, w: (lambda na, nb: jnp.sum(jnp.sin(jnp.concatenate([jnp.concatenate([
    (lambda p: (lambda y: y * w ** 3 if i == 0 else y)(jnp.where(jnp.sum(p) > 0, p * w, jnp.sin(p) + w * w)))(
        x[i * 8 // na:(i + 1) * 8 // na, j * 8 // nb:(j + 1) * 8 // nb])
    for j in range(nb)], 1) for i in range(na)], 0))))(mesh.shape["a"], mesh.shape["b"]), (0, 1)),
       [normal(8, 8), np.float32(0.7)], tolerance=1e-5)

manual("gradient_inside", """
// A gradient taken on the device is the device's own; the mean over all is written.
fn loss(w, x, y) { return mean((tanh(x @ w) - y) ** 2); }
fn step(w, x, y) { return w - 0.5 * pmean(grad(loss)(w, x, y), (a, b)); }
fn total(w, x, y) { return psum(loss(w, x, y), (a, b)); }
fn per_device(w, x, y) { return grad(total)(w, x, y); }
fn main(w: f32[4], x: f32[16, 4], y: f32[16]) {
  let next = shard_map(step, in=(P(), P((a, b)), P((a, b))), out=P())(w, x, y);
  return (next, shard_map(per_device, in=(P(), P((a, b)), P((a, b))), out=P((a, b)))(w, x, y));
}
""", lambda mesh: lambda w, x, y: (lambda loss, n: (
    w - 0.5 * jax.grad(lambda w: jnp.mean((jnp.tanh(x @ w) - y) ** 2))(w),
    jnp.concatenate([jax.grad(loss)(w, p, q) for p, q in zip(jnp.split(x, n), jnp.split(y, n))])))(
        lambda w, x, y: jnp.mean((jnp.tanh(x @ w) - y) ** 2), mesh.shape["a"] * mesh.shape["b"]),
       [normal(4), normal(16, 4), normal(16)])

manual("checkpointed_inside", """
fn layer(x, w) {
  let whole = all_gather(w, b, axis=1, tiled=true) * cast(axis_index(b) + 1, f32);
  return psum(tanh(sin(x @ whole[:, :6])), b);
}
fn f(x, w) { return for i in 0..2 carry (h = x) { yield h * checkpoint(layer)(h, w); }; }
fn loss(x, w) { return sum(shard_map(f, in=(P(a), P(_, b)), out=P(a))(x, w)); }
fn main(x: f32[8, 6], w: f32[6, 8]) { return grad(loss, wrt=(0, 1))(x, w); }
""", lambda mesh: jax.grad(lambda x, w: jnp.sum(loop(0, 2, lambda i, h: h * sum(
    jnp.tanh(jnp.sin(h @ (w * (k + 1))[:, :6])) for k in range(mesh.shape["b"])), x)), (0, 1)),
       [normal(8, 6), normal(6, 8) / 4], tolerance=1e-5)


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
    """Gradients of the loss after some steps: of the parameters' fields in order, then of what else is asked for."""
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
// Three steps in a loop: the gradient goes back through them.
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

manual("groups_apart", """
// Groups over b go different ways, each with a sum over a: all devices make the calls, and each takes its own.
fn f(x, w) {
  let y = if sum(psum(x, a)) > 0.0 { psum(x * w, a) } else { sin(x) + 0.5 * psum(cos(x), a) };
  return if axis_index(b) % 2 == 0 { 0.05 * y * psum(y, a) } else { y };
}
fn loss(x, w) { return sum(sin(shard_map(f, in=(P(a, b), P()), out=P(a, b))(x, w))); }
fn main(x: f32[8, 8], w: f32) { return value_and_grad(loss, wrt=(0, 1))(x, w); }
""", lambda mesh: jax.value_and_grad(lambda x, w: (lambda na, nb: jnp.sum(jnp.sin(jnp.concatenate([
    (lambda parts: jnp.concatenate(
        (lambda ys: [0.05 * y * sum(ys) for y in ys] if j % 2 == 0 else ys)(
            (lambda positive: [jnp.where(positive, sum(p * w for p in parts),
                                         jnp.sin(part) + 0.5 * sum(jnp.cos(p) for p in parts)) for part in parts])(
                                             sum(jnp.sum(p) for p in parts) > 0)), 0))(
        [x[i * 8 // na:(i + 1) * 8 // na, j * 8 // nb:(j + 1) * 8 // nb] for i in range(na)])
    for j in range(nb)], 1))))(mesh.shape["a"], mesh.shape["b"]), (0, 1)), [normal(8, 8) / 2, np.float32(0.7)], tolerance=2e-5)

pathlib.Path(__file__).with_name("gradients.json").write_text(
    "[\n" + ",\n".join(json.dumps(c) for c in CASES) + "\n]\n")
