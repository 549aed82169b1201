"""Groups of devices that take different branches."""

import jax
import jax.numpy as jnp
import numpy as np

from gradients.cases import manual, normal

manual("groups_apart", """
// Groups over b take different branches, each with a sum over a: all devices run both calls, and each uses its own.
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
