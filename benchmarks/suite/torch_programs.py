"""PyTorch's versions of programs.py, by the same names: functions of the flat list of arguments. Programs that PyTorch has no
function for, or that move data between devices, are left out.

Gradients are taken as users of PyTorch take them: the loss is compiled, and with it its derivative; an optimizer's update is
compiled by itself.
"""

import torch
import torch.nn.functional as F


def gelu(x):
    return F.gelu(x, approximate="tanh")


def cross_entropy(logits, labels):
    return F.cross_entropy(logits, labels.long())


def tanh_exp(x, y):
    a = x * y + 0.5
    b = torch.maximum(a, -a) - x * 0.25
    return b * b + torch.exp(-b) * torch.tanh(x)


def covariance(x):
    x = x - x.mean(dim=0)
    return x.T @ x / (x.shape[0] - 1)


def convolve(x, w, groups=1):
    """NHWC and HWIO, which are channels-last views for PyTorch."""
    y = F.conv2d(x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1), padding=w.shape[0] // 2, groups=groups)
    return y.permute(0, 2, 3, 1)


def convolution_7x7(x, w):
    # "SAME" of 224 by stride 2: two elements before, three behind.
    y = F.conv2d(F.pad(x.permute(0, 3, 1, 2), (2, 3, 2, 3)), w.permute(3, 2, 0, 1), stride=2)
    return y.permute(0, 2, 3, 1)


def convolution_loss(w1, w2, x):
    return (convolve(F.relu(convolve(x, w1)), w2) ** 2).mean()


def heat(u):
    for _ in range(10):
        inner = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) * 0.25
        u = u.clone()
        u[1:-1, 1:-1] = inner
    return u


def jacobi(u):
    for _ in range(20):
        inner = (u[:-2] + u[1:-1] + u[2:]) / 3
        u = u.clone()
        u[1:-1] = inner
    return u


def rows_added(table, tokens, rows):
    return table.index_add(0, tokens, rows)


def causal(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


class Gradient:
    """The derivatives of a loss by the first `count` arguments, or `update` of these arguments and their derivatives."""

    def __init__(self, loss, count, update=None):
        self.loss, self.count, self.update = loss, count, update

    def make(self, compiled):
        """The function, whose parts went through `compiled`."""
        loss, update = compiled(self.loss), self.update and compiled(self.update)

        def run(*arrays):
            with torch.enable_grad():
                leaves = [a.detach().requires_grad_() for a in arrays[:self.count]]
                value = loss(*leaves, *arrays[self.count:])
                g = torch.autograd.grad(value, leaves)
            return update(value.detach(), g, *arrays) if update else g

        return run


def descend(value, g, *arrays):
    return [w - 0.1 * g for w, g in zip(arrays, g)]


def adam(value, g, *arrays):
    """The arguments are the parameters and their two moments."""
    p, m, v = (arrays[i * len(g):(i + 1) * len(g)] for i in range(3))
    m = [0.9 * m + 0.1 * g for m, g in zip(m, g)]
    v = [0.999 * v + 0.001 * g * g for v, g in zip(v, g)]
    p = [p - 1e-3 * (m / (1 - 0.9)) / (torch.sqrt(v / (1 - 0.999)) + 1e-8) for p, m, v in zip(p, m, v)]
    return [*p, *m, *v, value]


def mlp_loss(*arrays):
    x, y = arrays[-2:]
    for i in range(0, 4, 2):
        x = gelu(x @ arrays[i] + arrays[i + 1])
    return ((x @ arrays[4] + arrays[5] - y) ** 2).mean()


def squares(*arrays):
    return sum((a * a).sum() for a in arrays[:100])


def norm(x, scale):
    return x * torch.rsqrt((x * x).mean(dim=-1, keepdim=True) + 1e-6) * scale


def block(*arrays):
    k, n1, n2, o, q, v, w1, w2, x = arrays  # The order of a dict's keys in JAX.
    y = norm(x, n1)
    heads = [torch.einsum("btm,mhd->bhtd", y, w) for w in (q, k, v)]
    x = x + torch.einsum("bhtd,hdm->btm", causal(*heads), o)
    return x + gelu(norm(x, n2) @ w1) @ w2


def recurrent(w, u, xs):
    h = torch.zeros(xs.shape[1:])
    for x in xs:
        h = torch.tanh(x @ w + h @ u)
    return h


def quantized_layer(x, w, scales):
    step = x.abs().amax(dim=1, keepdim=True) / 127
    return torch._int_mm((x / step).round().to(torch.int8), w).float() * (step * scales)


def deep_loss(*arrays):
    y = arrays[-1]
    for w in arrays[:-1]:
        y = torch.tanh(y @ w)
    return (y * y).mean()


PROGRAMS = {
    "product_rows": torch.matmul,
    "product_bf16": torch.matmul,
    "product_256": torch.matmul,
    "vector_times_matrix": torch.matmul,
    "batch_64": torch.matmul,
    "batch_8": torch.matmul,
    "product_i8": torch._int_mm,
    "quantized_layer": quantized_layer,
    "quantized_vector": lambda x, w, s: (x @ w.float()) * s,
    "eight_rows_times_bf16": lambda x, w: x @ w.float(),
    "product_widened": lambda x, y: x.float() @ y.float(),
    "product_transposed": lambda x, y: x @ y.T,
    "three_products": lambda a, b, c, d: (a @ b) @ (c @ d),
    "matrix_transposed_times_itself_times_vector": lambda a, x: a.T @ (a @ x),
    "covariance": covariance,
    "tanh_exp": tanh_exp,
    "sum_of_two": torch.add,
    "gelu": gelu,
    "gelu_bf16": gelu,
    "sum_of_all": torch.sum,
    "sums_of_rows": lambda x: x.sum(dim=1),
    "sums_of_columns": lambda x: x.sum(dim=0),
    "argmax_of_rows": lambda x: x.argmax(dim=1),
    "softmax": lambda x: torch.softmax(x, dim=-1),
    "log_softmax_bf16": lambda x: torch.log_softmax(x, dim=-1),
    "layer_norm": lambda x, scale, bias: F.layer_norm(x, x.shape[1:], scale, bias, 1e-5),
    "cross_entropy": cross_entropy,
    "transpose": lambda x: x.T.contiguous(),
    "roll": lambda x: torch.roll(x, 3, 0),
    "heads_first": lambda x: x.reshape(8, 1024, 16, 64).transpose(1, 2).contiguous(),
    "concatenate": lambda x, y: torch.cat([x, y], dim=1),
    "embedding": lambda table, tokens: table[tokens],
    "rows_added": rows_added,
    "convolution": convolve,
    "convolution_7x7": convolution_7x7,
    "convolution_depthwise": lambda x, w: convolve(x, w, groups=64),
    "max_pool": lambda x: F.max_pool2d(x.permute(0, 3, 1, 2), 2).permute(0, 2, 3, 1),
    "convolution_step": Gradient(convolution_loss, 2, descend),
    "heat": heat,
    "jacobi": jacobi,
    "sort_rows": lambda x: torch.sort(x, dim=1)[0],
    "sort_all": lambda x: torch.sort(x)[0],
    "argsort_rows": lambda x: torch.argsort(x, dim=1, stable=True),
    "top_k": lambda x: torch.topk(x, 32)[0],
    "cumsum_rows": lambda x: torch.cumsum(x, dim=1),
    "cumsum_columns": lambda x: torch.cumsum(x, dim=0),
    "attention_full": F.scaled_dot_product_attention,
    "attention_causal": causal,
    "attention_gradient": Gradient(lambda q, k, v: (causal(q, k, v) ** 2).sum(), 3),
    "mlp_step": Gradient(mlp_loss, 6, adam),
    "adam_100": Gradient(squares, 100, adam),
    "block_data_parallel": block,
    "block_gradient": Gradient(lambda *arrays: (block(*arrays) ** 2).mean(), 8),
    "recurrent": recurrent,
    "data_parallel": Gradient(deep_loss, 6, descend),
    "launch": lambda x: x + 1.0,
    "ten_operations": lambda x, w1, b1, w2, b2: torch.softmax(torch.tanh(x @ w1 + b1) @ w2 + b2, dim=-1),
}
