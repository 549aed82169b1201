#!/usr/bin/env python3
"""Time and memory from text to the partitioned program, for a 48-layer transformer on large meshes.

    benchmarks/partitioner/scale.py [--build build/release] [--layers 48] [--devices 8 64 512 4096 65536] [--seconds 2]

Megatron's strategy: rows of the batch over `data`, heads and the hidden dimension over `model`. Once with its layers as
a list and a loop over it (`[Block; 48]`), once with a parameter and a call for each. Exit status 1 if one takes more
than `--seconds`, or if the collectives are not the two all_reduces that each layer needs.
"""

import resource
import time

import programs

PROGRAM = """mesh m(data={data}, model={model})

const D = 8192;
const HEADS = 64;

struct Block {{
  query: f32[D, HEADS@model, D / HEADS], key: f32[D, HEADS@model, D / HEADS], value: f32[D, HEADS@model, D / HEADS],
  out: f32[HEADS@model, D / HEADS, D],
  up: f32[D, 4 * D@model], down: f32[4 * D@model, D],
}}
{net}
fn block(p, x) {{
  let n = rms_norm(x, 1.0);
  let scores = einsum("bshk,bthk->bhst", einsum("bsd,dhk->bshk", n, p.query), einsum("bsd,dhk->bshk", n, p.key));
  let heads = einsum("bhst,bthk->bshk", softmax(scores * 0.088), einsum("bsd,dhk->bshk", n, p.value));
  let y = x + einsum("bshk,hkd->bsd", heads, p.out);
  return y + gelu(rms_norm(y, 1.0) @ p.up) @ p.down;
}}

fn main({parameters}, x: f32[{batch}@data, 2048, D]) {{
{body}
}}
"""


def program(devices, layers, isLoop):
    model = min(8, devices // 2)
    data = devices // model
    if isLoop:
        body = f"  return for i in 0..{layers} carry (h = x) {{ yield block(p.layers[i], h); }};"
        net, parameters = f"struct Net {{ layers: [Block; {layers}] }}\n", "p: Net"
    else:
        body = "".join(f"  let x = block(p{i}, x);\n" for i in range(layers)) + "  return x;"
        net, parameters = "", ", ".join(f"p{i}: Block" for i in range(layers))
    return PROGRAM.format(data=data, model=model, batch=2 * data, net=net, parameters=parameters, body=body)


def main():
    parser = programs.arguments(__doc__)
    parser.add_argument("--layers", type=int, default=48)
    parser.add_argument("--devices", type=int, nargs="+", default=[8, 64, 512, 4096, 65536])
    parser.add_argument("--seconds", type=float, default=2)
    options = parser.parse_args()
    failed = False
    print("| devices | loop over layers | a call for each layer | memory |\n| --- | --- | --- | --- |")
    for devices in options.devices:
        cells = []
        for isLoop in True, False:
            begin = time.monotonic()
            partitioned = programs.spmdc(options.build, "compile", program(devices, options.layers, isLoop),
                                         "--emit=partitioned")
            seconds = time.monotonic() - begin
            expected = 2 if isLoop else 2 * options.layers
            sums, others = partitioned.count("spmd.all_reduce sum"), sum(
                partitioned.count(f"spmd.{name}") for name in ("all_gather", "reduce_scatter", "all_to_all", "exchange"))
            if sums != expected or others:
                print(f"{devices} devices: {sums} all_reduces, {others} other collectives; expected {expected} and none")
                failed = True
            failed |= seconds > options.seconds
            cells.append(f"{seconds:.2f} s")
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(f"| {devices:,} | {cells[0]} | {cells[1]} | {memory:.0f} MiB |", flush=True)
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
