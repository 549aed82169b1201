"""A program of the language as a function of JAX: its operations one by one, its annotations as JAX's shardings.

spmdc prints the program after differentiation in MLIR's generic form; MLIR's parser (part of jaxlib) reads it, and JAX
evaluates it while tracing. So JAX, with Shardy and XLA's partitioner, gets the same operations under the same
annotations; if JAX cannot express or run the program, `Unsupported` names the reason.

Import this before jax: it asks for DEVICES CPU devices, of which a mesh may take some.
"""

import functools
import math
import os
import re
import subprocess

DEVICES = 32
os.environ.setdefault("XLA_FLAGS", f"--xla_force_host_platform_device_count={DEVICES}")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # XLA warns of each array that it fully gathers.

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402
from jax.extend.random import threefry2x32_p  # noqa: E402
from jax.sharding import AxisType, NamedSharding, PartitionSpec  # noqa: E402
from jaxlib.mlir import ir  # noqa: E402

jax.config.update("jax_enable_x64", True)

DTYPES = {"bool": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16",
          "u32": "uint32", "u64": "uint64", "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}
COMPARISONS = [lax.eq, lax.ne, lax.lt, lax.le, lax.gt, lax.ge]
REDUCTIONS = ["sum", "prod", "max", "min", "any", "all"]
# The array dialect has StableHLO's names; these are JAX's for the same.
ELEMENTWISE = {
    "exp": lax.exp, "exp2": lax.exp2, "expm1": lax.expm1, "log": lax.log, "log1p": lax.log1p, "log2": jnp.log2,
    "sqrt": lax.sqrt, "rsqrt": lax.rsqrt, "cbrt": lax.cbrt, "sin": lax.sin, "cos": lax.cos, "tan": lax.tan,
    "tanh": lax.tanh, "sinh": lax.sinh, "cosh": lax.cosh, "asin": lax.asin, "acos": lax.acos, "atan": lax.atan,
    "floor": lax.floor, "ceil": lax.ceil, "round_nearest_even": jnp.round, "erf": lax.erf, "erf_inv": lax.erf_inv,
    "logistic": lax.logistic, "abs": lax.abs, "negate": lax.neg, "sign": lax.sign, "not": lax.bitwise_not,
    "popcnt": lax.population_count, "is_finite": lax.is_finite, "add": jnp.add, "subtract": lax.sub,
    "multiply": jnp.multiply, "divide": lax.div, "remainder": lax.rem, "power": jnp.power, "atan2": lax.atan2,
    "maximum": lax.max, "minimum": lax.min, "and": lax.bitwise_and, "or": lax.bitwise_or, "xor": lax.bitwise_xor,
    "shift_left": lax.shift_left, "shift_right_arithmetic": lax.shift_right_arithmetic,
    "shift_right_logical": lax.shift_right_logical, "select": lax.select, "clamp": lax.clamp,
    "stop_gradient": lax.stop_gradient, "optimization_barrier": lax.optimization_barrier,
}


class Unsupported(Exception):
    """A program that JAX cannot express or refuses."""


class Type:
    """`f32[8@a, 4]`: dtype, shape, and for each dimension its axes, or None where propagation may choose them."""

    def __init__(self, text):
        match = re.fullmatch(r"!spmd\.array<(\w+)\[(.*?)\](.*)>", str(text))
        if not match or match.group(3) or match.group(1) not in DTYPES:
            raise Unsupported(f"the type {text}")
        self.dtype = jnp.dtype(DTYPES[match.group(1)])
        dims = re.findall(r'(\d+)(?:@("[^"]*"|[^,\s]+))?', match.group(2))
        self.shape = tuple(int(size) for size, _ in dims)
        self.axes = [axes(text) for _, text in dims]

    def isMarked(self):
        return any(dim is not None for dim in self.axes)

    def spec(self):
        return PartitionSpec(*(PartitionSpec.UNCONSTRAINED if dim is None else dim for dim in self.axes))


def axes(text):
    text = text.strip('"').removesuffix("!0")  # The default priority.
    if not text or text == "?":
        return None
    if re.search(r"[?!:]", text):
        raise Unsupported(f"'@{text}'")
    return () if text == "_" else tuple(re.findall(r"\w+", text))


def parse(build, text, function="main"):
    """The program's function, and its mesh as a dictionary."""
    command = ["spmdc", "compile", "/dev/stdin", "--emit=array", "--fn", function]
    array = run(build, command, text)
    generic = run(build, ["spmd-opt", "-", "--spmdc-differentiate", "--canonicalize", "--cse", "--mlir-print-op-generic"], array)
    # Unregistered operations have no properties: `<{...}>` before regions moves to the attributes.
    generic = re.sub(r'"array\.for"(\(.*?\)) <\{lower = (-?\d+) : i64, upper = (-?\d+) : i64\}> \(\{',
                     r'"array.for \2 \3"\1 ({', generic)
    generic = re.sub(r'"func\.func"\(\) <\{.*\}> \(\{', '"func.func"() ({', generic)
    generic = re.sub(r"<(\{.*?\})> :", r"\1 :", generic)
    context = ir.Context()
    context.allow_unregistered_dialects = True
    module = ir.Module.parse(generic, context)
    if "spmd.mesh" not in module.operation.attributes:
        raise Unsupported("nothing: there is no mesh")
    mesh = re.search(r"#spmd\.mesh<\w+((?:, \w+=\d+)*)>", str(module.operation.attributes["spmd.mesh"])).group(1)
    return module, {axis: int(size) for axis, size in re.findall(r"(\w+)=(\d+)", mesh)}


def run(build, command, text):
    result = subprocess.run([build / "bin" / command[0], *command[1:]], input=text, capture_output=True, text=True)
    if result.returncode:
        raise SystemExit(result.stderr)
    return result.stdout


class Evaluator:
    """Traces the blocks of a module; `mesh` is JAX's."""

    def __init__(self, mesh):
        self.mesh = mesh

    def sharding(self, type):
        return NamedSharding(self.mesh, type.spec())

    def block(self, block, values, arguments):
        """The yielded values of the block. `values`: those from outside, by MLIR value."""
        values = dict(values)
        values.update(zip(block.arguments, arguments))
        for view in block.operations:
            op = view.operation
            operands = [values[operand] for operand in op.operands]
            if op.name in ("array.yield", "func.return"):
                return operands
            results = self.evaluate(op, operands, values)
            for result, value in zip(op.results, results):
                type = Type(result.type)
                if value.shape != type.shape or value.dtype != type.dtype:
                    raise AssertionError(f"{op.name} gives {value.dtype}{value.shape}: {op}")
                values[result] = value

    def evaluate(self, op, operands, values):
        name, *numbers = op.name.removeprefix("array.").split(" ")
        if name in ELEMENTWISE:
            return [ELEMENTWISE[name](*operands)]
        if name == "for":
            return self.loop(op, operands, values, *map(int, numbers))
        if name == "while":
            condition, body = (region.blocks[0] for region in op.regions)
            return lax.while_loop(lambda carries: self.block(condition, values, carries)[0],
                                  lambda carries: self.block(body, values, carries), operands)
        if name == "if":
            arms = [functools.partial(self.block, region.blocks[0], values, []) for region in op.regions]
            return lax.cond(operands[0], *arms)
        if name == "print":
            return []
        method = getattr(self, name.replace("spmd.", "").replace(".", "_"), None)
        if not method:
            raise Unsupported(f"'{op.name}'")
        return [method(Attributes(op), Type(op.results[0].type), *operands)]

    def loop(self, op, operands, values, lower, upper):
        body = op.regions[0].blocks[0]
        return lax.fori_loop(jnp.int32(lower), jnp.int32(upper),
                             lambda i, carries: self.block(body, values, [i, *carries]), operands)

    def constraint(self, attributes, type, x):
        return lax.with_sharding_constraint(x, self.sharding(type)) if type.isMarked() else x

    def constant(self, attributes, type):
        value = attributes.op.attributes["value"]
        if value.is_splat:
            return jnp.full(type.shape, splat(value.get_splat_value(), type.dtype))
        return jnp.asarray(np.array(value)).astype(type.dtype)

    def iota(self, attributes, type):
        return lax.broadcasted_iota(type.dtype, type.shape, attributes.number("dim"))

    def broadcast_in_dim(self, attributes, type, x):
        return lax.broadcast_in_dim(x, type.shape, attributes.list("dims"))

    def reshape(self, attributes, type, x):
        return lax.reshape(x, type.shape)

    def transpose(self, attributes, type, x):
        return lax.transpose(x, attributes.list("perm"))

    def slice(self, attributes, type, x):
        return lax.slice(x, attributes.list("starts"), attributes.list("limits"), attributes.list("strides"))

    def pad(self, attributes, type, x, value):
        return lax.pad(x, value, list(zip(*(attributes.list(key) for key in ("low", "high", "interior")))))

    def concatenate(self, attributes, type, *operands):
        return lax.concatenate(operands, attributes.number("dim"))

    def reverse(self, attributes, type, x):
        return lax.rev(x, attributes.list("dims"))

    def dot_general(self, attributes, type, x, y):
        contract, batch = (tuple(attributes.list(side + which) for side in ("lhs", "rhs")) for which in ("Contract", "Batch"))
        return lax.dot_general(x, y, (contract, batch), preferred_element_type=type.dtype)

    def einsum(self, attributes, type, *operands):
        labels = [list(dims) for dims in attributes.op.attributes["labels"]] + [attributes.list("resultLabels")]
        numbers = {label: number for number, label in enumerate(dict.fromkeys(sum(map(list, labels), [])))}
        lists = [[numbers[label] for label in dims] for dims in labels]
        return jnp.einsum(*sum(([x, dims] for x, dims in zip(operands, lists)), []), lists[-1])

    def reduce(self, attributes, type, x):
        kind, dims = REDUCTIONS[attributes.number("kind")], tuple(attributes.list("dims"))
        if kind in ("sum", "prod"):
            return getattr(jnp, kind)(x, axis=dims, dtype=type.dtype)
        return getattr(jnp, kind)(x, axis=dims)

    def arg_reduce(self, attributes, type, x):
        is_max = str(attributes.op.attributes["isMax"]) == "true"
        return (lax.argmax if is_max else lax.argmin)(x, attributes.number("dim"), jnp.int32)

    def cumulative(self, attributes, type, x):
        scans = {"sum": lax.cumsum, "prod": lax.cumprod, "max": lax.cummax, "min": lax.cummin}
        kind = REDUCTIONS[attributes.number("kind")]
        return scans[kind](x, attributes.number("dim"), reverse="reversed" in attributes.op.attributes)

    def compare(self, attributes, type, x, y):
        return COMPARISONS[attributes.number("direction")](x, y)

    def convert(self, attributes, type, x):
        return x != 0 if type.dtype == bool and x.dtype != bool else lax.convert_element_type(x, type.dtype)

    def bitcast_convert(self, attributes, type, x):
        return lax.bitcast_convert_type(x, type.dtype)

    def dynamic_slice(self, attributes, type, x, *starts):
        return lax.dynamic_slice(x, starts, attributes.list("sizes"))

    def dynamic_update_slice(self, attributes, type, x, update, *starts):
        return lax.dynamic_update_slice(x, update, starts)

    def take(self, attributes, type, x, indices):
        return jnp.take(x, indices, axis=attributes.number("dim"), mode="clip")

    def take_along(self, attributes, type, x, indices):
        return jnp.take_along_axis(x, indices, axis=attributes.number("dim"), mode="clip")

    def scatter_add(self, attributes, type, x, indices, updates):
        dim = attributes.number("dim")
        at = (slice(None),) * dim + (indices,)
        # Indices out of range are dropped, also negative ones, which JAX would count from the end.
        indices = jnp.where(indices < 0, x.shape[dim], indices)
        at = at[:-1] + (indices,)
        return x.at[at].max(updates, mode="drop") if x.dtype == bool else x.at[at].add(updates, mode="drop")

    def scatter_add_along(self, attributes, type, x, indices, updates):
        dim = attributes.number("dim")
        at = list(jnp.ogrid[tuple(slice(size) for size in indices.shape)])
        at[dim] = jnp.where(indices < 0, x.shape[dim], indices)
        return x.at[tuple(at)].add(updates, mode="drop")

    def argsort(self, attributes, type, x):
        descending = str(attributes.op.attributes["descending"]) == "true"
        return jnp.argsort(x, axis=attributes.number("dim"), descending=descending).astype(jnp.int32)

    def threefry2x32(self, attributes, type, k0, k1, c0, c1):
        return threefry2x32_p.bind(k0, k1, c0, c1)[attributes.number("word")]


class Attributes:
    def __init__(self, op):
        self.op = op

    def number(self, name):
        return int(re.match(r"-?\d+", str(self.op.attributes[name])).group())

    def list(self, name):
        """`array<i64: 1, 2>`, of none `array<i64>`."""
        return list(map(int, re.findall(r"-?\d+", str(self.op.attributes[name]).partition(":")[2])))


def splat(attribute, dtype):
    """The value of one element; MLIR prints values that decimals cannot express as bits."""
    text = str(attribute).split(" : ")[0]
    if text.startswith("0x"):
        bits = np.array(int(text, 16)).astype(f"uint{dtype.itemsize * 8}")
        return bits.view(dtype)
    return np.array({"true": True, "false": False}.get(text) if text in ("true", "false") else
                    (float(text) if jnp.issubdtype(dtype, jnp.floating) else int(text))).astype(dtype)


def compile(build, text, function="main"):
    """The program as JAX compiles it for its mesh."""
    module, sizes = parse(build, text, function)
    devices = math.prod(sizes.values())
    if devices > len(jax.devices()):
        raise Unsupported(f"{devices} devices")
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:devices]).reshape(tuple(sizes.values())), tuple(sizes),
                             axis_types=(AxisType.Auto,) * len(sizes))
    evaluator = Evaluator(mesh)
    body = next(op for op in module.body.operations if op.operation.name == "func.func").operation.regions[0].blocks[0]
    parameters = [Type(argument.type) for argument in body.arguments]
    results = [Type(operand.type) for operand in body.operations[len(body.operations) - 1].operation.operands]

    def place(type):
        """JAX needs a sharding of all dimensions or none; axes have to divide sizes."""
        if not type.isMarked() and type.shape:
            return None
        marked = [dim or () for dim in type.axes]
        for size, dim in zip(type.shape, marked):
            if size % math.prod(sizes[axis] for axis in dim):
                raise Unsupported("sizes that their axes do not divide")
        return NamedSharding(mesh, PartitionSpec(*marked))

    traced = jax.jit(lambda *arguments: evaluator.block(body, {}, arguments),
                     in_shardings=tuple(map(place, parameters)), out_shardings=list(map(place, results)))
    return traced.lower(*(jax.ShapeDtypeStruct(type.shape, type.dtype) for type in parameters)).compile()
