"""Writes shard_map.json: the results of jax.shard_map for the programs below, on eight devices of the CPU.

Run with JAX 0.10 in a virtual environment: python make_shard_map.py
Each case: a program of the language (its mesh line is put before it), the same in Python, arguments, and meshes.
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

rng = np.random.default_rng(11)


def normal(*shape):
    return rng.normal(size=shape).astype(np.float32)


def integers(*shape):
    return rng.integers(-9, 9, size=shape).astype(np.int32)


CASES = []


def case(name, text, function, specs_in, specs_out, arguments, meshes=((4, 2), (2, 4), (8, 1), (1, 1)), axis_names=()):
    """`axis_names`: the manual axes; if empty, all."""
    for sizes in meshes:
        mesh = jax.make_mesh(sizes, ("a", "b"), devices=jax.devices()[:sizes[0] * sizes[1]],
                             axis_types=(jax.sharding.AxisType.Auto,) * 2)
        mapped = jax.jit(jax.shard_map(function, mesh=mesh, in_specs=specs_in, out_specs=specs_out, check_vma=False,
                                       axis_names=set(axis_names)))
        CASES.append({
            "name": f"{name}_{sizes[0]}x{sizes[1]}",
            "program": f"mesh m(a={sizes[0]}, b={sizes[1]})\n{text}",
            "arguments": [encode(x) for x in arguments],
            "results": [encode(x) for x in jax.tree.leaves(mapped(*arguments))],
            "tolerance": 2e-6,
        })


def encode(x):
    x = np.asarray(x)
    dtype = {"float32": "f32", "int32": "i32", "bool": "bool"}[x.dtype.name]
    # The shortest text that rounds to the same f32.
    values = [float(str(v)) for v in x.ravel()] if dtype == "f32" else x.astype(int).ravel().tolist()
    return {"dtype": dtype, "shape": list(x.shape), "values": values}


def counted(x):
    return lax.while_loop(lambda c: lax.psum(jnp.sum(jnp.abs(c[0])), "a") > 1,
                          lambda c: (0.4 * c[0] + 0.01 * lax.pmean(c[0], "a"), c[1] + 1), (x, jnp.int32(0)))


def nested(x):
    """Computed on devices with b == 0. On the others the loops would not terminate, so `ends` stops them."""
    ends = lax.axis_index("b") > 0
    x = lax.while_loop(lambda x: ~ends & (jnp.sum(jnp.abs(x)) < 1e4), lambda x: x * 2, x + lax.psum(x, "a"))
    return lax.while_loop(lambda x: ~ends & (jnp.sum(jnp.abs(x)) < 1e3),
                          lambda x: x * 2 + 0.001 * lax.pmin(jnp.abs(x), "a"), x * 1e-3)


case("reductions", """
fn f(x) { return (psum(x, a), pmean(x, (a, b)), pmax(x, b), pmin(x, a), psum(x > 0.0, (b, a))); }
fn main(x: f32[8, 8]) {
  return shard_map(f, in=P(a, b), out=(P(_, b), P(), P(a), P(_, b), P()))(x);
}
""", lambda x: (lax.psum(x, "a"), lax.pmean(x, ("a", "b")), lax.pmax(x, "b"), lax.pmin(x, "a"),
                lax.psum((x > 0).astype(jnp.int32), ("b", "a"))),
     P("a", "b"), (P(None, "b"), P(), P("a"), P(None, "b"), P()), [normal(8, 8)])

case("integer_mean", """
fn f(x) { return (pmean(x, a), psum(1, a)); }
fn main(x: i32[8]) { return shard_map(f, in=(P(a)), out=P())(x); }
""", lambda x: (lax.pmean(x, "a"), lax.psum(jnp.int32(1), "a")), P("a"), P(), [integers(8)])

case("all_gather", """
fn f(x) {
  return (all_gather(x, a), all_gather(x, a, axis=1), all_gather(x, a, axis=-1), all_gather(x, a, tiled=true),
          all_gather(x, (a, b), axis=1, tiled=true));
}
fn main(x: f32[8, 16]) { return shard_map(f, in=P(a, b), out=(P(_, _, b), P(_, _, b), P(_, b), P(_, b), P()))(x); }
""", lambda x: (lax.all_gather(x, "a"), lax.all_gather(x, "a", axis=1), lax.all_gather(x, "a", axis=-1),
                lax.all_gather(x, "a", tiled=True), lax.all_gather(x, ("a", "b"), axis=1, tiled=True)),
     P("a", "b"), (P(None, None, "b"), P(None, None, "b"), P(None, "b"), P(None, "b"), P()), [normal(8, 16)])

case("psum_scatter", """
fn f(x) {
  return (psum_scatter(x, b, tiled=true), psum_scatter(x, b, scatter_dimension=1, tiled=true),
          psum_scatter(reshape(x, [-1, axis_size(b), 2]), b, scatter_dimension=1));
}
fn main(x: f32[64, 16]) { return shard_map(f, in=P(a, _), out=(P((a, b)), P(a, b), P(a, b)))(x); }
""", lambda x: (lax.psum_scatter(x, "b", tiled=True), lax.psum_scatter(x, "b", scatter_dimension=1, tiled=True),
                lax.psum_scatter(x.reshape(-1, lax.axis_size("b"), 2), "b", scatter_dimension=1)),
     P("a", None), (P(("a", "b")), P("a", "b"), P("a", "b")), [normal(64, 16)])

case("all_to_all", """
fn f(x) {
  return (all_to_all(x, a, split_axis=1, concat_axis=0, tiled=true), all_to_all(x, a, split_axis=0, concat_axis=0, tiled=true),
          all_to_all(x, a, split_axis=1, concat_axis=1, tiled=true), all_to_all(x, a, 0, 1, tiled=true));
}
fn main(x: f32[64, 8]) { return shard_map(f, in=P(a, _), out=(P(_, a), P(a), P(a), P(a)))(x); }
""", lambda x: (lax.all_to_all(x, "a", 1, 0, tiled=True), lax.all_to_all(x, "a", 0, 0, tiled=True),
                lax.all_to_all(x, "a", 1, 1, tiled=True), lax.all_to_all(x, "a", 0, 1, tiled=True)),
     P("a", None), (P(None, "a"), P("a"), P("a"), P("a")), [normal(64, 8)])

case("all_to_all_of_slices", """
fn f(x) {
  let y = reshape(x, [axis_size(a), 3, -1]);
  return (all_to_all(y, a, split_axis=0, concat_axis=0), all_to_all(y, a, split_axis=0, concat_axis=1),
          all_to_all(y, a, split_axis=0, concat_axis=2), all_to_all(transpose(y, [1, 0, 2]), a, 1, 0),
          all_to_all(transpose(y, [1, 0, 2]), a, 1, 2));
}
fn main(x: f32[192, 2]) { return shard_map(f, in=P(a, _), out=P(a))(x); }
""", lambda x: (lambda y: (
    lax.all_to_all(y, "a", 0, 0), lax.all_to_all(y, "a", 0, 1), lax.all_to_all(y, "a", 0, 2),
    lax.all_to_all(y.transpose(1, 0, 2), "a", 1, 0), lax.all_to_all(y.transpose(1, 0, 2), "a", 1, 2)))(
        x.reshape(lax.axis_size("a"), 3, -1)),
     P("a", None), P("a"), [normal(192, 2)])

case("ppermute", """
fn f(x, i) {
  return (ppermute(x, a, [(0, 1), (1, 2), (2, 3), (3, 0)]), ppermute((x, i), a, [(0, 3), (2, 1)]));
}
fn main(x: f32[8, 3], i: i32[4]) { return shard_map(f, in=(P(a), P(a)), out=P(a))(x, i); }
""", lambda x, i: (lax.ppermute(x, "a", [(0, 1), (1, 2), (2, 3), (3, 0)]), lax.ppermute((x, i), "a", [(0, 3), (2, 1)])),
     (P("a"), P("a")), P("a"), [normal(8, 3), integers(4)], meshes=((4, 2), (4, 1)))

case("axis_index", """
fn f(x) { return (x + cast(axis_index((b, a)), f32), x * axis_size((a, b)) - axis_index(a)); }
fn main(x: f32[8, 8]) { return shard_map(f, in=P(a, b), out=P(a, b))(x); }
""", lambda x: (x + lax.axis_index(("b", "a")).astype(jnp.float32),
                x * lax.axis_size(("a", "b")) - lax.axis_index("a")),
     P("a", "b"), P("a", "b"), [normal(8, 8)])

# In the middle of a global program: operands are resharded, and results have further users.
outer = """
fn f(x, w) { return psum(x @ w, b); }
fn main(x: f32[16@a, 8], w: f32[8, 6@b]) {
  let h = tanh(x) * 2.0;
  let y = shard_map(f, in=(P(a, b), P(b, _)), out=P(a))(h, w + 1.0);
  return sum(relu(y), axis=0);
}
"""
x, w = normal(16, 8), normal(8, 6)
for sizes in ((4, 2), (2, 4), (1, 8)):
    CASES.append({"name": f"inside_{sizes[0]}x{sizes[1]}", "program": f"mesh m(a={sizes[0]}, b={sizes[1]})\n{outer}",
                  "arguments": [encode(x), encode(w)],
                  "results": [encode(jax.nn.relu((jnp.tanh(x) * 2) @ (w + 1)).sum(0))], "tolerance": 4e-6})

# Conditions that differ between the groups of a collective, never within one.
case("groups_branch", """
fn f(x) {
  let y = if axis_index(b) % 2 == 0 { 2.0 * psum(x, a) } else { x - pmax(x, a) };
  return if sum(psum(y, a)) > 0.0 { all_gather(y, a, axis=0, tiled=true)[:y.shape[0]] + y } else { y };
}
fn main(x: f32[8, 8]) { return shard_map(f, in=P(a, b), out=P(a, b))(x); }
""", lambda x: (lambda y: jnp.where(jnp.sum(lax.psum(y, "a")) > 0,
                                    lax.all_gather(y, "a", axis=0, tiled=True)[:y.shape[0]] + y, y))(
    jnp.where(lax.axis_index("b") % 2 == 0, 2 * lax.psum(x, "a"), x - lax.pmax(x, "a"))),
     P("a", "b"), P("a", "b"), [normal(8, 8)])

case("groups_loop", """
fn f(x) {
  let (x, n) = while psum(sum(abs(x)), a) > 1.0 carry (x = x, n = 0) { yield (0.4 * x + 0.01 * pmean(x, a), n + 1); };
  return (x, reshape(n, [1]));
}
fn main(x: f32[8, 8]) { return shard_map(f, in=P(a, b), out=(P(a, b), P((a, b))))(x); }
""", lambda x: (lambda r: (r[0], r[1].reshape(1)))(counted(x)), P("a", "b"), (P("a", "b"), P(("a", "b"))),
     [np.multiply(normal(8, 8), np.exp2(np.arange(8)), dtype=np.float32)])

# The inner loops end only if the branch is taken.
case("groups_nested", """
fn f(x) {
  let rate = if axis_index(b) == 0 { 2.0 } else { 1.0 };
  return if axis_index(b) == 0 {
    let alone = while sum(abs(x)) < 1e4 carry (x = x + psum(x, a)) { yield x * rate; };
    while sum(abs(x)) < 1e3 carry (x = alone * 1e-3) { yield x * rate + 0.001 * pmin(abs(x), a); }
  } else { x };
}
fn main(x: f32[8, 8]) { return shard_map(f, in=P(_, b), out=P(_, b))(x); }
""", lambda x: jnp.where(lax.axis_index("b") == 0, nested(x), x), P(None, "b"), P(None, "b"), [normal(8, 8)])

# Manual along `a` alone: along `b` arrays are replicated in f, for any sharding outside.
case("some_axes", """
fn f(x, w) {
  let h = shard(tanh(x @ w), P(_, b));
  return (psum(h, a), sum(h * h, axis=1), all_gather(max(h, axis=1), a, tiled=true), cumsum(h, axis=1)[:, ::-1]);
}
fn main(x: f32[8@b, 6], w: f32[6, 5@b]) {
  return shard_map(f, in=(P(a), P()), out=(P(), P(a), P(), P(a)), axis_names=a)(x, w);
}
""", lambda x, w: (lambda h: (lax.psum(h, "a"), jnp.sum(h * h, axis=1),
                              lax.all_gather(jnp.max(h, axis=1), "a", tiled=True), jnp.cumsum(h, axis=1)[:, ::-1]))(
    jnp.tanh(x @ w)), (P("a"), P()), (P(), P("a"), P(), P("a")), [normal(8, 6), normal(6, 5)], axis_names="a")

case("some_axes_collectives", """
fn f(x) {
  let y = roll(shard(x, P(_, a?)), 1, axis=1);
  return (psum_scatter(y, b, tiled=true), psum_scatter(y, b, scatter_dimension=1, tiled=true),
          all_to_all(y, b, split_axis=1, concat_axis=0, tiled=true), all_gather(y, b, axis=1),
          ppermute(y, b, [(0, 1)]) + cast(axis_index(b), f32), pmax(y, b) - pmin(y, b) + pmean(y, b));
}
fn main(x: f32[16@a, 8]) {
  return shard_map(f, in=P(b), out=(P(b), P(_, b), P(_, b), P(), P(b), P()), axis_names=b)(x);
}
""", lambda x: (lambda y: (
    lax.psum_scatter(y, "b", tiled=True), lax.psum_scatter(y, "b", scatter_dimension=1, tiled=True),
    lax.all_to_all(y, "b", 1, 0, tiled=True), lax.all_gather(y, "b", axis=1),
    lax.ppermute(y, "b", [(0, 1)]) + lax.axis_index("b").astype(jnp.float32),
    lax.pmax(y, "b") - lax.pmin(y, "b") + lax.pmean(y, "b")))(jnp.roll(x, 1, axis=1)),
     P("b"), (P("b"), P(None, "b"), P(None, "b"), P(), P("b"), P()), [normal(16, 8)], meshes=((4, 2), (2, 4), (3, 2)),
     axis_names="b")

# Conditions that differ along `a`, around operations that communicate along `b`.
case("some_axes_branch", """
fn f(x) {
  let x = shard(x, P(_, b));
  let y = if axis_index(a) == 0 { x - max(x, axis=1, keepdims=true) } else { flip(x, axis=1) * sum(x) };
  let (z, n) = while sum(abs(y)) > 1.0 carry (y = y, n = 0) { yield (0.4 * y + 0.01 * roll(y, 2, axis=1), n + 1); };
  return (y, z, reshape(n, [1]));
}
fn main(x: f32[8, 10]) { return shard_map(f, in=P(a), out=(P(a), P(a), P(a)), axis_names=(a,))(x); }
""", lambda x: (lambda y: (lambda r: (y, r[0], r[1].reshape(1)))(lax.while_loop(
    lambda c: jnp.sum(jnp.abs(c[0])) > 1, lambda c: (0.4 * c[0] + 0.01 * jnp.roll(c[0], 2, axis=1), c[1] + 1),
    (y, jnp.int32(0)))))(
    jnp.where(lax.axis_index("a") == 0, x - jnp.max(x, axis=1, keepdims=True), jnp.flip(x, axis=1) * jnp.sum(x))),
     P("a"), (P("a"), P("a"), P("a")), [normal(8, 10)], axis_names="a")

# A derivative of it, and one in it.
gradient = """
fn layer(x, w, v) { return psum(shard(tanh(x @ w), P(b)) @ v, a); }
fn loss(w, v, x) { return sum(shard_map(layer, in=(P(), P(_, a), P(a)), out=P(), axis_names=a)(x, w, v) ** 2); }
fn own(w, x) { return sum(tanh(x @ w) ** 2); }
fn f(w, x) { return psum(grad(own)(w, x), a); }
fn main(x: f32[7@b, 6], w: f32[6, 8], v: f32[8, 5]) {
  let (l, g) = value_and_grad(loss, wrt=(0, 1, 2))(w, v, x);
  return (l, g[0], g[1], g[2], shard_map(f, in=(P(_, a), P()), out=P(), axis_names=a)(w, x));
}
"""
x, w, v = normal(7, 6), normal(6, 8), normal(8, 5)
for sizes in ((4, 2), (2, 4), (2, 3), (1, 1)):
    loss, gradients = jax.value_and_grad(lambda w, v, x: jnp.sum((jnp.tanh(x @ w) @ v) ** 2), argnums=(0, 1, 2))(w, v, x)
    own = sum(jax.grad(lambda w: jnp.sum(jnp.tanh(x @ w) ** 2))(piece) for piece in np.split(w, sizes[0], axis=1))
    CASES.append({"name": f"some_axes_gradient_{sizes[0]}x{sizes[1]}",
                  "program": f"mesh m(a={sizes[0]}, b={sizes[1]})\n{gradient}",
                  "arguments": [encode(x), encode(w), encode(v)],
                  "results": [encode(y) for y in (loss, *gradients, own)], "tolerance": 4e-6})


def within(x, y):
    inner = jax.shard_map(
        lambda x, y: (lax.psum(x, "b") + lax.psum(jnp.sum(y), ("a", "b")),
                      x * 2 + 100 * lax.axis_index("b") + 10 * lax.axis_index("a"), lax.ppermute(x, "a", [(0, 1)])),
        in_specs=(P(None, "b"), P("b")), out_specs=(P(), P(None, "b"), P(None, "b")), axis_names={"b"}, check_vma=False)
    s, t, u = inner(jnp.roll(x, 1, axis=1), y)
    return lax.psum(s, "a"), t, u, jnp.cumsum(t, axis=1)


# A shard_map in the function of another one: over `b`, on shards along `a`.
for names in (", axis_names=b", ""):
    case("within" + ("_all" if not names else ""), """
fn inner(x, y) {
  return (psum(x, b) + psum(sum(y), (a, b)), x * 2 + 100 * axis_index(b) + 10 * axis_index(a), ppermute(x, a, [(0, 1)]));
}
fn f(x, y) {
  let x = roll(shard(x, P(_, b?)), 1, axis=1);
  let (s, t, u) = shard_map(inner, in=(P(_, b), P(b)), out=(P(), P(_, b), P(_, b))%s)(x, y);
  return (psum(s, a), t, u, cumsum(t, axis=1));
}
fn main(x: f32[8, 8@b], y: f32[8@a]) {
  return shard_map(f, in=(P(a), P()), out=(P(), P(a), P(a), P(a)), axis_names=a)(x, y);
}
""" % names, within, (P("a"), P()), (P(), P("a"), P("a"), P("a")), [normal(8, 8), normal(8)],
         meshes=((4, 2), (2, 4), (2, 1)), axis_names="a")

# Under conditions that differ along the outer axis, and in loops.
case("within_control", """
fn inner(x) {
  return if axis_index(a) == 0 { ppermute(x, b, [(0, 1), (1, 0)]) + psum(x, b) } else { x - pmin(x, b) };
}
fn f(x) {
  return for i in 0..3 carry (x = x) {
    yield if axis_index(a) % 2 == 0 { shard_map(inner, in=P(_, b), out=P(_, b))(x) * 0.5 } else { roll(x, 1, axis=1) };
  };
}
fn main(x: f32[8, 8]) { return shard_map(f, in=P(a), out=P(a), axis_names=(a,))(x); }
""", lambda x: lax.fori_loop(0, 3, lambda i, x: jnp.where(
    lax.axis_index("a") % 2 == 0, 0.5 * jax.shard_map(
        lambda x: jnp.where(lax.axis_index("a") == 0, lax.ppermute(x, "b", [(0, 1), (1, 0)]) + lax.psum(x, "b"),
                            x - lax.pmin(x, "b")),
        in_specs=P(None, "b"), out_specs=P(None, "b"), axis_names={"b"}, check_vma=False)(x),
    jnp.roll(x, 1, axis=1)), x), P("a"), P("a"), [normal(8, 8)], meshes=((4, 2), (1, 2), (2, 2)), axis_names="a")

# Megatron's layer in manual form within manual data parallelism; derivatives through both, and one between them.
gradient = """
fn layer(x, w, v) { return psum(tanh(x @ w) @ v, b); }
fn tokens(w, v, x) { return shard_map(layer, in=(P(), P(_, b), P(b)), out=P()%s)(x, w, v); }
fn rows(w, v, x) { return psum(sum(tokens(w, v, x) ** 2), a); }
fn loss(w, v, x) { return shard_map(rows, in=(P(), P(), P(a)), out=P(), axis_names=a)(w, v, x); }
fn own(w, v, x) { return sum(tokens(w, v, x) ** 2); }
fn f(w, v, x) { return psum(grad(own)(w, v, x), a); }
fn main(x: f32[8@a, 6], w: f32[6, 8], v: f32[8, 5]) {
  let (l, g) = value_and_grad(loss, wrt=(0, 1, 2))(w, v, x);
  return (l, g[0], g[1], g[2], shard_map(f, in=(P(), P(), P(a)), out=P(), axis_names=a)(w, v, x));
}
"""
x, w, v = normal(8, 6), normal(6, 8), normal(8, 5)
for sizes, names in (((4, 2), ", axis_names=b"), ((2, 4), ""), ((1, 2), ""), ((1, 1), "")):
    loss, gradients = jax.value_and_grad(lambda w, v, x: jnp.sum((jnp.tanh(x @ w) @ v) ** 2), argnums=(0, 1, 2))(w, v, x)
    CASES.append({"name": f"within_gradient_{sizes[0]}x{sizes[1]}",
                  "program": f"mesh m(a={sizes[0]}, b={sizes[1]})\n{gradient % names}",
                  "arguments": [encode(x), encode(w), encode(v)],
                  "results": [encode(y) for y in (loss, *gradients, gradients[0])], "tolerance": 4e-6})

# Recomputed in the derivative, after the surrounding region: in loops and branches, too, and derivatives of
# derivatives.
gradient = """
fn tokens(x, w) { return psum(sum(tanh(x @ w) ** 3), b); }
fn whole(x, w) { return shard_map(tokens, in=(P(_, b), P(b)), out=P()%s)(x, w); }
fn twice(x, w) { return for i in 0..2 carry (s = 0.0) { yield s + whole(x * (s + 1.0), w); }; }
fn rows(x, w) {
  let s = for i in 0..2 carry (s = 0.0) { yield s + checkpoint(whole)(x * (s + 1.0), w); };
  let t = if axis_index(a) == 0 { checkpoint(whole)(x, w) } else { 2.0 * checkpoint(whole)(x, sin(w)) };
  return psum(s + t + checkpoint(twice)(cos(x), w), a);
}
fn loss(w, x) { return shard_map(rows, in=(P(a), P()), out=P(), axis_names=a)(x, w); }
fn second(w, x) { return sum(cos(grad(loss)(w, x)) * w); }
fn main(x: f32[8, 8], w: f32[8, 3]) { return (loss(w, x), grad(loss)(w, x), grad(second)(w, x)); }
"""


def checkpointed(w, x, sizes):
    def whole(x, w):
        return sum(jnp.sum(jnp.tanh(p @ q) ** 3) for p, q in zip(jnp.split(x, sizes[1], 1), jnp.split(w, sizes[1])))

    def twice(x, w):
        once = whole(x, w)
        return once + whole(x * (once + 1), w)

    return sum(twice(piece, w) + (whole(piece, w) if i == 0 else 2 * whole(piece, jnp.sin(w))) + twice(jnp.cos(piece), w)
               for i, piece in enumerate(jnp.split(x, sizes[0])))


x, w = normal(8, 8), normal(8, 3) * np.float32(0.25)
for sizes, names in (((2, 2), ", axis_names=b"), ((1, 4), ""), ((4, 1), ", axis_names=b")):
    first = jax.grad(checkpointed)
    second = jax.grad(lambda w: jnp.sum(jnp.cos(first(w, x, sizes)) * w))
    CASES.append({"name": f"within_checkpoint_{sizes[0]}x{sizes[1]}",
                  "program": f"mesh m(a={sizes[0]}, b={sizes[1]})\n{gradient % names}",
                  "arguments": [encode(x), encode(w)],
                  "results": [encode(y) for y in (checkpointed(w, x, sizes), first(w, x, sizes), second(w))],
                  "tolerance": 2e-5})

pathlib.Path(__file__).with_name("shard_map.json").write_text(
    "[\n" + ",\n".join(json.dumps(c) for c in CASES) + "\n]\n")
