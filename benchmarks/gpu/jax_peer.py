"""The functions of kernels.spmd in JAX, on one device: times, and whether spmdc's results are JAX's.

    jax_peer.py KERNELS.json [--gpu]

With --gpu it fails if JAX has no GPU, since times of a CPU cannot be compared.
The file lists kernels: name, files of the arguments (.npy) and, where they are to be compared, of spmdc's results. Prints
one line of JSON for each: `us`, the mean of calls that are queued one behind another, `blocking_us`, the median of calls that
are waited for, `compile_ms`; and `errors`, for each result its largest difference as a share of its largest element.
"""

import json
import os
import statistics
import sys
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402

# The language's f32 products are of f32, not of tf32.
jax.config.update("jax_default_matmul_precision", "highest")
CALLS = 20
RATE = 1000.0
STEPS = 1000


def full_attention(q, k, v, is_causal=False):
    scores = jnp.einsum("bhqk,bhsk->bhqs", q, k) * (1 / np.sqrt(q.shape[-1])).astype(q.dtype)
    mask = jnp.tril(jnp.ones(scores.shape[-2:], bool)) if is_causal else True
    return jnp.einsum("bhqs,bhsk->bhqk", jax.nn.softmax(jnp.where(mask, scores, -jnp.inf)), v)


def attention(q, k, v):
    return full_attention(q, k, v, is_causal=True)


def attention_loss(q, k, v, w):
    return jnp.sum((attention(q, k, v) * w).astype(jnp.float32))


def attention_step(q, k, v, w):
    loss, gradients = jax.value_and_grad(attention_loss, argnums=(0, 1, 2))(q, k, v, w)
    return loss.astype(jnp.bfloat16), *gradients


def layer_norm(x, scale, bias):
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(var + 1e-5) * scale + bias


def rms_norm(x, scale):
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * scale


def mlp_loss(w1, w2, x, y):
    return jnp.mean((jax.nn.gelu(x @ w1) @ w2 - y).astype(jnp.float32) ** 2)


def mlp_step(w1, w2, x, y):
    loss, (g1, g2) = jax.value_and_grad(mlp_loss, argnums=(0, 1))(w1, w2, x, y)
    return loss, w1 - RATE * g1, w2 - RATE * g2


def block_loss(s1, s2, query, key, value, out, up, down, x, y):
    n = rms_norm(x, s1)
    q, k, v = (jnp.einsum("btd,dhk->bhtk", n, w) for w in (query, key, value))
    h = x + jnp.einsum("bhtk,hkd->btd", attention(q, k, v), out)
    h = h + jax.nn.gelu(rms_norm(h, s2) @ up) @ down
    return jnp.mean((h - y).astype(jnp.float32) ** 2)


def tanh_exp(x, y):
    a = x * y + 0.5
    b = jnp.maximum(a, -a) - x * 0.25
    return b * b + jnp.exp(-b) * jnp.tanh(x)


def uniform(k):
    return jax.random.uniform(jax.random.wrap_key_data(k), (SHAPE,), jnp.float32)


def while_steps(x):
    def goes_on(state):
        return (state[1] < STEPS) & (state[0].sum() < 1e6)
    return jax.lax.while_loop(goes_on, lambda state: (state[0] * 0.99 + 0.01, state[1] + 1), (x, 0))[0]


def for_steps(x):
    return jax.lax.fori_loop(0, STEPS, lambda i, y: y * 0.99 + i.astype(jnp.float32) * 1e-5, x)


SHAPE = 0  # Elements of `uniform`, from its result.


def row_softmax(x):
    return jax.nn.softmax(x)


FUNCTIONS = {
    "launch": lambda x: x + 1.0, "add_f32": lambda x, y: x + y, "add_bf16": lambda x, y: x + y, "tanh_exp": tanh_exp,
    "gelu_bf16": jax.nn.gelu, "softmax_1k": row_softmax, "softmax_4k": row_softmax, "softmax_32k": row_softmax,
    "softmax_128k": row_softmax, "layer_norm_4k": layer_norm, "row_sums": lambda x: x.sum(1),
    "column_sums": lambda x: x.sum(0), "row_sums_narrow": lambda x: x.sum(1), "column_sums_narrow": lambda x: x.sum(0),
    "sum_all": lambda x: x.sum(), "transpose_f32": lambda x: x.T, "transpose_bf16": lambda x: x.T,
    "cumsum_vector": jnp.cumsum, "cumsum_columns": lambda x: jnp.cumsum(x, axis=0), "sort_vector": jnp.sort,
    "argsort_vector": jnp.argsort, "scatter_add_rows": lambda x, at, v: x.at[at].add(v),
    "embedding": lambda table, at: jnp.take(table, at, axis=0),
    "update_slice": lambda x, v, at: jax.lax.dynamic_update_slice(x, v, (at, 0)), "uniform_f32": uniform,
    "product_bf16": lambda x, w: x @ w, "product_gelu_bf16": lambda x, w, b: jax.nn.gelu(x @ w + b),
    "product_i8": lambda x, w: jax.lax.dot(x, w, preferred_element_type=jnp.int32),
    "product_f32": lambda x, w: x @ w, "attention_bf16": attention, "mlp_step": mlp_step,
    "while_steps": while_steps, "for_steps": for_steps,
    "attention_full_bf16": full_attention, "attention_8k_bf16": attention,
    "attention_step_bf16": attention_step,
    "block_step": jax.value_and_grad(block_loss, argnums=tuple(range(8))),
}


def load(file, dtype):
    value = np.load(file)
    return value.view(ml_dtypes.bfloat16) if dtype == "bf16" else value


def time_calls(function, arguments):
    began = time.perf_counter()
    jax.block_until_ready(function(*arguments))
    compile_ms = (time.perf_counter() - began) * 1e3
    jax.block_until_ready(function(*arguments))
    blocking = []
    for _ in range(CALLS):
        began = time.perf_counter()
        jax.block_until_ready(function(*arguments))
        blocking.append((time.perf_counter() - began) * 1e6)
    began = time.perf_counter()
    for _ in range(CALLS):
        results = function(*arguments)
    jax.block_until_ready(results)
    return {"us": (time.perf_counter() - began) * 1e6 / CALLS, "blocking_us": statistics.median(blocking),
            "compile_ms": compile_ms}


def error_of(expected, file, dtype):
    """The largest difference as a share of the largest element; how many elements differ, for integers."""
    actual = jnp.asarray(load(file, dtype))
    if actual.shape != expected.shape:
        return float("inf")
    if not jnp.issubdtype(expected.dtype, jnp.floating):
        return float((actual != expected).sum())
    a, b = actual.astype(jnp.float32), expected.astype(jnp.float32)
    largest = jnp.maximum(jnp.abs(b).max(), 1e-30)
    return float(jnp.where(a == b, 0.0, jnp.abs(a - b)).max() / largest)


def run(kernel):
    global SHAPE
    SHAPE = kernel["results"][0]["shape"][0] if kernel["results"][0]["shape"] else 0
    arguments = [jax.device_put(load(p["file"], p["dtype"])) for p in kernel["parameters"]]
    function = jax.jit(FUNCTIONS[kernel["name"]])
    row = {"kernel": kernel["name"], **time_calls(function, arguments)}
    compared = [result for result in kernel["results"] if result.get("file")]
    if compared:
        results = jax.tree.leaves(function(*arguments))
        row["errors"] = [error_of(expected, result["file"], result["dtype"]) for expected, result in zip(results, compared)]
    return row


def main():
    if "--gpu" in sys.argv[2:] and jax.default_backend() == "cpu":
        sys.exit("JAX sees no GPU")
    print(json.dumps({"version": jax.__version__, "device": str(jax.devices()[0].device_kind)}), flush=True)
    for kernel in json.load(open(sys.argv[1])):
        try:
            row = run(kernel)
        except Exception as error:  # noqa: BLE001: one kernel's failure must not end the others.
            row = {"kernel": kernel["name"], "failure": f"{type(error).__name__}: {error}"[:200]}
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
