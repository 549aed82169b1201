"""Meshes with axes of type Explicit: partial sums ('unreduced'), and axes that open dimensions may not take."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AxisType, NamedSharding, PartitionSpec, reshard

from cases import case, normal

EXPLICIT = jax.make_mesh((4, 2), ("a", "b"), axis_types=(AxisType.Explicit, AxisType.Explicit))
LINE = jax.make_mesh((8,), ("x",), axis_types=(AxisType.Explicit,))
MIXED = jax.make_mesh((4, 2), ("a", "b"), axis_types=(AxisType.Explicit, AxisType.Auto))


def on(mesh, *axes, **kinds):
    return NamedSharding(mesh, PartitionSpec(*axes, **kinds))


def put(array, mesh, *axes):
    """Types have the shardings of arguments that are on a mesh."""
    return jax.device_put(array, on(mesh, *axes))


x, w = normal(8, 16), normal(16, 12)


def unreduced_products(x, w, scale):
    partial = on(EXPLICIT, "a", None, unreduced={"b"})
    y = jnp.einsum("ij,jk->ik", x, w, out_sharding=partial)
    z = jnp.einsum("ij,jk->ik", jnp.sin(x), w, out_sharding=partial)
    scaled = reshard(scale, on(EXPLICIT, "a", None, reduced={"b"})) * y
    total = lax.reduce_sum(x, (0,), out_sharding=on(EXPLICIT, "b", unreduced={"a"}))
    return reshard(y + z, on(EXPLICIT, "a", "b")), reshard(scaled, on(EXPLICIT, "a", None)), reshard(total, on(EXPLICIT, None))


case("unreduced_products", unreduced_products, put(x, EXPLICIT, "a", "b"), put(w, EXPLICIT, "b"), put(normal(8, 12), EXPLICIT, "a"),
     mesh=EXPLICIT, tolerance=4e-6)


def unreduced_accumulation(w, batches):
    local = reshard(w, on(LINE, None, None, reduced={"x"}))
    gradient = jax.grad(lambda w, x: jnp.sum(jnp.tanh(x @ w) ** 2))
    zeros = reshard(jnp.zeros_like(w), on(LINE, None, None, unreduced={"x"}))
    total, _ = lax.scan(lambda sum, x: (sum + gradient(local, x), None), zeros, batches)
    return reshard(total, on(LINE, None, None))


case("unreduced_accumulation", unreduced_accumulation, put(normal(6, 6), LINE), put(normal(3, 16, 6), LINE, None, "x"), mesh=LINE, tolerance=4e-6)


def unreduced_regions(x, w):
    S = PartitionSpec
    mapped = lambda f, ins, outs: jax.shard_map(f, mesh=LINE, in_specs=ins, out_specs=outs)
    sums = mapped(lambda x: lax.pcast(x.sum(0), "x", to="unreduced"), S("x"), S(unreduced={"x"}))(x)
    partial = jnp.einsum("ij,jk->ik", reshard(x, on(LINE, None, "x")), w, out_sharding=on(LINE, unreduced={"x"}))
    twice = mapped(lambda y: lax.psum(y + y, "x"), S(unreduced={"x"}), S())(partial)
    rows = mapped(lambda y: lax.psum_scatter(y, "x", tiled=True), S(unreduced={"x"}), S("x"))(partial)
    counts = mapped(lambda x: lax.pcast((x > 0).astype(jnp.int32).sum(0), "x", to="unreduced"), S("x"), S(unreduced={"x"}))(x)
    return reshard(sums, on(LINE, None)), twice, rows, reshard(counts, on(LINE, None))


case("unreduced_regions", unreduced_regions, put(x, LINE, "x"), put(w, LINE, "x"), mesh=LINE, tolerance=4e-6)


def explicit_and_auto(w, x):
    """The axis a is in types, and b is Shardy's to use."""
    loss = lambda w: jnp.mean((jax.nn.relu(x @ w[0]) @ w[1]) ** 2)
    gradients = jax.grad(loss)(w)
    mapped = jax.shard_map(lambda x: lax.psum(x.T @ x, "a"), mesh=MIXED, in_specs=PartitionSpec("a"), out_specs=PartitionSpec(), axis_names={"a"})
    return gradients, mapped(x)


case("explicit_and_auto", explicit_and_auto, (put(normal(8, 16), MIXED), put(normal(16, 4), MIXED)), put(normal(16, 8), MIXED, "a"),
     mesh=MIXED, tolerance=4e-6)
