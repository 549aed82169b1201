#!/usr/bin/env python3
"""Compares the communication of published strategies for a transformer's layer with spmdc's for their annotations.

    benchmarks/partitioner/published.py [--build build/release]

The bytes on the other side follow from the collectives that are described, for bandwidth-optimal algorithms.
Megatron-LM (Shoeybi et al. 2019): heads and the hidden dimension over `t`; one all_reduce for attention and one for the
MLP in the forward pass, and as many in the backward pass (for the gradients of the activations; those of weights over
`d` are counted by data parallelism). ZeRO (Rajbhandari et al. 2020, section 7), with psi parameters: 2 psi if the
optimiser's state and the gradients are sharded, 3 psi if the parameters are, too. GSPMD (Xu et al. 2021), weights and
activations over both axes: gathers of weights within a column of the mesh, a gather and a reduce_scatter of
activations. Data parallelism: an all_reduce for each gradient. Exit status 1 if spmdc sends more bytes than are
published.
"""

import programs

B, S, D, H = 16, 512, 1024, 4096
HEADS, K = 16, 64

MLP = """mesh m(d=2, t=4)
fn block(w, v, x) {{ return gelu(x @ w) @ v; }}
fn loss(w, v, x) {{ return sum(block(w, v, x) ** 2); }}
fn main(w: f32[{D}, {H}@t], v: f32[{H}@t, {D}], x: f32[{B}@d, {S}, {D}]) -> {result} {{ return {body}; }}
"""
ATTENTION = """mesh m(d=2, t=4)
fn block(q, k, v, o, x) {{
  let scores = einsum("bshk,bthk->bhst", einsum("bsd,dhk->bshk", x, q), einsum("bsd,dhk->bshk", x, k));
  let heads = einsum("bhst,bthk->bshk", softmax(scores * 0.125), einsum("bsd,dhk->bshk", x, v));
  return einsum("bshk,hkd->bsd", heads, o);
}}
fn loss(q, k, v, o, x) {{ return sum(block(q, k, v, o, x) ** 2); }}
fn main(q: f32[{D}, {HEADS}@t, {K}], k: f32[{D}, {HEADS}@t, {K}], v: f32[{D}, {HEADS}@t, {K}],
        o: f32[{HEADS}@t, {K}, {D}], x: f32[{B}@d, {S}, {D}]) -> {result} {{ return {body}; }}
"""
DATA = """mesh m(d=8)
fn loss(w, v, x) {{ return sum((gelu(x @ w) @ v) ** 2); }}
fn main(w: f32[{D}, {H}@_], v: f32[{H}, {D}@_], x: f32[{B}@d, {S}, {D}]) -> (f32[{D}@_, {H}@_], f32[{H}@_, {D}@_]) {{
  return grad(loss, wrt=(0, 1))(w, v, x);
}}
"""
ZERO = """mesh m(d=8)
fn loss(w, v, x) {{ return sum((gelu(x @ w) @ v) ** 2); }}
fn main(w: f32[{D}@_, {H}@_], v: f32[{H}@_, {D}@_], m: f32[{D}@d, {H}], n: f32[{H}@d, {D}], x: f32[{B}@d, {S}, {D}]) {{
  let (gw, gv) = grad(loss, wrt=(0, 1))(w, v, x);
  let (m1, n1) = (m * 0.9 + gw, n * 0.9 + gv);
  return (shard(w - m1, P()), shard(v - n1, P()), m1, n1);
}}
"""
ZERO3 = """mesh m(d=8)
fn loss(w, v, x) {{ return sum((gelu(x @ w) @ v) ** 2); }}
fn main(w: f32[{D}@d, {H}@_], v: f32[{H}@d, {D}@_], m: f32[{D}@d, {H}], n: f32[{H}@d, {D}], x: f32[{B}@d, {S}, {D}]) {{
  let (gw, gv) = grad(loss, wrt=(0, 1))(w, v, x);
  let (m1, n1) = (m * 0.9 + gw, n * 0.9 + gv);
  return (shard(w - m1, P(d, _)), shard(v - n1, P(d, _)), m1, n1);
}}
"""
FINALIZED = """mesh m(x=2, y=4)
fn main(w: f32[{D}@x, {H}@y], v: f32[{H}@y, {D}@x], a: f32[{B}@x, {S}, {D}@y]) -> f32[{B}@x, {S}, {D}@y] {{
  let h: f32[{B}@x, {S}, {H}@y] = a @ w;
  return gelu(h) @ v;
}}
"""


def all_reduce(elements, group):
    return 2 * (group - 1) / group * elements * 4


def all_gather(elements, group):
    """Bytes of an all_gather; `count` is the size of the gathered array."""
    return (group - 1) / group * elements * 4


ACTIVATION = B // 2 * S * D  # of one replica of the data
WEIGHT = D * H
GRADIENTS = "(f32[{D}@_, {H}@t], f32[{H}@t, {D}@_], f32[{B}@d, {S}@_, {D}@_])"
HEAD_GRADIENTS = ("(f32[{D}@_, {HEADS}@t, {K}@_], f32[{D}@_, {HEADS}@t, {K}@_], f32[{D}@_, {HEADS}@t, {K}@_], "
                  "f32[{HEADS}@t, {K}@_, {D}@_], f32[{B}@d, {S}@_, {D}@_])")
X = "f32[{B}@d, {S}@_, {D}@_]"

# name, program, the axes that count, published bytes of each device
CASES = [
    ("Megatron-LM, MLP, forward", MLP, X, "block(w, v, x)", "t", all_reduce(ACTIVATION, 4)),
    ("Megatron-LM, MLP, forward and backward", MLP, GRADIENTS, "grad(loss, wrt=(0, 1, 2))(w, v, x)", "t",
     2 * all_reduce(ACTIVATION, 4)),
    ("Megatron-LM, attention, forward", ATTENTION, X, "block(q, k, v, o, x)", "t", all_reduce(ACTIVATION, 4)),
    ("Megatron-LM, attention, forward and backward", ATTENTION, HEAD_GRADIENTS,
     "grad(loss, wrt=(0, 1, 2, 3, 4))(q, k, v, o, x)", "t", 2 * all_reduce(ACTIVATION, 4)),
    ("data parallelism, gradients of an MLP", DATA, "", "", "d", 2 * all_reduce(WEIGHT, 8)),
    # A device sends 2 psi with state and gradients sharded, as in data parallelism, and 3 psi with parameters sharded,
    # too: these are gathered for the forward and again for the backward pass. Here they are kept in between.
    ("ZeRO, optimiser's state and gradients sharded (2 psi)", ZERO, "", "", "d", 2 * all_gather(2 * WEIGHT, 8)),
    ("ZeRO, parameters sharded, too (3 psi)", ZERO3, "", "", "d", 3 * all_gather(2 * WEIGHT, 8)),
    # Gathers the weights' rows over x within a column of the mesh, and activations over y on both sides of the layer.
    ("GSPMD, 2D finalized, MLP", FINALIZED, "", "", "xy",
     2 * all_gather(WEIGHT / 4, 2) + 2 * all_gather(ACTIVATION, 4)),
]


def main():
    options = programs.arguments(__doc__).parse_args()
    failed = False
    sizes = dict(B=B, S=S, D=D, H=H, HEADS=HEADS, K=K)
    print("| case | spmdc | MiB from each device | published |\n| --- | --- | --- | --- |")
    for name, program, result, body, axes, published in CASES:
        text = program.format(result=result.format(**sizes), body=body, **sizes)
        counted = [c for c in programs.inspect(options.build, text)["collectives"] if set(c["axes"]) <= set(axes)]
        # A scalar (the loss) is not part of the comparison.
        counted = [c for c in counted if c["wire_bytes_per_device"] > 64]
        sent = sum(c["wire_bytes_per_device"] * c.get("trip_count", 1) for c in counted)
        kinds = {}
        for c in counted:
            kinds[c["op"]] = kinds.get(c["op"], 0) + 1
        what = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())) or "nothing"
        print(f"| {name} | {what} | {sent / 2**20:.2f} | {published / 2**20:.2f} |", flush=True)
        failed |= sent > published
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
