"""Writes values.txt: JAX's results for expressions of the language.

Run with JAX 0.10 in a virtual environment: python make_values.py > values.txt
A line `input NAME TYPE: VALUES` gives an argument; two lines `EXPRESSION` and `= TYPE [weak]: VALUES` give a case.
Those of expressions.txt, and some of weak values, are evaluated by Python under the language's names.
"""

import pathlib

import jax
import jax.numpy as jnp
import numpy as np


DTYPES = {"f32": jnp.float32, "bf16": jnp.bfloat16, "f16": jnp.float16, "i32": jnp.int32, "i8": jnp.int8,
          "u32": jnp.uint32, "u8": jnp.uint8, "bool": jnp.bool_}
BACK = {"float32": "f32", "bfloat16": "bf16", "float16": "f16", "int32": "i32", "int8": "i8", "uint32": "u32",
        "uint8": "u8", "bool": "bool", "int16": "i32"}  # Of i8 with u8.


class DType:
    """`f32` as a value, and `f32[2, 3]` as a type."""

    def __init__(self, name, shape=()):
        self.name, self.dtype, self.shape = name, DTYPES[name], shape

    def __getitem__(self, shape):
        return DType(self.name, shape if isinstance(shape, tuple) else (shape,))


def shaped(t, otherwise):
    return (t.dtype, t.shape) if isinstance(t, DType) else (otherwise, tuple(t))


def filled(value):
    return lambda t: jnp.full(shaped(t, jnp.float32)[1], value, shaped(t, jnp.float32)[0])


def extreme(elementwise, reduction):
    return lambda x, y=None, **kw: reduction(x, **kw) if y is None else elementwise(x, y)


def running(function, v, axis, reverse):
    if axis is None:
        v, axis = v.ravel(), 0
    return jnp.flip(function(jnp.flip(v, axis), axis), axis) if reverse else function(v, axis)


def scattered(v, index, updates, axis=0):
    return v.at[(slice(None),) * axis + (index,)].add(updates)


def split_any(v, n, axis=0):
    return jax.random.split(v, n) if jnp.issubdtype(v.dtype, jax.dtypes.prng_key) else jnp.split(v, n, axis)


rng = np.random.default_rng(7)
inputs = {
    "x": rng.normal(size=(3, 4)).astype(np.float32) * 2,
    "y": rng.normal(size=(4,)).astype(np.float32),
    "p": rng.uniform(0.05, 0.95, size=(2, 3)).astype(np.float32),
    "t": rng.normal(size=(2, 3, 4)).astype(np.float32),
    "s": np.float32(1.75),
    "i": np.array([[5, -3, 0], [7, 2, -8]], np.int32),
    "j": np.array([3, -2, 4], np.int32),
    "u": np.array([0, 1, 200, 255], np.uint8),
    "w": np.array([1, 4000000000, 7], np.uint32),
    "c": np.array([100, -128, 27], np.int8),
    "b": np.array([[True, False, True], [False, False, True]]),
    "h": jnp.array([1.5, -2.25, 3.0, 0.1], jnp.bfloat16),
    "n": np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, 2.5, -0.5], np.float32),
}
jnp_inputs = {k: jnp.asarray(v) for k, v in inputs.items()}
names = dict(
    {k: DType(k) for k in DTYPES}, **jnp_inputs,
    **{k: getattr(jnp, k) for k in """exp exp2 expm1 log log1p log2 sqrt cbrt sin cos tan tanh sinh cosh abs sign
       floor ceil round maximum minimum where floor_divide sum prod mean var any all argmax argmin reshape
       transpose broadcast_to expand_dims squeeze concatenate stack flip roll tile repeat eye tril triu einsum
       logical_and logical_or logical_not arange matmul""".split()},
    rsqrt=lambda v: jax.lax.rsqrt(v.astype(jnp.float32) if v.dtype == jnp.int32 else v), asin=jnp.arcsin,
    acos=jnp.arccos, atan=jnp.arctan, atan2=jnp.arctan2, erf=jax.scipy.special.erf, erf_inv=jax.scipy.special.erfinv,
    sigmoid=jax.nn.sigmoid, pow=jnp.power, is_finite=jnp.isfinite, is_nan=jnp.isnan,
    clamp=lambda lo, v, hi: jnp.clip(v, lo, hi), cast=lambda v, t: jnp.asarray(v).astype(t.dtype),
    bitcast=lambda v, t: jax.lax.bitcast_convert_type(v, t.dtype), max=extreme(jnp.maximum, jnp.max),
    min=extreme(jnp.minimum, jnp.min), logsumexp=jax.nn.logsumexp, cummax=jax.lax.cummax,
    cumsum=lambda v, axis=None, reverse=False: running(jnp.cumsum, v, axis, reverse),
    cumprod=lambda v, axis=None, reverse=False: running(jnp.cumprod, v, axis, reverse),
    pad=lambda v, w, constant_values=0: jnp.pad(v, w, constant_values=constant_values),
    zeros=filled(0), ones=filled(1), full=lambda t, v: jnp.full(t.shape, v, t.dtype),
    iota=lambda t, axis=0: jax.lax.broadcasted_iota(*shaped(t, jnp.int32), axis), one_hot=jax.nn.one_hot,
    dot_general=lambda a, b, contract, batch=((), ()): jax.lax.dot_general(a, b, (contract, batch)),
    relu=jax.nn.relu, silu=jax.nn.silu, gelu=jax.nn.gelu, softmax=jax.nn.softmax, log_softmax=jax.nn.log_softmax,
    layer_norm=lambda v, a, b, eps=1e-5: (v - v.mean(-1, keepdims=True)) / jnp.sqrt(v.var(-1, keepdims=True) + eps) * a + b,
    rms_norm=lambda v, a, eps=1e-6: v / jnp.sqrt((v * v).mean(-1, keepdims=True) + eps) * a,
    cross_entropy=lambda l, y: -(jax.nn.log_softmax(l) * (y if y.ndim == l.ndim else jax.nn.one_hot(y, l.shape[-1]))).sum(-1),
    attention=lambda q, k, v, causal=False: jax.nn.dot_product_attention(
        q[:, :, None], k[:, :, None], v[:, :, None], is_causal=causal)[:, :, 0],
    take=jnp.take, take_along_axis=jnp.take_along_axis, sort=jnp.sort, argsort=jnp.argsort, split=split_any, top_k=jax.lax.top_k,
    update=lambda v, u, start: jax.lax.dynamic_update_slice(v, u, start), scatter_add=scattered,
    key=jax.random.key, fold_in=jax.random.fold_in, key_data=jax.random.key_data,
    wrap_key_data=jax.random.wrap_key_data,
    bits=lambda k, t: jax.random.bits(k, t.shape, t.dtype),
    uniform=lambda k, t, minval=0.0, maxval=1.0: jax.random.uniform(k, t.shape, t.dtype, minval, maxval),
    normal=lambda k, t: jax.random.normal(k, t.shape, t.dtype),
    bernoulli=lambda k, p, t=None: jax.random.bernoulli(k, p, t and t.shape),
    randint=lambda k, t, low, high: jax.random.randint(k, t.shape, low, high, t.dtype),
    categorical=lambda k, v, axis=-1: jax.random.categorical(k, v, axis),
    stop_gradient=jax.lax.stop_gradient, true=True, false=False, inf=jnp.inf, nan=jnp.nan)

cases = [line for line in pathlib.Path(__file__).with_name("expressions.txt").read_text().splitlines() if line[0] != "#"]

# gelu is not here: JAX rounds its constants to the array, so that the result is strong; ours, written in the language,
# stays weak.
# Results of weak values alone: an i32 that is weak because it adds a bool and a literal, and such an f32.
WEAK_INTEGER, WEAK_FLOAT = "(b + 2)", "(b * 0.5 + 0.25)"
FLOAT_FUNCTIONS = """exp exp2 expm1 log log1p log2 sqrt cbrt sin cos tan tanh sinh cosh erf atan round floor ceil abs sign
relu logsumexp is_finite is_nan sum prod mean var min max cumsum cumprod cummax sort squeeze transpose stop_gradient
all any argmax""".split()
BOTH = """$ + $;$ - 1;1.5 * $;$ / $;$ / 2;$ % $;$ ** $;$ ** 2;-$;floor_divide($, $);pow($, $);maximum($, $);maximum($, 0)
where(b, $, $);where(b, $, 2.5);clamp(0, $, 1);clamp(0.0, $, 1.0);concatenate([$, $], axis=0);stack([$, $]);flip($)
pad($, [[1, 0], [0, 2]]);tile($, 2);repeat($, 2, axis=0);take($, j, axis=1);take_along_axis($, argsort($), axis=1)
reshape($, [3, 2]);broadcast_to($, [2, 2, 3]);expand_dims($, 0);$[0];$[:, 1:];roll($, 1, axis=0);top_k($, 2)[0]
$ @ $.T;einsum("ij,kj->ik", $, $);dot_general($, $, ([1], [1]));tril($);softmax($);log_softmax($)
atan2($, $)""".replace("\n", ";").split(";")
for weak in (WEAK_INTEGER, WEAK_FLOAT):
    cases += [f"{name}({weak})" for name in FLOAT_FUNCTIONS] + [text.replace("$", weak) for text in BOTH]


def show(value):
    flat = np.asarray(value.astype(jnp.float32) if value.dtype == jnp.bfloat16 else value).ravel()
    if flat.dtype == bool:
        flat = flat.astype(int)
    return " ".join(repr(v.item()) for v in flat)


def type_of(value):
    return f"{BACK[value.dtype.name]}{list(value.shape)}"


print(f"# made by make_values.py with JAX {jax.__version__}")
for name, value in jnp_inputs.items():
    print(f"input {name} {type_of(value)}: {show(value)}")
for case in cases:
    dsl, _, python = case.partition(" ||| ")
    result = jnp.asarray(eval(python or dsl, dict(vars(), jnp=jnp, **names)))
    if isinstance(result, (int, float)):
        result = jnp.asarray(result)
    print(dsl)
    print(f"= {type_of(result)}{' weak' if result.weak_type else ''}: {show(result)}")
