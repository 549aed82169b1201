#!/usr/bin/env python3
"""Does communication that shares work pay? Runs programs as spmdc chooses by default, and as if only bytes counted.

    benchmarks/partitioner/executed.py [--build build/release] [--kinds contractions ...] [--cases 60] [--seed 1]
        [--processes 2] [--worst 5]

Devices that repeat one another's work may send less than those that share it. spmdc compares both by its cost model;
the least bytes that contractions.py and chains.py find do not. Here both are executed, on a mesh of as many devices as
there are processes, each of one device and (on a machine of so many cores) one core, that talk over TCP:

    contractions     x @ y, every sharding of x, y and the result over an axis, four shapes
    chains           chains of products, sharded at random (chains.py)
    networks         training steps and forward passes (versions.py)
    models           gradients and steps of models of several kinds (models.py)

A line for each kind: how many programs there are, for how many the two choices send different bytes, and of those the
geometric means of bytes and of measured time, default / choice by bytes, how many are faster by more than 5% and how
many slower, and the worst. The two run alternately; the least of several medians counts.
"""

import itertools
import json
import pathlib
import random
import subprocess
import tempfile

import chains
import contractions
import models
import programs
import versions

SHAPES = [(1024, 1024, 1024), (4096, 512, 512), (512, 4096, 512), (512, 512, 4096)]
TURNS = 3


def list_contractions(_):
    for (m, k, n), case in itertools.product(SHAPES, itertools.product(contractions.layouts(), repeat=3)):
        yield contractions.program(m, k, n, *case)


def list_chains(options):
    choose, written = random.Random(options.seed), list(contractions.layouts())
    for _ in range(options.cases):
        sizes = [size // 2 for size in chains.SIZES[:choose.choice([4, 5])]]
        yield chains.program(sizes, [choose.choice(written) for _ in sizes])


def list_networks(options):
    choose = random.Random(options.seed)
    for strategy in itertools.islice(itertools.cycle([*versions.STRATEGIES.values(), None]), options.cases):
        yield versions.network(choose, strategy)


def list_models(options):
    choose = random.Random(options.seed)
    for template in itertools.islice(itertools.cycle(models.TEMPLATES.values()), options.cases):
        yield models.model(choose, template)


KINDS = {"contractions": list_contractions, "chains": list_chains, "networks": list_networks, "models": list_models}


def run(options, path, costs, parameters):
    """Microseconds of a call, the median of some."""
    times = path.with_suffix(".json")
    command = [options.build / "bin/spmdc", "run", path, "--cost-model", costs, "--num-processes", str(options.processes),
               "--devices-per-process", "1", "--repeat", "9", "--time-json", times]
    for parameter in parameters:  # Integers are indices.
        command += ["--input", f"{parameter['name']}={'zeros' if parameter['dtype'].startswith('i') else 'normal:1'}"]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        raise SystemExit(result.stderr)
    return json.loads(times.read_text())["median_us"]


def main():
    parser = programs.arguments(__doc__)
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--cases", type=int, default=60, help="of those that are made at random")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--worst", type=int, default=0, help="print so many programs that sharing work makes slower")
    options = parser.parse_args()
    # One axis shards; the other, of size 1, is for programs that name two.
    versions.MESHES = models.MESHES = [{"a": options.processes, "b": 1}, {"a": 1, "b": options.processes}]
    contractions.AXES = chains.AXES = {"a": options.processes}
    print("| programs | all | differ | bytes | measured time | faster | slower | worst |")
    print("|" + " --- |" * 8)
    with tempfile.TemporaryDirectory() as folder:
        for kind in options.kinds:
            compare(options, pathlib.Path(folder), kind)


def compare(options, folder, kind):
    texts = list(KINDS[kind](options))
    rates = {"default": {}, "bytes": contractions.BYTES_ONLY}
    for name, values in rates.items():
        (folder / f"{name}.json").write_text(json.dumps(values))
    chosen = {name: programs.inspect_all(options.build, texts, values) for name, values in rates.items()}
    rows = []
    for text, default, least in zip(texts, chosen["default"], chosen["bytes"]):
        if default["wire_bytes_per_device"] <= least["wire_bytes_per_device"]:
            continue
        path = folder / "program.spmd"
        path.write_text(text)
        times = {name: [] for name in rates}
        for _, name in itertools.product(range(TURNS), rates):
            times[name].append(run(options, path, folder / f"{name}.json", default["params"]))
        in_time = min(times["default"]) / min(times["bytes"])
        rows.append((in_time, default, least, text, min(times["default"]), min(times["bytes"])))
    if not rows:
        print(f"| {kind} | {len(texts)} | 0 | | | | | |", flush=True)
        return
    of_bytes = [(d["wire_bytes_per_device"] + 10) / (l["wire_bytes_per_device"] + 10) for _, d, l, *_ in rows]
    measured = [row[0] for row in rows]
    print(f"| {kind} | {len(texts)} | {len(rows)} | {programs.geometric_mean(of_bytes):.3f} "
          f"| {programs.geometric_mean(measured):.3f} "
          f"| {sum(value < 1 / 1.05 for value in measured)} | {sum(value > 1.05 for value in measured)} | {max(measured):.2f} |",
          flush=True)
    for value, default, least, text, mine, other in sorted(rows, key=lambda row: -row[0])[:options.worst]:
        if value > 1:
            print(f"{value:.2f} times as long: {mine:.0f} us and {default['wire_bytes_per_device']} bytes, "
                  f"{other:.0f} us and {least['wire_bytes_per_device']} bytes:\n{text}")


if __name__ == "__main__":
    main()
