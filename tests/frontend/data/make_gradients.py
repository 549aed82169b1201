"""Writes gradients.txt: JAX's gradients of expressions of the language, in f64.

Run with JAX 0.10 in a virtual environment: python make_gradients.py > gradients.txt
A line `input NAME TYPE: VALUES` gives an argument. A case is a line with an expression E over the inputs, then four
lines `1 TYPE: VALUES`, the gradients of sum((E + 1) ** 2) with respect to each input, and where it is smooth enough
four lines `2 TYPE: VALUES`: the gradients of the sum of (G + 1) ** 2 over those gradients G. The inputs have zeros and
ties on purpose. If Python's expression differs, it follows the language's.
"""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")
import jax

jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import numpy as np

inputs = {
    "x": np.array([[0.0, 1.0, -1.5, 2.0], [1.0, 1.0, 0.5, -0.5], [0.25, -2.0, 0.0, 3.0]]),
    "y": np.array([[0.0, 2.0, -1.5, 1.0], [0.5, 1.0, -0.25, -0.5], [0.25, 2.0, 0.75, 3.0]]),
    "s": np.array([0.5, 1.25, 0.8, 2.0]),
    "p": np.array([[0.3, 0.9, 0.45, 0.6], [0.7, 0.15, 0.55, 0.85], [0.2, 0.4, 0.65, 0.75]]),
}
names = dict(
    {k: getattr(jnp, k) for k in """exp exp2 expm1 log log1p log2 sqrt cbrt sin cos tan tanh sinh cosh abs sign floor
       ceil round maximum minimum where floor_divide sum prod mean var cumsum cumprod reshape transpose broadcast_to
       expand_dims squeeze concatenate stack flip roll tile repeat tril triu einsum""".split()},
    rsqrt=jax.lax.rsqrt, asin=jnp.arcsin, acos=jnp.arccos, atan=jnp.arctan, atan2=jnp.arctan2,
    erf=jax.scipy.special.erf, erf_inv=jax.scipy.special.erfinv, sigmoid=jax.nn.sigmoid,
    max=lambda v, **kw: jnp.max(v, **kw), min=lambda v, **kw: jnp.min(v, **kw), logsumexp=jax.nn.logsumexp,
    cummax=jax.lax.cummax, pad=jnp.pad, relu=jax.nn.relu, silu=jax.nn.silu, gelu=jax.nn.gelu,
    softmax=jax.nn.softmax, log_softmax=jax.nn.log_softmax, stop_gradient=jax.lax.stop_gradient,
    clamp=jax.lax.clamp, checkpoint=jax.checkpoint, jax=jax, jnp=jnp)



def conv(x, kernel, strides, padding, numbers):
    return jax.lax.conv_general_dilated(x, kernel, (strides,) * (x.ndim - 2), padding, dimension_numbers=numbers)


def pool(x, window, init, function, strides):
    return jax.lax.reduce_window(x, init, function, (1, *window, 1), (1, strides, strides, 1), "VALID")


def norm(x, eps):
    return x / jnp.sqrt(jnp.mean(x * x, axis=-1, keepdims=True) + eps)


names.update(
    arange=jnp.arange, sort=jnp.sort, argsort=lambda v, axis: jnp.argsort(v, axis=axis, stable=True), top_k=jax.lax.top_k,
    take=lambda v, i, axis: jnp.take(v, jnp.array(i), axis=axis), take_along_axis=jnp.take_along_axis,
    scatter_add=lambda v, i, u: v.at[jnp.array(i)].add(u),
    update=lambda v, u, start: jax.lax.dynamic_update_slice(v, u, start),
    conv1d=lambda v, k, strides=1, padding="SAME": conv(v, k, strides, padding, ("NWC", "WIO", "NWC")),
    conv2d=lambda v, k, strides=1, padding="SAME": conv(v, k, strides, padding, ("NHWC", "HWIO", "NHWC")),
    max_pool=lambda v, window, strides=1: pool(v, window, -jnp.inf, jax.lax.max, strides),
    avg_pool=lambda v, window, strides=1: pool(v, window, 0.0, jax.lax.add, strides) / (window[0] * window[1]),
    layer_norm=lambda v, scale, bias: norm_of(v) * scale + bias, rms_norm=lambda v, scale: norm(v, 1e-6) * scale,
    cross_entropy=lambda logits, labels: -jnp.sum(labels * jax.nn.log_softmax(logits), axis=-1),
    attention=lambda q, k, v: jax.nn.softmax(q @ k.T / np.sqrt(q.shape[-1])) @ v)


def norm_of(v):
    return (v - jnp.mean(v, axis=-1, keepdims=True)) / jnp.sqrt(jnp.var(v, axis=-1, keepdims=True) + 1e-5)


# Twice differentiable: both orders are compared.
SMOOTH = [
    "exp(x)", "exp2(x)", "expm1(x)", "log(p)", "log1p(p)", "log2(p)", "sqrt(p)", "rsqrt(p)", "cbrt(p)", "sin(x)",
    "cos(x)", "tan(p)", "tanh(x)", "sinh(x)", "cosh(x)", "asin(p)", "acos(p)", "atan(x)", "erf(x)", "erf_inv(p)",
    "sigmoid(x)", "-x", "x + y", "x - y * s", "x * y", "x / p", "y / s", "p ** y", "p ** p", "x ** 3", "x ** 2", "p ** -2",
    "p ** 0.5", "atan2(x, p)", "sum(x * y)", "sum(x * y, axis=0)", "sum(x * p, axis=1, keepdims=True)",
    "mean(x * y, axis=-1)", "var(x, axis=1)", "prod(p, axis=0)", "prod(x)", "prod(x, axis=1)", "cumsum(x * y, axis=1)",
    "cumprod(p, axis=1)", "cumprod(x, axis=0)", "cumprod(x, axis=1)", "logsumexp(x)", "logsumexp(x, axis=1)",
    "reshape(x * y, [2, 6])", "transpose(x * y)", "x.T @ y", "x @ y.T", "x @ s", "s @ x.T", "s @ s",
    "einsum('ij,ij->i', x, y)", "einsum('ij,kj->ik', x, p)", "einsum('ij,kj,j->ki', x, y, s)", "einsum('ii->i', x @ y.T)",
    "broadcast_to(s, [3, 4]) * x", "expand_dims(s, 0) * x", "concatenate([x, p], axis=0) ** 2",
    "stack([x, y], axis=1) ** 2", "flip(x, axis=1) * y", "roll(x, 1, axis=1) * y", "tile(s, [2, 3]) ** 2",
    "repeat(x, 2, axis=1) ** 2", "tril(x) * y", "triu(x, k=1) * y", "x[1:, ::2] * y[:2, 1::2]", "x[0] * s", "x[-1, 2] * s",
    "pad(x, ((1, 0), (0, 2))) ** 2", "softmax(x)", "softmax(x, axis=0)", "log_softmax(x * s)", "silu(x)", "gelu(x)",
    "x * stop_gradient(y)", "stop_gradient(x) * x", "exp(sin(x * y) / (1.0 + x ** 2))", "x - mean(x, axis=1, keepdims=True)",
    "sort(p, axis=1) * s", "sort(p, axis=0) * x", "top_k(p, 2)[0] * s[:2]", "take(x, arange(3) % 2 * 2, axis=0) * p",
    "take_along_axis(x, argsort(p, axis=1), axis=1) * y", "scatter_add(x, (arange(3) + 1) % 2, y) ** 2",
    "update(x, y[:2, :2], start=[1, 1]) * p", "conv1d(reshape(x, [1, 4, 3]), reshape(p, [2, 3, 2])) ** 2",
    "conv1d(reshape(x, [2, 3, 2]), reshape(p, [3, 2, 2]), strides=2, padding='VALID') ** 2",
    "conv2d(reshape(x, [1, 3, 4, 1]), reshape(p, [2, 3, 1, 2])) ** 2",
    "conv2d(reshape(x, [1, 3, 4, 1]), reshape(p[:2, :2], [2, 2, 1, 1]), strides=2) ** 2",
    "avg_pool(reshape(x * y, [1, 3, 4, 1]), [2, 2])", "avg_pool(reshape(x * y, [1, 3, 4, 1]), [2, 2], strides=2)",
    "layer_norm(p, s, s * s)", "rms_norm(p, s)", "cross_entropy(x, p)", "attention(x, p, y)",
]
# Kinks, steps and ties: the first order is compared.
KINKED = [
    "abs(x)", "sign(x) * x", "floor(x) * x", "ceil(p) * p", "round(x) * y", "maximum(x, y)", "minimum(x, y)",
    "maximum(x, 0.0)", "relu(x)", "max(x, axis=0)", "max(x, axis=1, keepdims=True)", "max(x)", "min(x, axis=1)", "min(y)",
    "cummax(x, axis=1)", "cummax(x, axis=0)", "where(x > y, x, y * s)", "where(x > 0.5, x ** 2, 0.0)",
    "clamp(-1.0, x, 1.0)", "clamp(-p, x, p)", "y % p", "floor_divide(y, p) * y", "relu(x @ y.T) @ x",
    "sort(x, axis=1) * s", "max_pool(reshape(p, [1, 3, 4, 1]), [2, 2]) ** 2",
    "max_pool(reshape(p * s, [1, 3, 4, 1]), [2, 3], strides=2)",
]


def case(expression, smooth):
    python = expression.replace("keepdims=true", "keepdims=True")
    argnums = tuple(range(len(inputs)))

    def first(*arguments):
        value = eval(python, dict(names), dict(zip(inputs, arguments)))
        return jnp.sum((value + 1.0) ** 2)

    def second(*arguments):
        return sum(jnp.sum((g + 1.0) ** 2) for g in jax.grad(first, argnums)(*arguments))

    arguments = [jnp.asarray(v) for v in inputs.values()]
    print(expression.replace("True", "true").replace("'", '"'))
    for order, function in ((1, first), (2, second)):
        if order == 2 and not smooth:
            continue
        for gradient in jax.grad(function, argnums)(*arguments):
            assert bool(jnp.all(jnp.isfinite(gradient))), (expression, order)
            print(order, show(gradient))


def show(value):
    value = np.asarray(value, np.float64)
    return f"f64[{', '.join(map(str, value.shape))}]: " + " ".join(repr(float(v)) for v in value.reshape(-1))


print(f"# made by make_gradients.py with JAX {jax.__version__}")
for name, value in inputs.items():
    print("input", name, show(value))
for expression in SMOOTH:
    case(expression, True)
for expression in KINKED:
    case(expression, False)
