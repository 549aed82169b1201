#!/usr/bin/env python3
"""Compares the bytes that spmdc sends with those of JAX (Shardy's propagation, XLA's partitioner).

    .venv/bin/python benchmarks/partitioner/beside_jax.py [--build build/release] [--kinds contractions ...] [--cases 200]
        [--seed 1] [--worst 5] [--files FILE.spmd ...]

Each program becomes a function of JAX operation by operation (jax_program.py), is compiled for as many CPU devices as
its mesh has, and the bytes that the compiled HLO sends are counted (hlo.py). Kinds:

    contractions     x @ y on mesh (a=2, b=4), every sharding of x, y and the result over the axes (contractions.py)
    reshards         every pair of shardings of arrays of rank 1 to 3 on mesh (2, 4) (reshards.py)
    chains           products in a row (chains.py)
    networks         training steps and forward passes, sharded by data, tensor and fully sharded parallelism, or at random
                     (versions.py)
    models           gradients and steps of models of several kinds, sharded as usual or at random (models.py)
    einsums          of three or four arrays, random layouts (einsums.py)
    random           as in the compiler's tests (`spmd-fuzz --print`), with tiny arrays: latencies decide, so both
                     numbers mean little

A line for each kind: programs that both compile, where spmdc sends less, as much, and more, and the ratio of the sums
of all bytes to JAX's, the geometric mean of the ratios (with ten bytes more on both sides, since one of them may send
nothing), and for both the ratio to the least that any partitioning sends, if it is known.
spmdc sends more if that lets devices share work, and its model predicts that this is faster: `--rates` selects the
rates. For tests: `--require RATIO` fails if one program sends more than this many times JAX's bytes.
"""

import collections
import concurrent.futures
import itertools
import math
import pathlib
import random

import jax_program  # Before any module that imports jax.

import chains
import compositions
import contractions
import einsums
import hlo
import models
import programs
import reshards
import versions

RATES = {"cpu": None, "accelerator": compositions.RATES, "bytes": contractions.BYTES_ONLY}


def list_contractions(options):
    m, k, n = 4096, 4096, 4096
    for case in itertools.product(contractions.layouts(), repeat=3):
        yield contractions.program(m, k, n, *case), lambda case=case: contractions.optimum(m, k, n, *case, math.inf)


def list_reshards(options):
    mesh = {"a": 2, "b": 4}
    for shape in [(4096,), (64, 64), (16, 24, 32)]:
        for pair in itertools.product(reshards.layouts(mesh, len(shape)), repeat=2):
            yield reshards.program(mesh, shape, *pair), lambda shape=shape, pair=pair: reshards.bound(mesh, shape, *pair)


def list_chains(options):
    choose, written = random.Random(options.seed), list(contractions.layouts())
    for _ in range(options.cases):
        sizes = chains.SIZES[:choose.choice([4, 5])]
        layouts = [choose.choice(written) for _ in sizes]
        yield chains.program(sizes, layouts), lambda sizes=sizes, layouts=layouts: chains.optimum(sizes, layouts, isDivided=False)


def list_networks(options):
    choose = random.Random(options.seed)
    for strategy in itertools.islice(itertools.cycle([*versions.STRATEGIES.values(), None]), options.cases):
        yield versions.network(choose, strategy), None


def list_models(options):
    choose = random.Random(options.seed)
    for template in itertools.islice(itertools.cycle(models.TEMPLATES.values()), options.cases):
        yield models.model(choose, template), None


def list_einsums(options):
    choose = random.Random(options.seed)
    for _ in range(options.cases):
        yield next(einsums.Einsum(choose).texts()), None


def list_random(options):
    return [(text, None) for text in versions.random_programs(options.build, 1000 * options.seed, options.cases)]


# Programs, and a function that counts the least bytes that any partitioning sends, if known.
KINDS = {"contractions": list_contractions, "reshards": list_reshards, "chains": list_chains, "networks": list_networks,
         "models": list_models, "einsums": list_einsums, "random": list_random}


def sent_by_jax(task):
    """Bytes, or the reason why JAX cannot run the program."""
    build, text = task
    try:
        return hlo.wire_bytes_per_device(jax_program.compile(build, text).as_text())
    except jax_program.Unsupported as reason:
        return str(reason)


def beside(values, least):
    """Cells: how many are at the least, the geometric mean of the ratios and the worst one."""
    if None in least:
        return "| | | "
    ratios = [programs.ratio(value, best) for value, best in zip(values, least)]
    # If the least is zero and bytes are sent, the ratio is infinite, and the mean excludes it.
    return f"| {sum(r <= 1.001 for r in ratios)} | {programs.geometric_mean(ratios):.3f} | {max(ratios):.2f} "


def compare(options, kind, cases):
    texts = [text for text, _ in cases]
    ours = [function["wire_bytes_per_device"] for function in programs.inspect_all(options.build, texts, RATES[options.rates])]
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        theirs = list(pool.map(sent_by_jax, [(options.build, text) for text in texts], chunksize=8))
    refused = collections.Counter(value for value in theirs if isinstance(value, str))
    both = [row for row in zip(ours, theirs, cases) if not isinstance(row[1], str)]
    if both:
        print_table_row(kind, both)
    rows = [((our + 10) / (their + 10), our, their, text) for our, their, (text, _) in both]
    for ratio, our, their, text in sorted(rows, key=lambda row: -row[0])[:options.worst]:
        if ratio > 1.001:
            print(f"{ratio:.2f}: {our} bytes where JAX sends {their:.0f}:\n{text}")
    for reason, count in refused.most_common(5):
        print(f"  {count} not in JAX: {reason}")
    return max((row[0] for row in rows), default=0)


def print_table_row(kind, both):
    ours, theirs = [our for our, _, _ in both], [their for _, their, _ in both]
    # spmdc's is a whole number, JAX's a mean over the devices.
    less = sum(our < their * 0.999 - 1 for our, their in zip(ours, theirs))
    more = sum(our > their * 1.001 + 1 for our, their in zip(ours, theirs))
    mean = programs.geometric_mean([(our + 10) / (their + 10) for our, their in zip(ours, theirs)])
    least = [bound() if bound else None for _, _, (_, bound) in both]
    print(f"| {kind} | {len(both)} | {less} | {len(both) - less - more} | {more} | {sum(ours) / max(1, sum(theirs)):.3f} | {mean:.3f} "
          f"{beside(ours, least)}{beside(theirs, least)}|", flush=True)


def main():
    parser = programs.arguments(__doc__)
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--cases", type=int, default=100, help="of those that are made at random")
    parser.add_argument("--every", type=int, default=1, help="only every n-th program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--worst", type=int, default=0, help="print so many programs for which JAX sends less")
    parser.add_argument("--rates", choices=list(RATES), default="cpu", help="by which spmdc chooses: those of a core, of an "
                        "accelerator (compositions.py), or as if work cost nothing beside bytes")
    parser.add_argument("--files", nargs="*", type=pathlib.Path, help="these programs instead, main of each")
    parser.add_argument("--require", type=float, help="fail where more than so many times JAX's bytes are sent")
    options = parser.parse_args()
    kinds = {"files": [(file.read_text(), None) for file in options.files]} if options.files else {
        kind: list(KINDS[kind](options)) for kind in options.kinds}
    print("| programs | compared | less | as much | more | sum of bytes / JAX's | geometric mean "
          "| spmdc: at the least | geometric mean | worst | JAX: at the least | geometric mean | worst |")
    print("|" + " --- |" * 13)
    worst = max(compare(options, kind, cases[::options.every]) for kind, cases in kinds.items())
    if options.require and worst > options.require:
        raise SystemExit("JAX sends less")


if __name__ == "__main__":
    main()
