"""Shared code of the make_*.py beside this file: groups of cases, evaluated by JAX and written as JSON.

A group is one program: parameters, and cases (an expression or a tuple of them each) whose values it returns. It runs on
several meshes, with annotations on the parameters that differ from mesh to mesh. Python evaluates an expression with the
language's names; if the language's text is not valid Python, the second text is Python's, or a function of the arguments.
"""

import json
import pathlib
import random

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax

DTYPES = {"f64": np.float64, "f32": np.float32, "bf16": ml_dtypes.bfloat16, "f16": np.float16, "i64": np.int64,
          "i32": np.int32, "i16": np.int16, "i8": np.int8, "u64": np.uint64, "u32": np.uint32, "u16": np.uint16,
          "u8": np.uint8, "bool": np.bool_}
NAMES = {np.dtype(v).name: k for k, v in DTYPES.items()}
FLOATS = ["f64", "f32", "bf16", "f16"]
INTEGERS = ["i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8"]
WIDE = ["f64", "i64", "u64"]

# The allowed relative difference from JAX's value: two units in the last place of the type, eight if both sides
# approximate (f32 and f64).
ULPS = {"f64": 8 * 2**-52, "f32": 8 * 2**-23, "bf16": 2 * 2**-8, "f16": 2 * 2**-11}

# Axes and their sizes. For the sizes of test data, some of these divide all of them, and some none.
MESHES = [{"a": 4, "b": 2}, {"a": 2, "b": 3}, {"a": 3, "b": 4}, {"a": 2, "b": 2, "c": 2}, {"a": 1, "b": 5}, {"a": 7},
          {"b": 8}]


class DType:
    """`f32` as a value, and `f32[2, 3]` as a type."""

    def __init__(self, name, shape=()):
        self.name, self.dtype, self.shape = name, DTYPES[name], shape

    def __getitem__(self, shape):
        return DType(self.name, shape if isinstance(shape, tuple) else (shape,))


def typed(t, otherwise):
    return (t.shape, t.dtype) if isinstance(t, DType) else (tuple(t), otherwise)


def extreme(elementwise, reduction):
    return lambda x, y=None, **kw: reduction(x, **kw) if y is None else elementwise(x, y)


def update_names():
    same = """exp exp2 expm1 log log1p log2 sqrt cbrt sin cos tan tanh sinh cosh abs sign floor ceil round maximum minimum
              where floor_divide sum prod mean var any all argmax argmin cumsum cumprod reshape transpose broadcast_to
              expand_dims squeeze concatenate stack split pad flip roll tile repeat eye tril triu einsum logical_and
              logical_or logical_not arange matmul take_along_axis argsort"""
    names = {k: DType(k) for k in DTYPES} | {k: getattr(jnp, k) for k in same.split()}
    names |= {k: getattr(jax.nn, k) for k in "relu silu sigmoid gelu softmax log_softmax logsumexp one_hot".split()}
    names |= {k: getattr(lax, k) for k in "rsqrt cummax stop_gradient".split()}
    names |= {
        "jnp": jnp, "np": np, "lax": lax, "jax": jax,
        "asin": jnp.arcsin, "acos": jnp.arccos, "atan": jnp.arctan, "atan2": jnp.arctan2, "pow": jnp.power,
        "erf": jax.scipy.special.erf, "erf_inv": jax.scipy.special.erfinv, "is_finite": jnp.isfinite,
        "is_nan": jnp.isnan, "true": True, "false": False, "inf": np.inf, "nan": np.nan,
        "max": extreme(jnp.maximum, jnp.max), "min": extreme(jnp.minimum, jnp.min),
        "clamp": lambda lo, x, hi: jnp.clip(x, lo, hi),
        "cast": lambda x, t: jnp.asarray(x).astype(t.dtype),
        "bitcast": lambda x, t: lax.bitcast_convert_type(x, t.dtype),
        "zeros": lambda t: jnp.zeros(*typed(t, jnp.float32)), "ones": lambda t: jnp.ones(*typed(t, jnp.float32)),
        "full": lambda t, v: jnp.full(typed(t, jnp.float32)[0], v, typed(t, jnp.float32)[1]),
        "iota": lambda t, axis=0: lax.broadcasted_iota(*reversed(typed(t, jnp.int32)), axis),
        "dot_general": lambda x, y, contract, batch=((), ()): lax.dot_general(x, y, (contract, batch)),
    }
    return names


def encode(x):
    """Returns the shortest texts that round to the same value; values that JSON numbers lack are strings."""
    x = np.asarray(x)
    dtype = NAMES[x.dtype.name]
    if dtype == "f64":
        values = [float(v) for v in x.ravel()]
    elif dtype in FLOATS:
        values = [float(str(v)) for v in x.ravel()]
    else:
        values = x.astype(object).ravel().tolist() if dtype != "bool" else x.astype(int).ravel().tolist()
    values = [str(v) if isinstance(v, float) and not np.isfinite(v) else
              int(v) if isinstance(v, float) and v == int(v) and abs(v) < 2**53 and str(v) != "-0.0" else v for v in values]
    return {"dtype": dtype, "shape": list(x.shape), "values": values}


class Group:
    """`parameters`: arrays by name. `declare`: functions and structs of the program. `wide`: JAX with 64-bit types."""

    def __init__(self, name, declare="", wide=False, python=None, meshes=None, **parameters):
        self.name, self.declare, self.wide = name, declare, wide
        self.parameters = {k: np.asarray(v) for k, v in parameters.items()}
        self.meshes, self.cases = meshes, []
        self.names = update_names() | {k: v for k, v in (python or {}).items()}

    def __call__(self, text, python=None, ulps=None, absolute=None, name=None):
        """`ulps`: None if the values must equal JAX's in every bit, else units of ULPS; `absolute`: an allowed
        difference relative to the largest element, for sums whose order is free."""
        with jax.enable_x64(self.wide):
            arguments = {k: jnp.asarray(v) for k, v in self.parameters.items()}
            for key, array in arguments.items():
                assert array.dtype == self.parameters[key].dtype, f"{self.name}: {key} needs wide"
            # Comprehensions see only globals.
            scope = self.names | arguments
            value = (python(*arguments.values()) if callable(python) else eval(python or text, scope))
            results = [encode(x) for x in jax.tree.leaves(value)]
        case = {"name": name or text, "text": text, "results": results}
        if ulps:
            case["ulps"] = ulps
        if absolute:
            case["absolute"] = absolute
        self.cases.append(case)

    def marks(self, rng, mesh, uneven):
        """Returns random shardings; with `uneven` only those that leave a remainder."""
        marks = {}
        for name, array in self.parameters.items():
            free = list(mesh)
            rng.shuffle(free)
            dims = []
            for size in array.shape:
                axes = free[:rng.choice([0, 1, 1, 1, 2])] if not uneven else \
                    next((some for some in ([k] for k in free) if size % mesh[some[0]]), [])
                free = [k for k in free if k not in axes]
                dims.append("" if not axes else f"@{axes[0]}" if len(axes) == 1 else "@(" + ", ".join(axes) + ")")
            marks[name] = dims
        return marks

    def json(self):
        rng = random.Random(self.name)
        runs = []
        for mesh in self.meshes or [rng.choice(MESHES[:3])] + rng.sample(MESHES[1:], 2):
            marks = self.marks(rng, mesh, uneven=not runs)
            runs.append({"mesh": ", ".join(f"{k}={v}" for k, v in mesh.items()), "marks": marks})
        return {"group": self.name, "declare": self.declare, "meshes": runs, "cases": self.cases,
                "parameters": [{"name": k} | encode(v) for k, v in self.parameters.items()]}


def write(script, groups):
    groups = [group.json() for group in groups]
    lines = ",\n".join(
        "{" + f'"group": {json.dumps(g["group"])}, "declare": {json.dumps(g["declare"])},\n "parameters": [\n  ' +
        ",\n  ".join(map(json.dumps, g["parameters"])) + '],\n "meshes": [\n  ' + ",\n  ".join(map(json.dumps, g["meshes"])) +
        '],\n "cases": [\n  ' + ",\n  ".join(map(json.dumps, g["cases"])) + "]}" for g in groups)
    path = pathlib.Path(script)
    path.with_name(path.stem.removeprefix("make_") + ".json").write_text(f"[\n{lines}\n]\n")
    print(path.stem, len(groups), "groups", sum(len(g["cases"]) for g in groups), "cases")
