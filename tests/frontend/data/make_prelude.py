"""Writes prelude.txt: JAX's results for windows, optimisers and other functions of structs.

Run with JAX 0.10 in a virtual environment: python make_prelude.py > prelude.txt
The format is that of values.txt (make_values.py), with `decl TEXT` for declarations that the expressions use. Each case
is an expression of the language, then ` ||| ` and the same in Python.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.example_libraries import optimizers
from jax.nn import gelu, silu

rng = np.random.default_rng(11)


def normal(*shape):
    return rng.normal(size=shape).astype(np.float32)


inputs = {
    "q": normal(2, 6, 5, 3),
    "k": normal(3, 2, 3, 4),
    "r": normal(2, 7, 3),
    "l": normal(4, 3, 2),
    "w": normal(3, 4),
    "b": normal(4),
    "gw": normal(3, 4) * 3,
    "gb": normal(4) * 3,
    "z": rng.integers(-100, 100, size=(1, 5, 4, 2)).astype(np.int32),
    "h": jnp.array(normal(1, 4, 4, 2), jnp.bfloat16),
    "step": np.int32(2),
    "t": normal(1, 90, 2),
}
inputs = {name: jnp.asarray(value) for name, value in inputs.items()}
globals().update(inputs)

DECLS = """
struct Pair { w: f32[3, 4], b: f32[4] }
fn pair(w, b) -> Pair { return Pair { w: w, b: b }; }
fn adams(p, g) {
  let (p, m, v) = adam(p, zeros(Pair), zeros(Pair), g, 0, lr=0.1);
  let (p, m, v) = adam(p, m, v, 0.5 * g, 1, lr=0.1);
  let (p, m, v) = adam(p, m, v, p, 2, lr=0.1);
  return p;
}
fn momenta(p, g) {
  let (p, v) = momentum(p, zeros(Pair), g, lr=0.1, mass=0.8);
  let (p, v) = momentum(p, v, p, lr=0.1, mass=0.8);
  return p;
}
"""


def steps(optimizer, *gradients):
    """The gradients applied in turn; None stands for the parameters themselves."""
    init, update, get = optimizer
    state = init({"w": w, "b": b})
    for i, gradient in enumerate(gradients):
        state = update(i, get(state) if gradient is None else gradient, state)
    return get(state)


def conv(x, kernel, strides=1, padding="SAME", dilation=1):
    names = {3: ("NWC", "WIO", "NWC"), 4: ("NHWC", "HWIO", "NHWC")}[x.ndim]
    spread = lambda v: (v,) * (x.ndim - 2) if isinstance(v, int) else tuple(v)
    return lax.conv_general_dilated(x, kernel, spread(strides), padding, rhs_dilation=spread(dilation),
                                    dimension_numbers=names, precision=lax.Precision.HIGHEST)


def pool(x, init, op, window, strides, padding):
    spread = lambda v: (v,) * (x.ndim - 2) if isinstance(v, int) else tuple(v)
    padding = padding if isinstance(padding, str) else ((0, 0), *padding, (0, 0))
    return lax.reduce_window(x, init, op, (1, *spread(window), 1), (1, *spread(strides), 1), padding)


def max_pool(x, window, strides=1, padding="VALID"):
    least = -np.inf if x.dtype != jnp.int32 else np.iinfo(np.int32).min
    return pool(x, np.array(least, x.dtype)[()], lax.max, window, strides, padding)


def avg_pool(x, window, strides=1, padding="VALID"):
    total = pool(x.astype(jnp.float32), np.float32(0), lax.add, window, strides, padding)
    count = window ** (x.ndim - 2) if isinstance(window, int) else np.prod(window)
    return (total / count).astype(x.dtype if x.dtype != jnp.int32 else jnp.float32)


g = {"w": gw, "b": gb}
half = {"w": 0.5 * gw, "b": 0.5 * gb}
clip = optimizers.clip_grads

cases = """
conv2d(q, k)
conv2d(q, k, strides=2)
conv2d(q, k, strides=[2, 1], padding="VALID")
conv2d(q, k, padding=[(1, 2), (0, 3)])
conv2d(q, k, dilation=2)
conv2d(q, k, 3, "SAME", [1, 2])
conv2d(q[:, :2], k, padding="VALID")
conv2d(q, k, padding="Valid")
conv2d(z, cast(k[:, :, :2] * 3, i32)) ||| conv(z, (k[:, :, :2] * 3).astype(jnp.int32))
conv1d(r, l)
conv1d(r, l, strides=3)
conv1d(r, l, padding="same")
conv1d(r, l, padding="VALID", dilation=2)
conv1d(r, l, padding=[(4, 0)])
relu(conv2d(conv2d(q, k), transpose(k, [0, 1, 3, 2]), strides=2)) ||| jax.nn.relu(conv(conv(q, k), k.transpose(0, 1, 3, 2), strides=2))
max_pool(q, 2)
max_pool(q, 2, 2)
max_pool(q, [3, 2], [2, 1], "SAME")
max_pool(q, 3, 1, [(1, 1), (2, 0)])
max_pool(r, 7)
max_pool(z, [2, 3], padding="SAME")
max_pool(z, [2, 3], padding="same")
max_pool(h, 2, 2)
avg_pool(q, 2)
avg_pool(q, [2, 5], [2, 5])
avg_pool(q, 3, 2, "SAME")
avg_pool(r, 3, 2, "sAmE")
avg_pool(r, 3, 1, [(2, 2)])
avg_pool(z, 2, 2)
avg_pool(h, 2, 2)
max_pool(t, 13)
max_pool(t, 40)
max_pool(t, 90)
max_pool(t, 14, 14)
max_pool(t, 30, 20)
max_pool(t, 35, 20, "SAME")
max_pool(t, 20, 45)
max_pool(t, 50, 7, [(30, 40)])
max_pool(t, 300, padding="SAME")
max_pool(t, 300, 50, [(250, 260)])
avg_pool(t, 14)
avg_pool(t, 64)
avg_pool(t, 67)
avg_pool(t, 89, padding="SAME")
avg_pool(t, 90)
avg_pool(t, 73, 7)
avg_pool(t, 30, 20, "SAME")
avg_pool(t, 14, 33)
avg_pool(t, 300, padding="SAME")
max_pool(where(t > 2.0, nan, t), 20) ||| max_pool(jnp.where(t > 2.0, jnp.nan, t), 20)
avg_pool(where(t > 2.0, inf, t), 22) ||| avg_pool(jnp.where(t > 2.0, jnp.inf, t), 22)
pair(w, b).w ||| w
sgd(pair(w, b), pair(gw, gb), lr=0.1).w ||| steps(optimizers.sgd(0.1), g)["w"]
sgd(pair(w, b), pair(gw, gb)).b ||| steps(optimizers.sgd(1e-2), g)["b"]
sgd(w, gw, 0.5) ||| w - 0.5 * gw
momenta(pair(w, b), pair(gw, gb)).w ||| steps(optimizers.momentum(0.1, 0.8), g, None)["w"]
momenta(pair(w, b), pair(gw, gb)).b ||| steps(optimizers.momentum(0.1, 0.8), g, None)["b"]
adams(pair(w, b), pair(gw, gb)).w ||| steps(optimizers.adam(0.1), g, half, None)["w"]
adams(pair(w, b), pair(gw, gb)).b ||| steps(optimizers.adam(0.1), g, half, None)["b"]
adam(w, gw, gw ** 2, gw, step)[0] ||| w - 1e-3 * ((0.9 * gw + 0.1 * gw) / (1 - 0.9 ** 3)) / (jnp.sqrt((0.999 * gw ** 2 + 0.001 * gw ** 2) / (1 - 0.999 ** 3)) + 1e-8)
global_norm(pair(gw, gb)) ||| optimizers.l2_norm(g)
global_norm(gw) ||| optimizers.l2_norm(gw)
clip_by_global_norm(pair(gw, gb), 1.0).w ||| clip(g, 1.0)["w"]
clip_by_global_norm(pair(gw, gb), 1.0).b ||| clip(g, 1.0)["b"]
clip_by_global_norm(pair(gw, gb), 100.0).b ||| clip(g, 100.0)["b"]
silu(pair(w, b)).b ||| silu(b)
gelu(pair(w, b)).w ||| gelu(w)
where(pair(w, b) > 0.5, pair(w, b), -1.0).w ||| jnp.where(w > 0.5, w, -1.0)
"""

BACK = {"float32": "f32", "bfloat16": "bf16", "int32": "i32"}


def show(value):
    flat = np.asarray(value.astype(jnp.float32) if value.dtype == jnp.bfloat16 else value).ravel()
    return " ".join(repr(v.item()) for v in flat)


def type_of(value):
    return f"{BACK[value.dtype.name]}{list(value.shape)}"


print(f"# made by make_prelude.py with JAX {jax.__version__}")
for name, value in inputs.items():
    print(f"input {name} {type_of(value)}: {show(value)}")
for line in DECLS.strip().splitlines():
    print(f"decl {line}")
conv1d = conv2d = conv
for case in cases.strip().splitlines():
    dsl, _, python = case.partition(" ||| ")
    result = jnp.asarray(eval(python or dsl))
    print(dsl)
    print(f"= {type_of(result)}{' weak' if result.weak_type else ''}: {show(result)}")
