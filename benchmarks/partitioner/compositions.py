#!/usr/bin/env python3
"""Strategies composed over two axes on one transformer: the collectives of a training step, as counts and bytes.

    benchmarks/partitioner/compositions.py [--build build/release] [--layers 32]

The strategies and their names are those of PartIR (Alabed et al. 2024), whose transformer T32 has 32 layers of nine
parameters and an embedding: 289. `batch` shards the data (BP), `model` heads and hidden features (MP, Megatron-LM), Z2
the optimiser's state over `batch`, Z3 the parameters, too. A step of gradient descent with momentum; propagation
decides all other shardings. "As described" are the collectives that define the strategies:

    BP   an all_reduce for each gradient, and one for the loss
    MP   two all_reduces of activations for each layer in the forward pass, and two in the backward pass
    Z2   for a gradient with a sharded state, a reduce_scatter instead of the all_reduce, and an all_gather of the parameter
    Z3   the parameter gathered before it is used, in the forward and in the backward pass

Bytes are those of bandwidth-optimal algorithms, of each device. spmdc chooses for accelerators (RATES); for its
default, cores of a CPU, it sends more in some cases, because to update replicated parameters on every device takes
longer than to gather sharded ones (`--default-rates`). Exit status 1 if it sends more than is described.
"""

import programs

# Rates of one device: a link of 70 GB/s, memory of 900 GB/s, 100 TFLOP/s.
RATES = {"latency_us": 5, "bytes_per_second": 7e10, "flops_per_second": 1e14, "memory_bytes_per_second": 9e11}

BATCH, MODEL = 4, 2
ROWS, POSITIONS, WIDTH, HEADS, HIDDEN, VOCABULARY = 16, 512, 2048, 16, 8192, 32768

# The shape of each parameter of a layer, and the dimension that MP shards.
LAYER = {
    "before": ((WIDTH,), None),
    "query": ((WIDTH, HEADS, WIDTH // HEADS), 1),
    "key": ((WIDTH, HEADS, WIDTH // HEADS), 1),
    "value": ((WIDTH, HEADS, WIDTH // HEADS), 1),
    "out": ((HEADS, WIDTH // HEADS, WIDTH), 0),
    "between": ((WIDTH,), None),
    "gate": ((WIDTH, HIDDEN), 1),
    "up": ((WIDTH, HIDDEN), 1),
    "down": ((HIDDEN, WIDTH), 0),
}
EMBEDDING = (VOCABULARY, WIDTH)

FUNCTIONS = """
fn layer(p, x) {
  let n = rms_norm(x, p.before);
  let scores = einsum("bshk,bthk->bhst", einsum("bsd,dhk->bshk", n, p.query), einsum("bsd,dhk->bshk", n, p.key));
  let heads = einsum("bhst,bthk->bshk", softmax(scores * 0.088), einsum("bsd,dhk->bshk", n, p.value));
  let y = x + einsum("bshk,hkd->bsd", heads, p.out);
  let m = rms_norm(y, p.between);
  return y + (silu(m @ p.gate) * (m @ p.up)) @ p.down;
}
fn step(p, m, g) {
  let n = 0.9 * m + g;
  return (p - 0.01 * n, n);
}
"""


def cut(shape, dims, over_batch):
    """The dimensions with their axes: `dims` over `model`, and if requested the first remaining one over `batch`."""
    axes = [["model"] if dim in dims else [] for dim in range(len(shape))]
    if over_batch:
        free = [dim for dim in range(len(shape)) if not axes[dim]]
        axes[free[0] if free else 0].append("batch")
    return axes


class Step:
    """A training step; `strategies` is a set of BP, MP, Z2 and Z3."""

    def __init__(self, strategies, layers):
        self.strategies, self.layers = strategies, layers

    def axes(self, name, shape, dim, is_state):
        on_model = {dim} if "MP" in self.strategies and dim is not None else set()
        over_batch = len(shape) > 1 and ("Z3" in self.strategies or ("Z2" in self.strategies and is_state))
        return cut(shape, on_model, over_batch)

    def struct(self, prefix, is_state):
        fields = [f"{name}: {programs.array(shape, self.axes(name, shape, dim, is_state))}"
                  for name, (shape, dim) in LAYER.items()]
        embedding = programs.array(EMBEDDING, self.axes("embedding", EMBEDDING, None, is_state))
        layers = ", ".join(f"l{i}: {prefix}Layer" for i in range(self.layers))
        return (f"struct {prefix}Layer {{ {', '.join(fields)} }}\n"
                f"struct {prefix} {{ embedding: {embedding}, {layers} }}\n")

    def text(self):
        rows = f"{ROWS}@batch" if "BP" in self.strategies else f"{ROWS}@_"
        calls = "".join(f"  let x = layer(p.l{i}, x);\n" for i in range(self.layers))
        loss = ("fn loss(p, tokens, targets) {\n  let x = p.embedding[tokens];\n" + calls +
                '  let logits = einsum("bsd,vd->bsv", x, p.embedding);\n'
                "  return -mean(take_along_axis(log_softmax(logits), expand_dims(targets, 2), axis=2));\n}\n")
        body, parameters, states = "", [], []
        for i in range(self.layers):
            for name in LAYER:
                body += f"  let (p{i}_{name}, m{i}_{name}) = step(p.l{i}.{name}, m.l{i}.{name}, g.l{i}.{name});\n"
            for struct, letter, list in ("ParametersLayer", "p", parameters), ("StateLayer", "m", states):
                list.append(f"l{i}: {struct} {{ " + ", ".join(f"{name}: {letter}{i}_{name}" for name in LAYER) + " }")
        return (f"mesh m(batch={BATCH}, model={MODEL})\n" + self.struct("Parameters", False) + self.struct("State", True) +
                FUNCTIONS + loss +
                f"fn main(p: Parameters, m: State, tokens: i32[{rows}, {POSITIONS}], targets: i32[{rows}, {POSITIONS}]) "
                "-> (f32[], Parameters, State) {\n  let (l, g) = value_and_grad(loss)(p, tokens, targets);\n"
                "  let (e, n) = step(p.embedding, m.embedding, g.embedding);\n" + body +
                f"  return (l, Parameters {{ embedding: e, {', '.join(parameters)} }}, "
                f"State {{ embedding: n, {', '.join(states)} }});\n}}\n")

    def described(self):
        """Counts of all_gather, all_reduce and reduce_scatter, and bytes of each device."""
        gathers = reduces = scatters = 0
        sent = 0.0
        all_parameters = [("embedding", EMBEDDING, None)] + [
            (name, shape, dim) for name, (shape, dim) in LAYER.items()] * self.layers
        share = (BATCH - 1) / BATCH
        for name, shape, dim in all_parameters:
            axes = self.axes(name, shape, dim, is_state=True)
            size = 4.0
            for length in shape:
                size *= length
            size /= MODEL if any("model" in of for of in axes) else 1
            if "BP" not in self.strategies:
                continue
            if not any("batch" in of for of in axes):
                reduces, sent = reduces + 1, sent + 2 * share * size
                continue
            times = 2 if "Z3" in self.strategies else 1
            scatters, gathers, sent = scatters + 1, gathers + times, sent + (1 + times) * share * size
        if "BP" in self.strategies:
            reduces += 1
        if "MP" in self.strategies:
            activation = 4.0 * ROWS * POSITIONS * WIDTH / (BATCH if "BP" in self.strategies else 1)
            reduces += 4 * self.layers
            sent += 4 * self.layers * 2 * (MODEL - 1) / MODEL * activation
        return gathers, reduces, scatters, sent


def main():
    parser = programs.arguments(__doc__)
    parser.add_argument("--layers", type=int, default=32)
    parser.add_argument("--default-rates", action="store_true", help="choose for cores of a CPU")
    options = parser.parse_args()
    rates = {} if options.default_rates else RATES
    print("| strategies | all_gather, all_reduce, reduce_scatter, others | MiB | as described | MiB |")
    print("| --- | --- | --- | --- | --- |")
    failed = False
    for name in "BP", "MP", "BP+MP", "BP+MP+Z2", "BP+MP+Z3":
        step = Step(set(name.split("+")), options.layers)
        collectives = programs.inspect(options.build, step.text(), rates)["collectives"]
        counts = [sum(c["op"] == op for c in collectives) for op in ("all_gather", "all_reduce", "reduce_scatter")]
        counts.append(len(collectives) - sum(counts))
        sent = sum(c["wire_bytes_per_device"] * c["trip_count"] for c in collectives)
        *expected, described = step.described()
        print(f"| {name} | {', '.join(map(str, counts))} | {sent / 2**20:,.0f} | {', '.join(map(str, expected))} | "
              f"{described / 2**20:,.0f} |", flush=True)
        failed |= sent > described + 64  # The loss is a scalar.
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
