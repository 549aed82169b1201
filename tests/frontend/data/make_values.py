"""Writes values.txt: what JAX makes of expressions of the language.

Run with JAX 0.10 in a virtual environment: python make_values.py > values.txt
A line `input NAME TYPE: VALUES` gives an argument; two lines `EXPRESSION` and `= TYPE [weak]: VALUES` give a case.
Expressions are evaluated by Python under the language's names; where the spelling differs, the second one is Python's.
"""

import jax
import jax.numpy as jnp
import numpy as np


DTYPES = {"f32": jnp.float32, "bf16": jnp.bfloat16, "f16": jnp.float16, "i32": jnp.int32, "i8": jnp.int8,
          "u32": jnp.uint32, "u8": jnp.uint8, "bool": jnp.bool_}
BACK = {"float32": "f32", "bfloat16": "bf16", "float16": "f16", "int32": "i32", "int8": "i8", "uint32": "u32",
        "uint8": "u8", "bool": "bool", "int16": "i32"}  # There is no i16 in the language.


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
    bits=lambda k, t: jax.random.bits(k, t.shape, t.dtype),
    uniform=lambda k, t, minval=0.0, maxval=1.0: jax.random.uniform(k, t.shape, t.dtype, minval, maxval),
    normal=lambda k, t: jax.random.normal(k, t.shape, t.dtype),
    bernoulli=lambda k, p, t=None: jax.random.bernoulli(k, p, t and t.shape),
    randint=lambda k, t, low, high: jax.random.randint(k, t.shape, low, high, t.dtype),
    categorical=lambda k, v, axis=-1: jax.random.categorical(k, v, axis),
    stop_gradient=jax.lax.stop_gradient, true=True, false=False, inf=jnp.inf, nan=jnp.nan)

cases = """
x + y
x - y
x * s
y / s
x @ y
y @ x.T
x.T @ x
t @ x.T
t @ y
y @ transpose(t, [0, 2, 1])
t @ transpose(t, [0, 2, 1])
t[:, None] @ transpose(t, [0, 2, 1])
b @ b.T
i @ j
(i + 1.0) @ (j + 1.0)
-x
1 - x
2.5 / y
x ** 2
x ** 3
x ** -2
y ** 0.5
p ** p
i ** 3
2 ** abs(j)
i ** abs(i)
b ** 2
i + j
i + 1.0
i / j
i / 2
b / 2
i % j
i % -3
x % 0.7
x % -0.7
floor_divide(i, j)
floor_divide(x, 0.3)
floor_divide(x, -0.3)
floor_divide(u, 7)
u % 7
u + 1
u + 300
u - 1
c + c
c + 1.0
h + 1
h + 1.0
h * x[0]
h + u
u * c[0]
w + 1
b + b
b * b
b + 1
b & true ||| b & True
b | (i > 0)
b ^ (i > 0)
i & 6
i | 8
i ^ j
i << 2
i >> 1
u >> 1
w >> 4
c << 1
-i
!b ||| logical_not(b)
!i ||| logical_not(i)
b && i ||| logical_and(b, i)
b || x[:2, :3] > 0.0 ||| logical_or(b, x[:2, :3] > 0.0)
x > y
x <= 0
i == 5
i != j
u >= 1
u == 300 ||| jnp.zeros(4, jnp.bool_)
n == n
n < 0.0
exp(x)
exp(i)
exp2(x)
expm1(x)
log(p)
log1p(p)
log2(p)
sqrt(p)
sqrt(u)
rsqrt(p)
cbrt(x)
sin(x)
cos(x)
tan(p)
tanh(x)
sinh(x)
cosh(x)
asin(p)
acos(p)
atan(x)
atan2(x, y)
atan2(i, j)
erf(x)
erf_inv(p)
sigmoid(x)
exp(2.0)
sqrt(h)
abs(x)
abs(i)
abs(c)
abs(u)
abs(b)
sign(x)
sign(i)
floor(x)
ceil(x)
round(n)
floor(i)
maximum(x, y)
minimum(x, 0.5)
maximum(n, 1.0)
max(x, y)
min(i, 0)
maximum(i, 1.5)
where(b, i, 0)
where(b, 1.0, 2.0)
where(b, 1, 0)
where(x > 0, x, y)
where(i, 1.0, j)
is_finite(n)
is_nan(n)
is_finite(i)
is_nan(i)
clamp(-1.0, x, 1.0)
clamp(0, i, 3)
cast(x, i32)
cast(n[1:], i32) ||| jnp.array([2147483647, -2147483648, 0, 0, 1, 2, 0], jnp.int32)
cast(x, bf16)
cast(i, bool)
cast(b, f32)
cast(i, u8)
cast(2.7, i32)
cast(1, bf16)
bitcast(y, i32)
bitcast(i, u32)
sum(x)
sum(x, axis=0)
sum(x, axis=-1, keepdims=true)
sum(t, axis=[0, 2])
sum(t, axis=[-1, 0], keepdims=true)
sum(b)
sum(c)
sum(u)
sum(i + 1.0)
sum(h)
prod(p)
prod(x, axis=1)
prod(u)
max(x)
max(x, axis=1)
max(i, axis=0, keepdims=true)
max(b)
min(b, axis=0)
min(x, axis=[0, 1])
max(n)
min(i + 1.0)
mean(x)
mean(x, axis=0)
mean(i)
mean(b)
mean(h)
var(x)
var(x, axis=1, keepdims=true)
var(i)
var(h)
any(b)
all(b, axis=1)
any(x > 3.0, axis=0)
all(i)
argmax(x)
argmax(x, axis=0)
argmin(x, axis=1, keepdims=true)
argmax(x, keepdims=true)
argmax(n)
argmax(b, axis=1)
logsumexp(x)
logsumexp(x, axis=1)
logsumexp(x, axis=0, keepdims=true)
logsumexp(i)
logsumexp(n[2:])
cumsum(x, axis=1)
cumsum(x)
cumsum(b, axis=0)
cumsum(c)
cumprod(x, axis=0)
cummax(i, axis=1)
cummax(x)
cumsum(x, axis=0, reverse=true)
cumsum(x, reverse=true)
cumsum(b, axis=-1, reverse=true)
cumsum(n, reverse=true)
cumprod(x, axis=1, reverse=true)
cummax(i, axis=1, reverse=true)
cummax(n, reverse=true)
reshape(x, [2, 6])
reshape(x, [-1])
reshape(x, (4, -1))
reshape(x, 12)
reshape(s, [1, 1])
transpose(x)
transpose(t, [2, 0, 1])
transpose(t, [-1, 0, 1])
t.T
broadcast_to(y, [2, 3, 4])
broadcast_to(2.0, [2])
expand_dims(x, 0)
expand_dims(x, -1)
expand_dims(x, [0, 3])
squeeze(x[:, :1])
squeeze(x[:, :1], axis=1)
squeeze(x[None, :, 1:2], axis=[0, -1])
concatenate([x, x * 2], axis=1)
concatenate([x, t[0]])
concatenate([i + 1.0, i], axis=-1)
concatenate([h, y])
stack([y, y + 1])
stack([y, y + 1, y], axis=-1)
stack([j, j + 1.0], axis=1)
split(x, 2, axis=1)[1]
split(t, 3, axis=-2)[0]
split(y, [1, 3])[1]
split(y, [1, 3])[2]
pad(x, ((1, 0), (0, 2)))
pad(x, ((1, 0), (0, 2)), constant_values=7)
pad(y, 2)
pad(x, (1, 2), constant_values=-1.5)
flip(x)
flip(x, axis=1)
flip(t, axis=[0, -1])
roll(y, 1)
roll(x, -1, axis=1)
roll(x, 5)
roll(t, 2, axis=[0, 2])
tile(y, [2])
tile(x, [2, 3])
tile(x, 2)
tile(y, [2, 1, 2])
repeat(y, 2)
repeat(x, 3, axis=0)
repeat(x, 2, axis=-1)
x[1]
x[-1]
x[1, 2]
x[1:]
x[:, 1:3]
x[::2, ::-1]
x[::-1]
x[-2:, -3:-1]
x[5:]
x[:-10]
x[2:0:-1, 3:0:-2]
x[:, None, 1]
x[..., 0]
t[0, ..., 1:]
t[..., None]
t[1, :, ::3]
x[..., 1::2]
x[3:1]
y[None, :, None]
(i + 1.0)[0]
zeros(f32[2, 3])
zeros([2, 3])
ones(i32[2])
full(bf16[2], 1.5)
full(f32[2, 4], y)
iota(i32[2, 3], axis=1)
iota([3])
iota(f32[3, 2])
arange(5)
arange(2, 7)
arange(7, 1, -2)
arange(0.0, 1.0, 0.25)
arange(3.0)
arange(1, 2)
eye(3)
eye(2, 3)
eye(3, 3, 1)
tril(x)
triu(x)
tril(x, k=1)
triu(t, -1)
tril(b)
one_hot(j, 4)
one_hot(i, 6)
einsum("ij,kj->ik", x, x)
einsum("ij,j", x, y)
einsum("ij->ji", x)
einsum("ij->", x)
einsum("ij->j", x)
einsum("ii->i", x[:, :3])
einsum("ii", x[:, :3])
einsum("iij->j", t[:, :2])
einsum("bij,bkj->bik", t, t)
einsum("i,j->ij", y, y)
einsum("ij,jk,kl->il", x, x.T, x)
einsum("ij,ij->", x, x)
einsum("...ij,kj->...ik", t, x)
einsum("b...,b...->...", t, t)
einsum("ij, jk", x, x.T)
einsum("bij,bij,j->b", t, t, y)
einsum("i,i", j, j + 1.0)
einsum("...ij,...j->...i", t, y)
einsum("iii->i", t[:, :2, :2])
einsum("abc,bd->acd", t, x[:, :2])
dot_general(x, x, contract=([1], [1]))
dot_general(t, t, contract=([2], [2]), batch=([0], [0]))
dot_general(x, y, contract=([1], [0]))
dot_general(y, y, contract=([], []))
relu(x)
relu(i)
silu(x)
gelu(x)
gelu(x, approximate=false)
softmax(x)
softmax(x, axis=0)
log_softmax(x)
softmax(n[3:])
softmax(zeros(f32[0, 2]), axis=0) ||| jax.nn.softmax(jnp.zeros((0, 2)), axis=0)
log_softmax(zeros([3, 0])) ||| jax.nn.log_softmax(jnp.zeros((3, 0)))
max(zeros([0, 3]), axis=0, initial=-1.5) ||| jnp.max(jnp.zeros((0, 3)), axis=0, initial=-1.5)
min(zeros([3, 0]), axis=1, keepdims=true, initial=inf) ||| jnp.min(jnp.zeros((3, 0)), axis=1, keepdims=True, initial=jnp.inf)
max(x, axis=0, initial=0.5) ||| jnp.max(x, axis=0, initial=0.5)
min(i, initial=-3) ||| jnp.min(i, initial=-3)
layer_norm(x, y, s)
rms_norm(x, y)
cross_entropy(x, j % 4)
cross_entropy(x, softmax(x))
attention(t, t, t * 2)
attention(t, t, t * 2, causal=true)
softmax(h)
x.T.T[0]
(x * 2 + y).T @ x - 1
sum(x > y)
mean((x - mean(x, axis=0)) ** 2)
take(x, j, axis=0)
take(x, j, axis=1)
take(x, i, axis=1)
take(x, i)
take(t, j[0], axis=1)
take(u, i)
take(c, i)
take(w, i)
take(i, j, axis=0)
take(b, j, axis=1)
take(h, i)
take(x, u, axis=1)
take(x, arange(0), axis=1)
take_along_axis(x, argmax(x, axis=1, keepdims=true), axis=1)
take_along_axis(x, i[0][:, None] % 9, axis=1)
take_along_axis(t, iota([2, 1, 4]), axis=1) ||| jnp.take_along_axis(t, jax.lax.broadcasted_iota(jnp.int32, (2, 1, 4), 0), axis=1)
x[j[0]] ||| x[2]
x[j[1], 1:] ||| x[1, 1:]
t[:, j[2], ::-1] ||| t[:, 2, ::-1]
t[j[0], j[1] + 1] ||| t[1, 2]
x[:, abs(j) % 4]
update(x, x[:1, :2] * 2, start=[j[1], 0])
update(x, x[:2] * 2, start=[j[0], j[2]]) ||| jax.lax.dynamic_update_slice(x, x[:2] * 2, (1, 0))
update(y, y[:1] + 1, start=[j[0]])
update(i, i[:, :1], start=[1, 1])
scatter_add(x, j, t[0], axis=0)
scatter_add(y, i, 1.0) ||| y.at[i].add(1.0)
scatter_add(t, j[:2], t[:, :2] * 3, axis=1)
scatter_add(zeros(i32[10]), i, 1) ||| jnp.zeros(10, jnp.int32).at[i].add(1)
sort(x)
sort(x, axis=0)
sort(t, axis=1)
sort(n)
argsort(n)
argsort(i, axis=0)
sort(h)
sort(w)
sort(c)
sort(b)
argsort(b, axis=1)
top_k(x, 2)[0]
top_k(x, 2)[1]
top_k(i, 3)[0]
top_k(n[:3], 2)[1]
key_data(key(42))
key_data(key(-1))
key_data(key(4000000000)) ||| jax.random.key_data(jax.random.key(np.uint32(4000000000)))
key_data(fold_in(key(42), 7)) >> 16
key_data(fold_in(key(42), 7)) & 65535
key_data(fold_in(key(3), j[0])) & 65535
key_data(split(key(42), 3)) >> 16
key_data(split(key(42), 3)) & 65535
key_data(split(key(42), 3)[1]) & 65535
bits(key(42), u32[3, 5]) >> 16
bits(key(42), u32[3, 5]) & 65535
bits(key(42), u8[7])
bits(key(42), u32) & 65535
bitcast(uniform(key(42), f32[3, 5]), u32) >> 16
bitcast(uniform(key(42), f32[3, 5]), u32) & 65535
bitcast(uniform(key(1), f32[9], minval=0.1, maxval=0.7), u32) & 65535
bitcast(uniform(key(1), f32[4], minval=y, maxval=3.0), u32) & 65535
uniform(key(2), bf16[9])
uniform(key(2), f16[9])
uniform(key(2), f16[9], minval=-2.0, maxval=2.0)
normal(key(42), f32[3, 5])
normal(key(42), bf16[5])
normal(key(42), f16[5])
bernoulli(key(42), 0.3, bool[3, 5])
bernoulli(key(42), p)
randint(key(42), i32[3, 5], 0, 10)
randint(key(42), i32[5], -7, 1000000)
randint(key(42), i32[5], 5, 5)
randint(key(42), i32[5], 5, -5)
randint(key(42), u8[9], 0, 256)
randint(key(42), i8[9], -128, 128)
randint(key(42), i8[9], -5, 100)
randint(key(42), u32[5], 0, 1000000007)
randint(key(42), i32[3], j - 5, j)
categorical(key(42), x)
categorical(key(42), x, axis=0)
"""

# gelu is not here: JAX rounds its constants to the array, so that the result is strong; ours, written in the language,
# stays weak.
# What is made of weak values alone: an i32 that is weak because a bool met a literal, and such an f32.
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
    cases += "\n".join([f"{name}({weak})" for name in FLOAT_FUNCTIONS] + [text.replace("$", weak) for text in BOTH] + [""])


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
for case in cases.strip().splitlines():
    dsl, _, python = case.partition(" ||| ")
    result = jnp.asarray(eval(python or dsl, dict(vars(), jnp=jnp, **names)))
    if isinstance(result, (int, float)):
        result = jnp.asarray(result)
    print(dsl)
    print(f"= {type_of(result)}{' weak' if result.weak_type else ''}: {show(result)}")
