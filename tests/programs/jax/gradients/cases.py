"""The cases, and how one is made from a program of the language and the same program in Python."""

import jax
import numpy as np
from jax import lax

rng = np.random.default_rng(20)
CASES = []


def normal(*shape):
    return rng.normal(size=shape).astype(np.float32)


def integers(low, high, *shape):
    return rng.integers(low, high, size=shape).astype(np.int32)


def encode(x):
    x = np.asarray(x)
    dtype = {"float32": "f32", "int32": "i32", "bool": "bool"}[x.dtype.name]
    # The shortest text that rounds to the same f32.
    values = [float(str(v)) for v in x.ravel()] if dtype == "f32" else x.astype(int).ravel().tolist()
    return {"dtype": dtype, "shape": list(x.shape), "values": values}


def add(name, sizes, text, results, arguments, tolerance=4e-6):
    CASES.append({"name": f"{name}_{sizes[0]}x{sizes[1]}",
                  "program": f"mesh m(a={sizes[0]}, b={sizes[1]})\n{text}",
                  "arguments": [encode(x) for x in arguments],
                  "results": [encode(x) for x in jax.tree.leaves(results)], "tolerance": tolerance})


def case(name, text, function, arguments, meshes=((4, 2), (1, 1), (3, 2), (2, 4)), tolerance=4e-6):
    """A global program: one value on all meshes, of which the third divides no dimension."""
    results = jax.jit(function)(*arguments)
    for sizes in meshes:
        add(name, sizes, text, results, arguments, tolerance)


def manual(name, text, function, arguments, meshes=((4, 2), (2, 4), (8, 1), (1, 1)), tolerance=4e-6):
    """`function(mesh)` returns the function of the arguments."""
    for sizes in meshes:
        mesh = jax.make_mesh(sizes, ("a", "b"), devices=jax.devices()[:sizes[0] * sizes[1]],
                             axis_types=(jax.sharding.AxisType.Auto,) * 2)
        add(name, sizes, text, jax.jit(function(mesh))(*arguments), arguments, tolerance)


def shard_map(mesh, f, in_specs, out_specs):
    return jax.shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=True)


def loop(low, high, body, init):
    return lax.fori_loop(low, high, body, init)
