"""The list of exported programs, and what they are written with."""

import dataclasses

import jax
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec

CASES = []
MESH = jax.make_mesh((4, 2), ("a", "b"), axis_types=(AxisType.Auto, AxisType.Auto))
rng = np.random.default_rng(7)


@dataclasses.dataclass
class Case:
    name: str
    function: object
    arguments: tuple
    options: dict
    tolerance: float
    wide: bool  # With 64-bit types in JAX.
    platform: str  # For which it is exported; JAX computes its results on CPUs.
    has_shardy: bool  # Its shardings are exported in the form of Shardy, or else of GSPMD.
    on_one_device: bool  # XLA cannot partition it: JAX computes its results without the shardings.
    mesh: object  # `jax.set_mesh` while it is traced and run, as axes of type Explicit need.


def P(*axes):
    return NamedSharding(MESH, PartitionSpec(*axes))


def case(name, function, *arguments, tolerance=2e-6, wide=False, platform="cpu", has_shardy=True, on_one_device=False, mesh=None,
         **options):
    """`tolerance` is relative to the largest element of a result; options are jax.jit's."""
    CASES.append(Case(name, function, arguments, options, tolerance, wide, platform, has_shardy, on_one_device, mesh))


def both(name, function, *arguments, shardings=P("a"), on_one_device=False, **options):
    """The program on one device, and with its arguments sharded over eight: by a tuple, or all of them alike."""
    case(name, function, *arguments, **options)
    if not isinstance(shardings, tuple):
        shardings = tuple(shardings for _ in arguments)
    case(name + "_sharded", function, *arguments, in_shardings=shardings, on_one_device=on_one_device, **options)


def normal(*shape, dtype=np.float32):
    return rng.normal(size=shape).astype(dtype)


def integers(low, high, *shape, dtype=np.int32):
    return rng.integers(low, high, size=shape).astype(dtype)
