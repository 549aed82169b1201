#!/usr/bin/env python3
"""How many bytes spmdc's partitioner sends for a chain of products, and the least that is needed.

    benchmarks/partitioner/chains.py [--build build/release] [--products 2 3] [--cases 200] [--seed 1] [--worst 10]

`x @ w1 @ w2 ...` on mesh (a=2, b=4): random layouts of x, of each w and of the result are annotated, those of the
intermediate products are the compiler's choice. The optimum is found by brute force, independently of the compiler:
over every layout of each intermediate array, each product separately by the search of contractions.py. As there,
devices that repeat one another's work may save bytes; so there are two optima, over everything and over what divides
each product among all devices, the latter beside the cases where spmdc divides all of them.
"""

import functools
import itertools
import math
import random

import contractions
import programs
from contractions import AXES

SIZES = [4096, 1024, 2048, 512, 1024, 2048]


@functools.cache
def between():
    """Every layout of two axes on two dimensions, in every order."""
    found = set()
    for order in itertools.permutations(AXES):
        for places in itertools.product((0, 1, None), repeat=len(AXES)):
            found.add(tuple(tuple(axis for axis, place in zip(order, places) if place == d) for d in range(2)))
    return sorted(found)


@functools.cache
def product(m, k, n, x, y, z, most_work):
    return contractions.optimum(m, k, n, x, y, z, most_work)


def optimum(sizes, layouts, isDivided):
    """`layouts`: those of x, of each w, of the result."""
    costs = {layouts[0]: 0.0}
    devices = len(contractions.DEVICES)
    for i, w in enumerate(layouts[1:-1]):
        m, k, n = sizes[0], sizes[i + 1], sizes[i + 2]
        most_work = 2 * m * k * n // devices if isDivided else math.inf
        targets = [layouts[-1]] if i == len(layouts) - 3 else between()
        costs = {z: min(cost + product(m, k, n, x, w, z, most_work) for x, cost in costs.items()) for z in targets}
    return costs[layouts[-1]]


def program(sizes, layouts):
    count = len(layouts) - 2
    names = ["x"] + [f"w{i}" for i in range(count)]
    shapes = [sizes[:2]] + [sizes[i + 1:i + 3] for i in range(count)]
    parameters = ", ".join(f"{name}: {programs.array(*typed)}" for name, *typed in zip(names, shapes, layouts))
    result = programs.array((sizes[0], sizes[count + 1]), layouts[-1])
    return f"{programs.mesh(AXES)}fn main({parameters}) -> {result} {{ return {' @ '.join(names)}; }}\n"


def main():
    parser = programs.arguments(__doc__)
    parser.add_argument("--products", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--worst", type=int, default=0, help="print so many of the worst cases")
    parser.add_argument("--require", type=float, help="fail where more than so many times the divided optimum is sent")
    options = parser.parse_args()
    failed = False
    print("| products | cases | mean of all | of these divided | at the least bytes | geometric mean | worst |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for count in options.products:
        sizes = SIZES[:count + 2]
        choose = random.Random(options.seed)
        written = list(contractions.layouts())
        cases = [tuple(choose.choice(written) for _ in range(count + 2)) for _ in range(options.cases)]
        texts = [program(sizes, case) for case in cases]
        work = sum(2 * sizes[0] * sizes[i + 1] * sizes[i + 2] for i in range(count)) / len(contractions.DEVICES)
        rows, everything = [], []
        for case, text, function in zip(cases, texts, programs.inspect_all(options.build, texts)):
            ours, least = function["wire_bytes_per_device"], optimum(sizes, case, isDivided=False)
            assert ours >= least * (1 - 1e-9), f"{ours} bytes are less than the optimum {least}: {text}"
            everything.append(programs.ratio(ours, least))
            if function["flops_per_device"] <= work * (1 + 1e-9):
                divided = optimum(sizes, case, isDivided=True)
                rows.append((programs.ratio(ours, divided), ours, divided, function, text))
        ratios = [row[0] for row in rows]
        print(f"| {count} | {len(cases)} | {programs.geometric_mean(everything):.3f} | {len(rows)} "
              f"| {sum(r <= 1.0001 for r in ratios)} | {programs.geometric_mean(ratios):.3f} | {max(ratios):.2f} |", flush=True)
        programs.print_worst(options.worst, rows)
        failed |= bool(options.require) and max(ratios) > options.require
    raise SystemExit("more is sent than allowed" if failed else 0)


if __name__ == "__main__":
    main()
