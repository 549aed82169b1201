"""Several meshes of the same devices, and shardings in the form of GSPMD."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from cases import P, case

rng = np.random.default_rng(22)
f32 = np.float32
LINE = jax.make_mesh((8,), ("x",), axis_types=(AxisType.Auto,))
WIDE = jax.make_mesh((2, 4), ("m", "n"), axis_types=(AxisType.Auto, AxisType.Auto))


def on(mesh, *axes):
    return NamedSharding(mesh, PartitionSpec(*axes))


def normal(*shape):
    return rng.normal(size=shape).astype(f32)


def mixed_meshes(x, w):
    x = lax.with_sharding_constraint(jnp.tanh(x @ w), on(LINE, "x"))
    x = lax.with_sharding_constraint(x + 1, on(WIDE, "m", "n"))
    total = jax.shard_map(lambda x: lax.psum(x.sum(0), "x"), mesh=LINE, in_specs=PartitionSpec("x"), out_specs=PartitionSpec())(x)
    return x, total


case("several_meshes", mixed_meshes, normal(16, 8), normal(8, 8), in_shardings=(P("a"), P(None, "b")), tolerance=4e-6)


def constraints(x, w):
    y = lax.with_sharding_constraint(x @ w, P("b", "a"))
    z = lax.with_sharding_constraint(y + 1, P(PartitionSpec.UNCONSTRAINED, "a"))
    return jnp.sin(y), z.sum(0), lax.with_sharding_constraint(z.T, P(("b", "a")))


case("gspmd_shardings", constraints, normal(8, 16), normal(16, 8), in_shardings=(P(("a", "b")), P(None, "b")),
     out_shardings=(P("a"), P(), None), has_shardy=False, tolerance=4e-6)
case("gspmd_replicated", lambda x: jnp.cumsum(x), normal(8), in_shardings=P(), out_shardings=P(), has_shardy=False)
