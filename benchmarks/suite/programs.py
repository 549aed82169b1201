"""The programs of `tools/bench`: functions of JAX, each with its arguments, how they are sharded over the axis `d` of all
devices, and how its results are.

A program is written once: JAX runs the function, and spmdc the text that JAX exports of it. Sizes are for a time of a tenth of a
millisecond to a few hundred, on two cores; those of models are for seconds.
"""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import models
from jax import lax
from jax.sharding import PartitionSpec as P

ROWS, COLUMNS, WHOLE = P("d"), P(None, "d"), P()


@dataclasses.dataclass
class Argument:
    """An array of normal numbers times `scale`, or of integers from 0 to `below`."""

    shape: tuple
    spec: P = WHOLE
    dtype: str = "float32"
    below: int = 0
    scale: float = 1.0


@dataclasses.dataclass
class Program:
    function: callable
    arguments: list
    result: object  # A spec, or a tree of them.
    group: str


PROGRAMS = {}


def f32(*shape, spec=WHOLE):
    return Argument(shape, spec)


def weight(*shape, inputs=None, spec=WHOLE):
    """As layers are initialized, so that values keep their size from layer to layer: with larger weights a softmax is nearly all
    zeros and subnormal numbers, which the machine multiplies at a hundredth of its speed."""
    return Argument(shape, spec, scale=(inputs or shape[0]) ** -0.5)


def bf16(*shape, spec=WHOLE):
    return Argument(shape, spec, "bfloat16")


def i8(*shape, spec=WHOLE):
    return Argument(shape, spec, "int8", below=127)


def c64(*shape, spec=WHOLE):
    return Argument(shape, spec, "complex64")


def indices(*shape, below, spec=WHOLE):
    return Argument(shape, spec, "int32", below)


def add(group, name, function, arguments, result=WHOLE):
    PROGRAMS[name] = Program(function, arguments, result, group)


def program(group, *arguments, result=WHOLE):
    def register(function):
        add(group, function.__name__, function, list(arguments), result)
        return function

    return register


# Products.

N = 2048


def product(x, y):
    return x @ y


add("products", "product_rows", product, [f32(N, N, spec=ROWS), f32(N, N)], ROWS)
add("products", "product_contraction", product, [f32(N, N, spec=COLUMNS), f32(N, N, spec=ROWS)])
add("products", "product_reduce_scatter", product, [f32(N, N, spec=COLUMNS), f32(N, N, spec=ROWS)], ROWS)
add("products", "product_gather", product, [f32(N, N, spec=ROWS), f32(N, N, spec=ROWS)], ROWS)
add("products", "product_bf16", product, [bf16(N, N, spec=ROWS), bf16(N, N)], ROWS)
add("products", "product_256", product, [f32(256, 256, spec=ROWS), f32(256, 256)], ROWS)
add("products", "vector_times_matrix", product, [f32(4096), f32(4096, 4096, spec=COLUMNS)], ROWS)
add("products", "batch_64", product, [f32(512, 64, 64, spec=ROWS), f32(512, 64, 64, spec=ROWS)], ROWS)
add("products", "batch_8", product, [f32(16384, 8, 8, spec=ROWS), f32(16384, 8, 8, spec=ROWS)], ROWS)


@program("products", i8(N, N, spec=ROWS), i8(N, N), result=ROWS)
def product_i8(x, y):
    return lax.dot(x, y, preferred_element_type=jnp.int32)


@program("products", f32(N, 1024, spec=ROWS), i8(1024, N), f32(N), result=ROWS)
def quantized_layer(x, w, scales):
    """Rows of activations are rounded to bytes; the products of bytes have the weights' scales."""
    step = jnp.abs(x).max(axis=1, keepdims=True) / 127
    sums = lax.dot(jnp.round(x / step).astype(jnp.int8), w, preferred_element_type=jnp.int32)
    return sums.astype(jnp.float32) * (step * scales)


@program("products", f32(1, 4096), i8(4096, 4096, spec=COLUMNS), f32(4096, spec=ROWS), result=COLUMNS)
def quantized_vector(x, w, scales):
    """One token times weights of bytes."""
    return (x @ w.astype(jnp.float32)) * scales


@program("products", f32(8, 2048), bf16(2048, 8192, spec=COLUMNS), result=COLUMNS)
def eight_rows_times_bf16(x, w):
    return x @ w.astype(jnp.float32)


@program("products", bf16(N, N, spec=ROWS), bf16(N, N), result=ROWS)
def product_widened(x, y):
    return x.astype(jnp.float32) @ y.astype(jnp.float32)


@program("products", f32(N, N, spec=ROWS), f32(N, N), result=ROWS)
def product_transposed(x, y):
    return jnp.einsum("ij,kj->ik", x, y)


@program("products", f32(1024, 1024, spec=ROWS), f32(1024, 1024), f32(1024, 1024), f32(1024, 1024), result=ROWS)
def three_products(a, b, c, d):
    return (a @ b) @ (c @ d)


@program("products", f32(1024, 2048, spec=ROWS), f32(2048), result=WHOLE)
def matrix_transposed_times_itself_times_vector(a, x):
    return a.T @ (a @ x)


@program("products", f32(4096, 512, spec=ROWS))
def covariance(x):
    x = x - x.mean(axis=0)
    return x.T @ x / (x.shape[0] - 1)


# Element-wise functions.


@program("element-wise", f32(4096, 4096, spec=ROWS), f32(4096, 4096, spec=ROWS), result=ROWS)
def tanh_exp(x, y):
    a = x * y + 0.5
    b = jnp.maximum(a, -a) - x * 0.25
    return b * b + jnp.exp(-b) * jnp.tanh(x)


add("element-wise", "sum_of_two", lambda x, y: x + y, [f32(4096, 4096, spec=ROWS), f32(4096, 4096, spec=ROWS)], ROWS)
add("element-wise", "gelu", jax.nn.gelu, [f32(4096, 4096, spec=ROWS)], ROWS)
add("element-wise", "gelu_bf16", jax.nn.gelu, [bf16(4096, 4096, spec=ROWS)], ROWS)

# Reductions.

LARGE = f32(4096, 4096, spec=ROWS)
add("reductions", "sum_of_all", jnp.sum, [LARGE])
add("reductions", "sums_of_rows", lambda x: x.sum(axis=1), [LARGE], ROWS)
add("reductions", "sums_of_columns", lambda x: x.sum(axis=0), [LARGE])
add("reductions", "argmax_of_rows", lambda x: x.argmax(axis=1), [LARGE], ROWS)
add("reductions", "softmax", jax.nn.softmax, [f32(8192, 1024, spec=ROWS)], ROWS)
add("reductions", "log_softmax_bf16", jax.nn.log_softmax, [bf16(8192, 1024, spec=ROWS)], ROWS)


@program("reductions", f32(8192, 1024, spec=ROWS), f32(1024), f32(1024), result=ROWS)
def layer_norm(x, scale, bias):
    mean = x.mean(axis=1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * scale + bias


@program("reductions", f32(1024, 32768, spec=ROWS), indices(1024, below=32768, spec=ROWS))
def cross_entropy(logits, labels):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1).mean()


# Moves of elements.

add("moves", "transpose", lambda x: x.T, [f32(4096, 4096, spec=ROWS)], COLUMNS)
add("moves", "transpose_reshard", lambda x: x.T, [f32(4096, 4096, spec=ROWS)], ROWS)
add("moves", "rows_to_columns", lambda x: x, [f32(4096, 4096, spec=ROWS)], COLUMNS)
add("moves", "roll", lambda x: jnp.roll(x, 3, axis=0), [f32(4096, 4096, spec=ROWS)], ROWS)
add("moves", "heads_first", lambda x: x.reshape(8, 1024, 16, 64).transpose(0, 2, 1, 3), [f32(8, 1024, 1024, spec=ROWS)], ROWS)
add("moves", "concatenate", lambda x, y: jnp.concatenate([x, y], axis=1),
    [f32(4096, 2048, spec=ROWS), f32(4096, 1024, spec=ROWS)], ROWS)
add("moves", "embedding", lambda table, tokens: table[tokens], [f32(32768, 512), indices(16384, below=32768, spec=ROWS)], ROWS)
add("moves", "rows_added", lambda table, tokens, rows: table.at[tokens].add(rows),
    [f32(32768, 256), indices(16384, below=32768, spec=ROWS), f32(16384, 256, spec=ROWS)])

# Windows.


def convolve(x, w, **options):
    return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), **options)


add("windows", "convolution", convolve, [f32(8, 64, 64, 64, spec=ROWS), f32(3, 3, 64, 64)], ROWS)
add("windows", "convolution_7x7", lambda x, w: lax.conv_general_dilated(
    x, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")), [f32(8, 224, 224, 3, spec=ROWS), f32(7, 7, 3, 64)], ROWS)
add("windows", "convolution_depthwise", functools.partial(convolve, feature_group_count=64),
    [f32(8, 64, 64, 64, spec=ROWS), f32(3, 3, 1, 64)], ROWS)
add("windows", "max_pool", lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"),
    [f32(8, 128, 128, 64, spec=ROWS)], ROWS)


@program("windows", f32(3, 3, 32, 32), f32(3, 3, 32, 32), f32(8, 128, 128, 32, spec=COLUMNS))
def convolution_step(w1, w2, x):
    def loss(w1, w2):
        return jnp.mean(convolve(jax.nn.relu(convolve(x, w1)), w2) ** 2)

    g1, g2 = jax.grad(loss, argnums=(0, 1))(w1, w2)
    return w1 - 0.1 * g1, w2 - 0.1 * g2


@program("windows", f32(2048, 2048, spec=ROWS), result=ROWS)
def heat(u):
    def step(_, u):
        inner = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) * 0.25
        return u.at[1:-1, 1:-1].set(inner)

    return lax.fori_loop(0, 10, step, u)


@program("windows", f32(1 << 20, spec=ROWS), result=ROWS)
def jacobi(u):
    return lax.fori_loop(0, 20, lambda _, u: u.at[1:-1].set((u[:-2] + u[1:-1] + u[2:]) / 3), u)


# Fourier transforms.

add("fourier", "fft_rows", jnp.fft.fft, [c64(1024, 1024, spec=ROWS)], ROWS)
add("fourier", "fft_2d", jnp.fft.fft2, [c64(8, 256, 256, spec=ROWS)], ROWS)
add("fourier", "rfft_rows", jnp.fft.rfft, [f32(1024, 1024, spec=ROWS)], ROWS)


@program("fourier", f32(512, 1024, spec=ROWS), c64(513), result=ROWS)
def filter_rows(x, response):
    return jnp.fft.irfft(jnp.fft.rfft(x) * response, x.shape[-1])


# Sorts, sums along a line, random numbers.

add("order", "sort_rows", lambda x: jnp.sort(x, axis=1), [f32(2048, 1024, spec=ROWS)], ROWS)
add("order", "sort_all", jnp.sort, [f32(1 << 20, spec=ROWS)], ROWS)
add("order", "argsort_rows", lambda x: jnp.argsort(x, axis=1), [f32(1024, 1024, spec=ROWS)], ROWS)
add("order", "top_k", lambda x: lax.top_k(x, 32)[0], [f32(1024, 32768, spec=ROWS)], ROWS)
add("order", "cumsum_rows", lambda x: jnp.cumsum(x, axis=1), [f32(4096, 1024, spec=ROWS)], ROWS)
add("order", "cumsum_columns", lambda x: jnp.cumsum(x, axis=0), [f32(4096, 1024, spec=ROWS)], ROWS)
add("order", "random_normal", lambda k: jax.random.normal(jax.random.key(k[0]), (4096, 1024)), [indices(1, below=9)], ROWS)
add("order", "dropout", lambda k, x: jnp.where(jax.random.bernoulli(jax.random.key(k[0]), 0.9, x.shape), x / 0.9, 0),
    [indices(1, below=9), f32(4096, 1024, spec=ROWS)], ROWS)

# Attention.


def attention(q, k, v, causal=False):
    scores = jnp.einsum("bhtd,bhsd->bhts", q, k) / q.shape[-1] ** 0.5
    if causal:
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -jnp.inf)
    return jnp.einsum("bhts,bhsd->bhtd", jax.nn.softmax(scores), v)


HEADS = f32(1, 8, 2048, 64, spec=COLUMNS)
causal = functools.partial(attention, causal=True)
add("attention", "attention_full", attention, [HEADS] * 3, COLUMNS)
add("attention", "attention_causal", causal, [HEADS] * 3, COLUMNS)
add("attention", "attention_gradient", jax.grad(lambda q, k, v: (causal(q, k, v) ** 2).sum(), argnums=(0, 1, 2)), [HEADS] * 3,
    (COLUMNS,) * 3)
HEADS_BF16 = bf16(1, 8, 2048, 64, spec=COLUMNS)
add("attention", "attention_bf16", attention, [HEADS_BF16] * 3, COLUMNS)
add("attention", "attention_bf16_gradient",
    jax.grad(lambda q, k, v: (causal(q, k, v).astype(jnp.float32) ** 2).sum(), argnums=(0, 1, 2)), [HEADS_BF16] * 3, (COLUMNS,) * 3)

# Training steps.


def mlp(p, x):
    for w, b in p[:-1]:
        x = jax.nn.gelu(x @ w + b)
    return x @ p[-1][0] + p[-1][1]


def adam(loss, p, m, v, *batch):
    value, g = jax.value_and_grad(loss)(p, *batch)
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
    v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
    p = jax.tree.map(lambda p, m, v: p - 1e-3 * (m / (1 - 0.9)) / (jnp.sqrt(v / (1 - 0.999)) + 1e-8), p, m, v)
    return p, m, v, value


def whole(tree):
    return jax.tree.map(lambda a: Argument(a.shape, WHOLE), tree, is_leaf=lambda a: isinstance(a, Argument))


LAYERS = [(weight(512, 2048), f32(2048)), (weight(2048, 2048), f32(2048)), (weight(2048, 512), f32(512))]
add("training", "mlp_step", functools.partial(adam, lambda p, x, y: jnp.mean((mlp(p, x) - y) ** 2)),
    [LAYERS, LAYERS, LAYERS, f32(512, 512, spec=ROWS), f32(512, 512, spec=ROWS)])
MANY = [f32(300, 100) for _ in range(100)]
add("training", "adam_100", functools.partial(adam, lambda p: sum(jnp.sum(a * a) for a in p)), [MANY, MANY, MANY])


def norm(x, scale):
    return x * lax.rsqrt((x * x).mean(axis=-1, keepdims=True) + 1e-6) * scale


def block(p, x):
    y = norm(x, p["n1"])
    q, k, v = (jnp.einsum("btm,mhd->bhtd", y, p[name]) for name in ("q", "k", "v"))
    x = x + jnp.einsum("bhtd,hdm->btm", causal(q, k, v), p["o"])
    return x + jax.nn.gelu(norm(x, p["n2"]) @ p["w1"]) @ p["w2"]


D = 512
BLOCK = {"n1": f32(D), "n2": f32(D), "q": weight(D, 8, 64), "k": weight(D, 8, 64), "v": weight(D, 8, 64),
         "o": weight(8, 64, D, inputs=512), "w1": weight(D, 4 * D), "w2": weight(4 * D, D)}
SPLIT = {**BLOCK, "q": weight(D, 8, 64, spec=COLUMNS), "k": weight(D, 8, 64, spec=COLUMNS),
         "v": weight(D, 8, 64, spec=COLUMNS), "o": weight(8, 64, D, inputs=512, spec=ROWS),
         "w1": weight(D, 4 * D, spec=COLUMNS), "w2": weight(4 * D, D, spec=ROWS)}
add("training", "block_data_parallel", block, [BLOCK, f32(8, 256, D, spec=ROWS)], ROWS)
add("training", "block_tensor_parallel", block, [SPLIT, f32(8, 256, D)])
add("training", "block_gradient", jax.grad(lambda p, x: jnp.mean(block(p, x) ** 2)), [BLOCK, f32(8, 256, D, spec=ROWS)],
    {name: WHOLE for name in BLOCK})


@program("training", weight(256, 256), weight(256, 256), f32(64, 128, 256, spec=COLUMNS), result=ROWS)
def recurrent(w, u, xs):
    def step(h, x):
        return jnp.tanh(x @ w + h @ u), None

    return lax.scan(step, jnp.zeros(xs.shape[1:]), xs)[0]


@program("training", [weight(1024, 1024)] * 6, f32(1024, 1024, spec=ROWS))
def data_parallel(p, x):
    def loss(p):
        y = x
        for w in p:
            y = jnp.tanh(y @ w)
        return jnp.mean(y * y)

    return jax.tree.map(lambda w, g: w - 0.1 * g, p, jax.grad(loss)(p))


# Models of full size: a step takes seconds, on two cores.


def parameter(*sizes, inputs=None):
    return weight(*sizes, inputs=inputs) if inputs else f32(*sizes)


RESNET50 = (3, 4, 6, 3)
IMAGES, LABELS = f32(8, 224, 224, 3, spec=ROWS), indices(8, below=1000, spec=ROWS)


def with_momentum(loss, p, momentum, *batch):
    value, gradient = jax.value_and_grad(loss)(p, *batch)
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, gradient)
    return jax.tree.map(lambda p, m: p - 0.01 * m, p, momentum), momentum, value


def add_models():
    resnet, gpt = models.resnet_parameters(RESNET50, 64, 1000, parameter), models.gpt_parameters(12, 768, 50257, 1024, parameter)
    heads = f32(8, 12, 256, 64, spec=ROWS)
    add("models", "resnet50", lambda p, images: models.resnet(p, images, RESNET50), [resnet, IMAGES], ROWS)
    add("models", "resnet50_step", functools.partial(with_momentum, functools.partial(models.resnet_loss, blocks=RESNET50)),
        [resnet, whole(resnet), IMAGES, LABELS])
    add("models", "gpt2_token", models.gpt_token, [gpt, [(heads, heads)] * 12, indices(8, below=50257, spec=ROWS), indices(below=200)],
        ROWS)
    add("models", "gpt2_step", functools.partial(with_momentum, functools.partial(models.gpt_loss, heads=12)),
        [gpt, whole(gpt), indices(4, 129, below=50257, spec=ROWS)])


def half_parameter(*sizes, inputs=1):
    return Argument(sizes, WHOLE, "bfloat16", scale=inputs ** -0.5)


def add_llama():
    """Eight layers of the size of a model of 1.1 billion parameters, in bf16: an answer's next word, and its question."""
    p = models.llama_parameters(8, 2048, 32, 4, 64, 5632, 32000, half_parameter)
    llama = functools.partial(models.llama, heads=32, size=64)
    cache = [(bf16(1, 4, 512, 64), bf16(1, 4, 512, 64))] * 8
    add("models", "llama_token", llama, [p, cache, indices(1, 1, below=32000), indices(below=400)])
    add("models", "llama_question", llama, [p, cache, indices(1, 256, below=32000), indices(below=200)])


add_models()
add_llama()

# Loops whose iterations are short: scalars and small arrays.


@program("loops", f32(8))
def logistic_map(x):
    return lax.fori_loop(0, 200_000, lambda _, x: 3.7 * x * (1 - x), 1 / (1 + jnp.exp(-x)))


@program("loops", f32(4096))
def newton(targets):
    """Cube roots, one after the other, each by as many steps of Newton as it needs."""

    def root(a):
        step = lambda state: (state[0] - (state[0] ** 3 - a) / (3 * state[0] ** 2), state[0])
        far = lambda state: jnp.abs(state[0] - state[1]) > 1e-6 * jnp.abs(state[0])
        return lax.while_loop(far, step, step((a, a)))[0]

    return lax.map(root, jnp.abs(targets) + 0.5)


@program("loops", f32(3))
def lorenz(state):
    """The classical method of Runge and Kutta, with the states of all steps as the result."""

    def slope(s):
        return jnp.stack([10 * (s[1] - s[0]), s[0] * (28 - s[2]) - s[1], s[0] * s[1] - 8 / 3 * s[2]])

    def step(s, _):
        h = 0.01
        a = slope(s)
        b = slope(s + h / 2 * a)
        c = slope(s + h / 2 * b)
        s = s + h / 6 * (a + 2 * b + 2 * c + slope(s + h * c))
        return s, s

    return lax.scan(step, state, None, length=20_000)[1]


@program("loops", indices(1, below=9), f32(16))
def random_walk(seed, x):
    def step(carry, _):
        key, x = carry
        key, now = jax.random.split(key)
        return (key, x + jax.random.uniform(now, x.shape) - 0.5), x.max()

    return lax.scan(step, (jax.random.key(seed[0]), x), None, length=20_000)[1]


@program("loops", f32(64, 64))
def eigh_64(x):
    return jnp.linalg.eigh(x + x.T)[0]


@program("loops", f32(64, 64))
def svd_64(x):
    return jnp.linalg.svd(x)[1]


# Small calls, and single collectives.

add("calls", "launch", lambda x: x + 1.0, [f32(8, spec=ROWS)], ROWS)


@program("calls", f32(512, 256, spec=ROWS), f32(256, 256), f32(256), f32(256, 64), f32(64), result=ROWS)
def ten_operations(x, w1, b1, w2, b2):
    return jax.nn.softmax(jnp.tanh(x @ w1 + b1) @ w2 + b2)


for label, count in (("4B", 1), ("4KiB", 1024), ("1MiB", 1 << 18), ("16MiB", 1 << 22), ("64MiB", 1 << 24)):
    add("calls", f"all_reduce_{label}", lambda x: x.sum(axis=0), [Argument(("d", count), ROWS)])
add("calls", "all_gather_16MiB", lambda x: x, [f32(1 << 22, spec=ROWS)], WHOLE)
