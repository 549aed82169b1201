#!/usr/bin/env python3
"""Compares random programs with JAX: a function of the language has the semantics of jax.numpy under the same name.

    spmd-fuzz --count 2000 --export programs.jsonl
    python check_with_jax.py programs.jsonl

Needs JAX, and is therefore run by hand. Each line of the file is a program, its arguments, and the results of the
global evaluator, with the error that correct code may have (see export in spmd-fuzz --help)."""

import ast
import builtins
import json
import sys

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax

DTYPES = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "f16": np.float16, "i32": np.int32, "i16": np.int16,
          "i8": np.int8, "u32": np.uint32, "u16": np.uint16, "u8": np.uint8, "bool": np.bool_}


class Type:
    """`f32` and `f32[8, 4]`."""

    def __init__(self, dtype, shape=()):
        self.dtype, self.shape = dtype, shape

    def __getitem__(self, shape):
        return Type(self.dtype, shape if isinstance(shape, tuple) else (shape,))


def typed(t, otherwise):
    return t if isinstance(t, Type) else Type(otherwise, tuple(t))


def extreme(reduce, elementwise):
    def function(x, y=None, axis=None, keepdims=False):
        return elementwise(x, y) if y is not None else reduce(x, axis=axes(axis), keepdims=keepdims)
    return function


def axes(axis):
    return tuple(axis) if isinstance(axis, list) else axis


def reduction(function):
    return lambda x, axis=None, keepdims=False: function(x, axis=axes(axis), keepdims=keepdims)


def iota(t, axis=0):
    t = typed(t, np.int32)
    return lax.broadcasted_iota(t.dtype, t.shape, axis % len(t.shape))


def dot_general(x, y, contract, batch=([], [])):
    return lax.dot_general(x, y, (contract, batch))


def cummax(x, axis=0, reverse=False):
    numbers = x.astype(jnp.int32) if x.dtype == bool else x
    return lax.cummax(numbers, axis % x.ndim, reverse).astype(x.dtype)


def running(function):
    """cumsum or cumprod, over all elements if no axis is given, from either end."""
    def call(x, axis=None, reverse=False):
        if axis is None:
            x, axis = jnp.ravel(x), 0
        return jnp.flip(function(jnp.flip(x, axis), axis), axis) if reverse else function(x, axis)
    return call


def power(x, y):
    """StableHLO's power of integers. JAX uses only the lowest six bits of the exponent, even if it is negative."""
    if jnp.issubdtype(x.dtype, jnp.floating):
        return x ** y
    dtype = jnp.result_type(x, y) if x.dtype != bool or y.dtype != bool else np.dtype(np.int32)
    bits = 8 * dtype.itemsize

    def element(b, e):
        if e < 0:
            return b ** (e & 1) if abs(b) == 1 else 0
        return pow(b, e, 1 << bits)
    values = [element(int(b), int(e)) for b, e in zip(*(v.ravel().tolist() for v in np.broadcast_arrays(x, y)))]
    shape = np.broadcast_shapes(x.shape, y.shape)
    return np.array([v % (1 << bits) for v in values], np.uint64).astype(f"u{dtype.itemsize}").astype(dtype).reshape(shape)


def layer_norm(x, scale, bias, eps):
    mean, var = jnp.mean(x, axis=-1, keepdims=True), jnp.var(x, axis=-1, keepdims=True)
    return (x - mean) * lax.rsqrt(var + jnp.asarray(eps, var.dtype)) * scale + bias


def rms_norm(x, scale, eps):
    square = jnp.mean(x * x, axis=-1, keepdims=True)
    return x * lax.rsqrt(square + jnp.asarray(eps, square.dtype)) * scale


def cross_entropy(logits, labels):
    return -jnp.sum(jax.nn.one_hot(labels, logits.shape[-1]) * jax.nn.log_softmax(logits), axis=-1)


def attention(q, k, v, causal=False):
    scores = jnp.einsum("...qd,...kd->...qk", q, k) / q.shape[-1] ** 0.5
    if causal:
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -jnp.inf)
    return jnp.einsum("...qk,...kd->...qd", jax.nn.softmax(scores), v)


def index(x):
    """The same index in i32, in which JAX computes indices: there a u32 that is out of bounds may be a negative index."""
    return jnp.minimum(x, np.uint32(2**31 - 1)).astype(np.int32) if getattr(x, "dtype", None) == np.uint32 else x


class Indexing(ast.NodeTransformer):
    """`x[i, 2:]` becomes `x[index(i), 2:]`."""

    def visit_Subscript(self, node):  # pylint: disable=invalid-name
        self.generic_visit(node)

        def with_index(part):
            is_computed = isinstance(part, (ast.Name, ast.Call, ast.BinOp, ast.Subscript))
            return ast.Call(ast.Name("index", ast.Load()), [part], []) if is_computed else part

        if isinstance(node.slice, ast.Tuple):
            node.slice.elts = [with_index(part) for part in node.slice.elts]
        else:
            node.slice = with_index(node.slice)
        return node


def update(x, v, start):
    return lax.dynamic_update_slice(x, v, [jnp.asarray(index(i), np.int32) for i in start])


def is_key(x):
    return jnp.issubdtype(getattr(x, "dtype", np.dtype(np.float32)), jax.dtypes.prng_key)


def split(x, n=2, axis=0):
    return jax.random.split(x, n) if is_key(x) else jnp.split(x, n, axis)


def scatter_add(x, indices, v, axis=0):
    return x.at[(slice(None),) * (axis % x.ndim) + (indices,)].add(v)


def dropout(key, x, rate):
    keep = jax.random.bernoulli(key, 1.0 - rate, x.shape)
    return jnp.where(keep, x / (1.0 - rate), 0).astype(x.dtype) if rate < 1.0 else jnp.zeros_like(x)


def draw(function):
    return lambda key, t, *bounds, **named: function(key, t.shape, *bounds, dtype=t.dtype, **named)


def random_names():
    table = {name: draw(getattr(jax.random, name)) for name in "bits uniform normal".split()}
    table.update(
        key=jax.random.key, split=split, key_data=jax.random.key_data, wrap_key_data=jax.random.wrap_key_data,
        fold_in=jax.random.fold_in, dropout=dropout,
        bernoulli=lambda key, p, t: jax.random.bernoulli(key, p, t.shape),
        randint=lambda key, t, low, high: jax.random.randint(key, t.shape, low, high, t.dtype),
        categorical=lambda key, logits, axis=-1: jax.random.categorical(key, logits, axis=axis))
    return table


def lookup_names():
    return dict(
        index=index, take=jnp.take, take_along_axis=lambda x, i, axis=-1: jnp.take_along_axis(x, index(i), axis=axis),
        update=update, scatter_add=scatter_add,
        sort=lambda x, axis=-1: jnp.sort(x, axis=axis), argsort=lambda x, axis=-1: jnp.argsort(x, axis=axis),
        top_k=lax.top_k)


def names():
    """Returns the language's names, from jax.numpy if it has them."""
    table = {name: getattr(jnp, name) for name in
             """exp exp2 expm1 log log1p log2 sqrt cbrt sin cos tan tanh sinh cosh abs sign floor ceil maximum minimum
             pow where reshape transpose broadcast_to expand_dims squeeze concatenate stack pad flip roll tile repeat
             einsum matmul arange eye tril triu floor_divide logical_and logical_or logical_not argmax
             argmin""".split()}
    table.update({name: getattr(jax.nn, name) for name in "relu silu gelu softmax log_softmax one_hot".split()})
    table.update({name: Type(dtype) for name, dtype in DTYPES.items()})
    table.update({name: reduction(getattr(jnp, name)) for name in "sum prod mean var any all".split()})
    table.update(
        asin=jnp.arcsin, acos=jnp.arccos, atan=jnp.arctan, atan2=jnp.arctan2, is_finite=jnp.isfinite, is_nan=jnp.isnan,
        round=lambda x: x if x.dtype == bool else jnp.round(x), sigmoid=lambda x: jax.nn.sigmoid(floating(x)),
        power=power, rsqrt=lambda x: lax.rsqrt(floating(x)), erf=lambda x: lax.erf(floating(x)),
        erf_inv=lambda x: lax.erf_inv(floating(x)), logsumexp=reduction(jax.nn.logsumexp),
        max=extreme(jnp.max, jnp.maximum), min=extreme(jnp.min, jnp.minimum), clamp=lambda lo, x, hi: jnp.clip(x, lo, hi),
        cast=lambda x, t: lax.convert_element_type(x, t.dtype),
        bitcast=lambda x, t: lax.bitcast_convert_type(x, t.dtype), cummax=cummax,
        cumsum=running(jnp.cumsum), cumprod=running(jnp.cumprod),
        zeros=lambda t: jnp.zeros(typed(t, np.float32).shape, typed(t, np.float32).dtype),
        ones=lambda t: jnp.ones(typed(t, np.float32).shape, typed(t, np.float32).dtype),
        full=lambda t, v: jnp.full(t.shape, v, t.dtype), iota=iota, dot_general=dot_general, layer_norm=layer_norm,
        rms_norm=rms_norm, cross_entropy=cross_entropy, attention=attention, like=lambda x, y: x,
        stop_gradient=lax.stop_gradient)
    return {**table, **random_names(), **lookup_names()}


def floating(x):
    return x if jnp.issubdtype(x.dtype, jnp.floating) else x.astype(jnp.float32)


def array(value):
    return np.array(value["elements"], dtype=np.float64 if "f" in value["dtype"] else np.int64).astype(
        DTYPES[value["dtype"]]).reshape(value["shape"])


def difference(actual, expected):
    """Returns how a result is wrong, or an empty text."""
    want = array(expected)
    if actual.shape != want.shape or actual.dtype != want.dtype:
        return f"is {actual.dtype}{list(actual.shape)} instead of {want.dtype}{list(want.shape)}"
    got, want = np.asarray(actual).astype(np.float64).ravel(), want.astype(np.float64).ravel()
    # JAX on CPU may round bf16 at other operations and flushes denormal numbers.
    error = 0 if expected["exact"] else 2 * expected["error"] + 1e-37
    with np.errstate(invalid="ignore"):
        same = (got == want) | (np.isnan(got) & np.isnan(want)) | (np.abs(got - want) <= error)
    if same.all():
        return ""
    i = int(np.argmin(same))
    return f"element {i} is {got[i]!r} in JAX and {want[i]!r} here (allowed error {error:.3g})"


def check(case, table):
    scope = dict(table)
    program = ast.fix_missing_locations(Indexing().visit(ast.parse(case["python"])))
    exec(compile(program, "program", "exec"), scope)  # pylint: disable=exec-used
    results = scope["program"](*[jnp.asarray(array(value)) for value in case["arguments"]])
    for actual, expected in zip(results, case["results"]):
        if text := difference(jnp.asarray(actual), expected):
            return f"{expected['name']} {text}"
    return ""


def main():
    table, failures, count = names(), 0, 0
    for line in open(sys.argv[1]):
        case = json.loads(line)
        count += 1
        try:
            text = check(case, table)
        except Exception as error:  # pylint: disable=broad-except
            text = f"JAX refuses it: {type(error).__name__}: {builtins.str(error).splitlines()[0]}"
        if text:
            failures += 1
            print(f"seed {case['seed']}: {text}\n{case['text']}\n{case['python']}", flush=True)
        if count % 20 == 0:
            jax.clear_caches()
    print(f"{count} programs compared with JAX {jax.__version__}: {failures} differ")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
