#!/usr/bin/env python3
"""Compares bytes, predicted time and memory of two builds of spmdc for the same programs.

    benchmarks/partitioner/versions.py --before BUILD [--build build/release] [--random 300] [--seed 1] [--worst 3]

Random programs as in the compiler's tests (`spmd-fuzz --print`), with tiny arrays, models of several kinds (models.py),
and training steps and forward passes of networks with biases, norms and weights of 16 bits, their parameters sharded as
in data, tensor and fully sharded parallelism, or at random. A line for each kind: bytes that a device sends, predicted
time, memory, each as geometric mean of the ratios, with the numbers of programs that became better and worse.
"""

import itertools
import pathlib
import random
import re
import subprocess

import models
import programs

MESHES = [{"a": 2, "b": 2}, {"a": 2, "b": 4}, {"a": 4, "b": 2}]
# Annotations of the batch, of the first weight's input and the second one's result, of the hidden dimension, of the
# bias.
STRATEGIES = {
    "data": ("@a", "@_", "@_", "@_"),
    "data, open": ("@a", "", "", ""),
    "tensor": ("@a", "@_", "@b", "@_"),
    "tensor, open": ("@a", "", "@b", ""),
    "fully sharded": ("@(a, b)", "@(a, b)", "@_", "@(a, b)"),
    "fully sharded and tensor": ("@a", "@a", "@b", "@a"),
}
ANYHOW = ["", "@_", "@a", "@b", "@(a, b)", "@(b, a)"]
SIZES = {"bytes": "wire_bytes_per_device", "time": None, "memory": "peak_bytes_per_device"}

NETWORK = """const B = {batch};
const D = {size};
const F = 4 * D;
struct Layer {{ w: {dtype}[D{inner}, F{hidden}], c: {dtype}[F{hidden}], v: {dtype}[F{hidden}, D{inner}], d: {dtype}[D{bias}],
  scale: {dtype}[D{bias}], shift: {dtype}[D{bias}] }}
fn up(x) {{ return cast(x, f32); }}
fn layer(p, x) {{
  let h = layer_norm(x, up(p.scale), up(p.shift));
  return x + {activation}(h @ up(p.w) + up(p.c)) @ up(p.v) + up(p.d);
}}
fn net(p, x) {{ return {net}; }}
fn loss(p, x, y) {{ return mean((net(p, x) - y) ** 2); }}
fn main(p: [Layer; {layers}], x: f32[B{rows}, D], y: f32[B{rows}, D]) {{
  return {result};
}}
"""


def network(choose, strategy):
    rows, inner, hidden, bias = strategy or [choose.choice(ANYHOW) for _ in range(4)]
    if strategy is None and set(re.findall("[ab]", inner)) & set(re.findall("[ab]", hidden)):
        inner = "@_"
    layers = choose.choice([1, 2, 3])
    net = "x"
    for i in range(layers):
        net = f"layer(p[{i}], {net})"
    return programs.mesh(choose.choice(MESHES)) + NETWORK.format(
        batch=choose.choice([64, 256, 2048]), size=choose.choice([128, 256, 1024]), dtype=choose.choice(["f32", "bf16"]),
        activation=choose.choice(["relu", "gelu", "tanh"]), layers=layers, net=net, rows=rows, inner=inner, hidden=hidden,
        bias=bias, result=choose.choice(["net(p, x)", "grad(loss, wrt=0)(p, x, y)"]))


def random_programs(build, seed, count):
    command = [build / "bin/spmd-fuzz", "--seed", str(seed), "--count", str(count), "--mode", "text", "--print"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    text = re.sub(r"(?m)^\d+ programs of the seeds.*$", "", text)  # The last line.
    return re.split(r"(?m)^(?=// seed \d+$)", text)[1:]


def sizes(function):
    time = function["predicted_communication_us"] + function["predicted_compute_us"]
    return [time if key is None else function[key] for key in SIZES.values()]


def main():
    parser = programs.arguments(__doc__)
    parser.add_argument("--before", type=pathlib.Path, required=True)
    parser.add_argument("--random", type=int, default=300, help="programs of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--worst", type=int, default=0, help="print this many of the worst programs, for each kind and size")
    options = parser.parse_args()
    choose = random.Random(options.seed)
    strategies = itertools.cycle(STRATEGIES.values())
    kinds = {"random": random_programs(options.build, 1000 * options.seed, options.random),
             "networks": [network(choose, next(strategies)) for _ in range(options.random)],
             "networks, sharded at random": [network(choose, None) for _ in range(options.random)],
             "models": [models.model(choose, template)
                        for template in itertools.islice(itertools.cycle(models.TEMPLATES.values()), options.random)]}
    print("| programs | size | better | worse | geometric mean | worst |\n| --- | --- | --- | --- | --- | --- |")
    for kind, texts in kinds.items():
        before, now = ([sizes(function) for function in programs.inspect_all(build, texts)]
                       for build in (options.before, options.build))
        for index, size in enumerate(SIZES):
            # Adds ten to both: a few bytes against none must not be a large ratio.
            ratios = [(new[index] + 10) / (old[index] + 10) for old, new in zip(before, now)]
            better, worse = sum(ratio < 0.999 for ratio in ratios), sum(ratio > 1.001 for ratio in ratios)
            print(f"| {kind} ({len(texts)}) | {size} | {better} | {worse} | {programs.geometric_mean(ratios):.3f} | "
                  f"{max(ratios):.2f} |")
            for ratio, text in sorted(zip(ratios, texts), key=lambda pair: -pair[0])[:options.worst]:
                print(f"{ratio:.2f} times the {size}:\n{text}")


if __name__ == "__main__":
    main()
