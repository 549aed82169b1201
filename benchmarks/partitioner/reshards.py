#!/usr/bin/env python3
"""How many bytes spmdc sends to reshard an array, compared with a lower bound.

    benchmarks/partitioner/reshards.py [--build build/release] [--mesh 2,4 ...] [--shape 64,64 ...] [--require]

Every pair of shardings of the shape on the mesh, axes of one dimension in either order. The bound: the bytes that each
device must receive because it does not hold them, averaged over the devices. One general exchange reaches it; a
sequence of named collectives may cost more.
"""

import itertools
import math

import programs

ELEMENT = 4


def owned(size, pieces, mesh, device):
    """[begin, end) by nested ceilings, major to minor: all blocks are divided into shards of one size."""
    begin, end, length = 0, size, size
    for axis in pieces:
        length = -(-length // mesh[axis])
        begin = min(begin + length * device[axis], end)
        end = min(begin + length, end)
    return begin, end


def bound(mesh, shape, source, target):
    devices = [dict(zip(mesh, place)) for place in itertools.product(*map(range, mesh.values()))]
    total = 0
    for device in devices:
        have = [owned(size, axes, mesh, device) for size, axes in zip(shape, source)]
        want = [owned(size, axes, mesh, device) for size, axes in zip(shape, target)]
        total += math.prod(end - begin for begin, end in want)
        total -= math.prod(max(0, min(h[1], w[1]) - max(h[0], w[0])) for h, w in zip(have, want))
    return total * ELEMENT / len(devices)


def layouts(mesh, rank):
    """Every assignment of axes to dimensions, or to none."""
    seen = {}
    for order in itertools.permutations(mesh):
        for places in itertools.product([None, *range(rank)], repeat=len(mesh)):
            at = dict(zip(mesh, places))
            seen[tuple(tuple(axis for axis in order if at[axis] == d) for d in range(rank))] = None
    return list(seen)


def program(mesh, shape, source, target):
    return (f"{programs.mesh(mesh)}fn main(x: {programs.array(shape, source)}) -> {programs.array(shape, target)} "
            "{ return x; }\n")


def main():
    parser = programs.arguments(__doc__)
    parser.add_argument("--mesh", action="append", help="sizes of the axes")
    parser.add_argument("--shape", action="append")
    parser.add_argument("--worst", type=int, default=0, help="print this many of the worst pairs")
    parser.add_argument("--every", type=int, default=1, help="only every n-th pair")
    parser.add_argument("--require", action="store_true", help="fail if a pair is above the bound")
    options = parser.parse_args()
    print("| mesh | shape | pairs | at the bound | by one exchange | geometric mean | worst |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for mesh_text in options.mesh or ["2,4"]:
        mesh = {f"a{axis}": int(size) for axis, size in enumerate(mesh_text.split(","))}
        for shape_text in options.shape or ["4096", "64,64", "16,24,32", "13", "13,5", "5,3,7"]:
            shape = tuple(map(int, shape_text.split(",")))
            pairs = list(itertools.product(layouts(mesh, len(shape)), repeat=2))[::options.every]
            texts = [program(mesh, shape, *pair) for pair in pairs]
            rows = []
            for pair, text, function in zip(pairs, texts, programs.inspect_all(options.build, texts)):
                ours, least = function["wire_bytes_per_device"], bound(mesh, shape, *pair)
                assert ours >= math.floor(least), f"{ours} bytes are less than the bound {least}: {text}"
                # `wire_bytes_per_device` is a whole number.
                ratio = 1.0 if ours <= math.ceil(least) else programs.ratio(ours, least)
                rows.append((ratio, ours, least, function, text))
            mean = programs.geometric_mean([row[0] for row in rows])
            print(f"| {mesh_text} | {shape_text} | {len(rows)} | {sum(row[0] == 1 for row in rows)} | "
                  f"{sum(programs.operations(row[3]) == ['exchange'] for row in rows)} | {mean:.3f} | {max(row[0] for row in rows):.2f} |",
                  flush=True)
            programs.print_worst(options.worst, rows)
            if options.require and max(row[0] for row in rows) > 1:
                raise SystemExit("more is sent than needed")


if __name__ == "__main__":
    main()
