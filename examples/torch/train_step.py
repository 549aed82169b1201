"""A training step of a PyTorch model, exported for spmdc (docs/pytorch.md): python train_step.py > train_step.mlir"""

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import jax
import jax.numpy as jnp
import torch
import torchax
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        hidden = torch.relu(self.up(self.norm(x)))
        return x + self.down(hidden)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block(256)
        self.head = torch.nn.Linear(256, 64)

    def forward(self, x):
        return self.head(self.block(x))


mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(AxisType.Auto, AxisType.Auto))
tensor_parallel = {"block.up.weight": P("model", None), "block.up.bias": P("model"), "block.down.weight": P(None, "model")}
params, model = torchax.extract_jax(Model())


def loss(p, x, y):
    return jnp.mean((model(p, (x,)) - y) ** 2)


def train_step(p, x, y):
    value, gradient = jax.value_and_grad(loss)(p, x, y)
    return value, jax.tree.map(lambda w, g: w - 0.1 * g, p, gradient)


shardings = {name: NamedSharding(mesh, tensor_parallel.get(name, P())) for name in params}
rows = NamedSharding(mesh, P("data"))
batch = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in ((512, 256), (512, 64))]
step = jax.jit(train_step, in_shardings=(shardings, rows, rows), out_shardings=(NamedSharding(mesh, P()), shardings),
               donate_argnums=0)
print(step.lower(params, *batch).as_text(debug_info=True))
