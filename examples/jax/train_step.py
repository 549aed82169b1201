"""A training step of a small network, exported for spmdc (docs/jax.md): python train_step.py > train_step.mlir"""

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(AxisType.Auto, AxisType.Auto))


def sharded(*axes):
    return NamedSharding(mesh, P(*axes))


def predict(p, x):
    hidden = jax.nn.gelu(x @ p["w1"] / 16 + p["b1"])
    return hidden @ p["w2"] / 32


def loss(p, x, y):
    return jnp.mean((predict(p, x) - y) ** 2)


def train_step(p, x, y):
    value, gradient = jax.value_and_grad(loss)(p, x, y)
    return value, jax.tree.map(lambda w, g: w - 5.0 * g, p, gradient)


shapes = {"w1": (256, 1024), "b1": (1024,), "w2": (1024, 64)}
params = {name: jax.ShapeDtypeStruct(shape, jnp.float32) for name, shape in shapes.items()}
batch = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in ((512, 256), (512, 64))]
shardings = {"w1": sharded(None, "model"), "b1": sharded("model"), "w2": sharded(None, "model")}
step = jax.jit(train_step, in_shardings=(shardings, sharded("data"), sharded("data")), out_shardings=(sharded(), shardings),
               donate_argnums=0)
print(step.lower(params, *batch).as_text(debug_info=True))
