#!/usr/bin/env python3
"""How many bytes spmdc sends to bring an array from one sharding to another, beside the bound that no way can undercut.

    benchmarks/partitioner/reshards.py [--build build/release] [--mesh 2,4 ...] [--shape 64,64 ...] [--require]

Every pair of shardings of the shape on the mesh, axes of one dimension in either order. The bound: what each device must
receive because it does not hold it, averaged over the devices. One general exchange reaches it; a sequence of named
collectives may cost more.
"""

import argparse
import itertools
import json
import math
import pathlib
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

ELEMENT = 4


def owned(size, pieces, mesh, device):
    """[begin, end) by nested ceilings, major to minor: all blocks are cut into pieces of one size."""
    begin, end, length = 0, size, size
    for axis in pieces:
        length = -(-length // mesh[axis])
        begin = min(begin + length * device[axis], end)
        end = min(begin + length, end)
    return begin, end


def bound(mesh, shape, source, target):
    devices = list(itertools.product(*map(range, mesh)))
    total = 0
    for device in devices:
        have = [owned(size, axes, mesh, device) for size, axes in zip(shape, source)]
        want = [owned(size, axes, mesh, device) for size, axes in zip(shape, target)]
        total += math.prod(end - begin for begin, end in want)
        total -= math.prod(max(0, min(h[1], w[1]) - max(h[0], w[0])) for h, w in zip(have, want))
    return total * ELEMENT / len(devices)


def layouts(axes, rank):
    """Every way to lay axes on dimensions or nowhere."""
    seen = set()
    for order in itertools.permutations(range(axes)):
        for places in itertools.product([None, *range(rank)], repeat=axes):
            layout = tuple(tuple(axis for axis in order if places[axis] == d) for d in range(rank))
            if layout not in seen:
                seen.add(layout)
                yield layout


def typed(shape, layout):
    dims = []
    for size, axes in zip(shape, layout):
        names = [f"a{axis}" for axis in axes]
        dims.append(f"{size}@" + ("_" if not names else names[0] if len(names) == 1 else "(" + ",".join(names) + ")"))
    return "f32[" + ", ".join(dims) + "]"


def measure(build, mesh, shape, source, target):
    text = ("mesh devices(" + ", ".join(f"a{axis}={size}" for axis, size in enumerate(mesh)) + ")\n"
            f"fn main(x: {typed(shape, source)}) -> {typed(shape, target)} {{ return x; }}\n")
    with tempfile.NamedTemporaryFile("w", suffix=".spmd") as file:
        file.write(text)
        file.flush()
        out = subprocess.run([str(build / "bin/spmdc"), "inspect", "--json", file.name], check=True, text=True,
                             capture_output=True).stdout
    function = json.loads(out)["functions"][0]
    return function["wire_bytes_per_device"], [c["op"] for c in function["collectives"]], text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2] / "build/release")
    parser.add_argument("--mesh", action="append", help="sizes of the axes")
    parser.add_argument("--shape", action="append")
    parser.add_argument("--worst", type=int, default=0, help="print so many of the worst pairs")
    parser.add_argument("--every", type=int, default=1, help="only every n-th pair")
    parser.add_argument("--require", action="store_true", help="fail where a pair is above the bound")
    options = parser.parse_args()
    print("| mesh | shape | pairs | at the bound | by one exchange | geometric mean | worst |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for mesh_text in options.mesh or ["2,4"]:
        mesh = tuple(map(int, mesh_text.split(",")))
        for shape_text in options.shape or ["4096", "64,64", "16,24,32", "13", "13,5", "5,3,7"]:
            shape = tuple(map(int, shape_text.split(",")))
            pairs = list(itertools.product(list(layouts(len(mesh), len(shape))), repeat=2))[::options.every]
            with ThreadPoolExecutor(2) as pool:
                measured = list(pool.map(lambda pair: measure(options.build, mesh, shape, *pair), pairs))
            rows = []
            for (source, target), (ours, ops, text) in zip(pairs, measured):
                least = bound(mesh, shape, source, target)
                assert ours >= math.floor(least), f"{ours} bytes are less than the bound {least}: {text}"
                # `wire_bytes_per_device` is a whole number.
                ratio = 1.0 if ours <= math.ceil(least) else ours / least if least else math.inf
                rows.append((ratio, ours, least, ops, text))
            mean = math.exp(sum(math.log(row[0]) for row in rows) / len(rows))
            print(f"| {mesh_text} | {shape_text} | {len(rows)} | {sum(row[0] == 1 for row in rows)} | "
                  f"{sum(row[3] == ['exchange'] for row in rows)} | {mean:.3f} | {max(row[0] for row in rows):.2f} |",
                  flush=True)
            for ratio, ours, least, ops, text in sorted(rows, key=lambda row: -row[0])[:options.worst]:
                print(f"  {ratio:.2f}: {ours} bytes where {least:.1f} are enough, {' '.join(ops)}: {text.splitlines()[1]}")
            if options.require and max(row[0] for row in rows) > 1:
                raise SystemExit("more is sent than needed")


if __name__ == "__main__":
    main()
