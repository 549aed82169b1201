"""The functions of kernels.spmd in PyTorch, on one GPU: eager, and through torch.compile (Inductor, which writes Triton).

    torch_peer.py KERNELS.json [--compiled]

Reads the same file as jax_peer.py and prints a line of JSON for each kernel: `us`, device time of a call (CUDA events around
calls that are queued one behind another), `compile_ms`, and `errors` as jax_peer.py has them: a function that computes
something else would be no peer. The random numbers are not JAX's, so they have no row here.
"""

import json
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F

CALLS = 20
RATE = 1000.0
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "i32": torch.int32, "u32": torch.int64}


def gelu(x):
    return F.gelu(x, approximate="tanh")


def attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def attention_loss(q, k, v, w):
    return (attention(q, k, v) * w).float().sum()


def attention_step(q, k, v, w):
    loss, (dq, dk, dv) = gradients(attention_loss, (q, k, v), (w,))
    return loss.to(torch.bfloat16), dq, dk, dv


def rms_norm(x, scale):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * scale


def gradients(loss, parameters, inputs):
    parameters = [p.detach().requires_grad_() for p in parameters]
    value = loss(*parameters, *inputs)
    return value, torch.autograd.grad(value, parameters)


def mlp_loss(w1, w2, x, y):
    return ((gelu(x @ w1) @ w2 - y).float() ** 2).mean()


def mlp_step(w1, w2, x, y):
    loss, (g1, g2) = gradients(mlp_loss, (w1, w2), (x, y))
    return loss, w1 - RATE * g1, w2 - RATE * g2


def block_loss(s1, s2, query, key, value, out, up, down, x, y):
    n = rms_norm(x, s1)
    q, k, v = (torch.einsum("btd,dhk->bhtk", n, w) for w in (query, key, value))
    h = x + torch.einsum("bhtk,hkd->btd", attention(q, k, v), out)
    h = h + gelu(rms_norm(h, s2) @ up) @ down
    return ((h - y).float() ** 2).mean()


def tanh_exp(x, y):
    a = x * y + 0.5
    b = torch.maximum(a, -a) - x * 0.25
    return b * b + torch.exp(-b) * torch.tanh(x)


def update_slice(x, v, at):
    x = x.clone()
    x[3:3 + v.shape[0]] = v  # Where the check's scalar index is; slicing by a tensor would wait for the device.
    return x


def softmax(x):
    return torch.softmax(x, -1)


FUNCTIONS = {
    "launch": lambda x: x + 1.0, "add_f32": lambda x, y: x + y, "add_bf16": lambda x, y: x + y, "tanh_exp": tanh_exp,
    "gelu_bf16": gelu, "softmax_1k": softmax, "softmax_4k": softmax, "softmax_32k": softmax, "softmax_128k": softmax,
    "layer_norm_4k": lambda x, s, b: F.layer_norm(x, x.shape[-1:], s, b), "row_sums": lambda x: x.sum(1),
    "column_sums": lambda x: x.sum(0), "row_sums_narrow": lambda x: x.sum(1), "column_sums_narrow": lambda x: x.sum(0),
    "sum_all": lambda x: x.sum(), "transpose_f32": lambda x: x.T.contiguous(), "transpose_bf16": lambda x: x.T.contiguous(),
    "cumsum_vector": lambda x: x.cumsum(0), "cumsum_columns": lambda x: x.cumsum(0),
    "sort_vector": lambda x: x.sort().values, "argsort_vector": lambda x: x.argsort(stable=True),
    "scatter_add_rows": lambda x, at, v: x.index_add(0, at, v), "embedding": lambda table, at: table[at],
    "update_slice": update_slice, "product_bf16": lambda x, w: x @ w, "product_gelu_bf16": lambda x, w, b: gelu(x @ w + b),
    "product_i8": torch._int_mm, "product_f32": lambda x, w: x @ w, "attention_bf16": attention, "mlp_step": mlp_step,
    "attention_full_bf16": F.scaled_dot_product_attention, "attention_8k_bf16": attention,
    "attention_step_bf16": attention_step,
    "block_step": lambda *a: gradients(block_loss, a[:8], a[8:]),
}

# Inductor generates code for these kernels, in seconds each; for others it calls the same libraries as eager mode.
COMPILED = ("tanh_exp gelu_bf16 softmax_1k softmax_4k softmax_32k softmax_128k layer_norm_4k row_sums column_sums "
            "row_sums_narrow column_sums_narrow sum_all transpose_f32 product_gelu_bf16 add_f32 embedding cumsum_columns "
            "mlp_step block_step").split()


def load(parameter):
    value = np.load(parameter["file"])
    if parameter["dtype"] == "bf16":
        return torch.from_numpy(value.view(np.int16)).view(torch.bfloat16).cuda()
    return torch.from_numpy(value.astype(np.int64) if parameter["dtype"] == "u32" else value).cuda()


def time_calls(function, arguments):
    began = time.perf_counter()
    function(*arguments)
    torch.cuda.synchronize()
    compile_ms = (time.perf_counter() - began) * 1e3
    function(*arguments)
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(CALLS):
        function(*arguments)
    end.record()
    torch.cuda.synchronize()
    return {"us": begin.elapsed_time(end) * 1e3 / CALLS, "compile_ms": compile_ms}


def flat(value):
    return [leaf for part in value for leaf in flat(part)] if isinstance(value, (tuple, list)) else [value]


def error_of(expected, result):
    """The largest difference as a share of the largest element; how many elements differ, for integers."""
    actual, expected = load(result), expected.detach()
    if actual.shape != expected.shape:
        return float("inf")
    if not expected.is_floating_point():
        return float((actual != expected).sum())
    a, b = actual.float(), expected.float()
    return float(torch.where(a == b, 0.0, (a - b).abs()).max() / b.abs().max().clamp(min=1e-30))


def main():
    compiled = "--compiled" in sys.argv[2:]
    torch.backends.cuda.matmul.allow_tf32 = False  # The language's f32 products are of f32.
    print(json.dumps({"version": torch.__version__, "device": torch.cuda.get_device_name()}), flush=True)
    for kernel in json.load(open(sys.argv[1])):
        name = kernel["name"]
        if name not in FUNCTIONS or compiled and name not in COMPILED:
            continue
        try:
            function = FUNCTIONS[name]
            arguments = [load(parameter) for parameter in kernel["parameters"]]
            if compiled:
                torch._dynamo.reset()
                function = torch.compile(function)
            row = {"kernel": name, **time_calls(function, arguments)}
            if all(result.get("file") for result in kernel["results"]):
                row["errors"] = [error_of(*pair) for pair in zip(flat(function(*arguments)), kernel["results"])]
        except Exception as error:  # noqa: BLE001: one kernel's failure must not end the others.
            row = {"kernel": name, "failure": f"{type(error).__name__}: {error}"[:200]}
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
