"""Programs of one device: shard_map."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import PartitionSpec as P

from gradients.cases import loop, manual, normal, shard_map

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
// Replicated scalars and vectors; a loss reduced inside.
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
// A device that is no target gets zeros; a device that is no source gets no cotangent.
fn f(x) { return ppermute(x, a, [(0, 1), (1, 2)]) * x; }
fn loss(x) { return sum(sin(shard_map(f, in=P(a), out=P(a))(x))); }
fn main(x: f32[8, 3]) { return grad(loss)(x); }
""", lambda mesh: jax.grad(lambda x: jnp.sum(jnp.sin(shard_map(
    mesh, lambda x: lax.ppermute(x, "a", [(0, 1), (1, 2)]) * x, P("a"), P("a"))(x)))), [normal(8, 3)], meshes=((4, 2), (8, 1)))

# A gathered value is the same on all devices, but its JAX type is varying; so JAX's program is written without devices.
manual("gathered", """
fn f(x, w) {
  let all = all_gather(x, a, tiled=true);           // all devices use it, also with their own shards
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
// Devices with the extreme value share its cotangent, as elements do.
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
// A loop of collectives on the device: each iteration multiplies with the shard that arrives.
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
// Each device takes its own branch; cotangents of replicated values are summed after the branch.
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
// A gradient computed on a device is that device's own; the program takes the mean over all.
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
