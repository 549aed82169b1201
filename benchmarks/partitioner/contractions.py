#!/usr/bin/env python3
"""How many bytes spmdc's partitioner sends for one contraction, and the least that any partitioning can send.

    benchmarks/partitioner/contractions.py [--build build/release] [--shape 4096,4096,4096 ...] [--worst 10] [--every 7]

`x: f32[M, K] @ y: f32[K, N]` on mesh (a=2, b=4): every sharding of x, y and the result over these axes, 729 cases,
grouped into the kinds that differ. The optimum is found here, by brute force over all possible programs, independently
of the compiler:

- the product is computed with each axis on M, K, N or none of them (each device then repeats work), axes of one
  dimension in either order;
- a reshard costs the bytes that devices must receive because they do not hold them: one exchange reaches that;
- partial sums over a group of g devices are reduced to a replicated array (all_reduce, 2 (g-1)/g of their bytes) or to
  shards (reduce_scatter, (g-1)/g), one axis after the other or together; elements that the result does not need are
  sliced off first.

Bytes are those that a device sends, averaged over the devices. A device that repeats the work of others may save bytes;
spmdc weighs that by its cost model. So there are two optima: over everything, and over programs that compute no more on
a device than spmdc's choice. With `--bytes-only` work costs nothing, and spmdc's choice should be the first.
"""

import functools
import heapq
import itertools
import math

import programs

AXES = {"a": 2, "b": 4}
DEVICES = list(itertools.product(*(range(size) for size in AXES.values())))
ELEMENT = 4
# The option of `spmdc --minimize bytes`.
BYTES_ONLY = {"minimize": "bytes"}


def group(axes):
    return math.prod(AXES[axis] for axis in axes)


@functools.cache
def box(shape, layout, device):
    """A device's shard: one (begin, end) for each dimension. `layout`: a tuple of axes per dimension, major first."""
    result = []
    for size, axes in zip(shape, layout):
        begin, length = 0, size
        for axis in axes:
            length //= AXES[axis]
            begin += length * device[list(AXES).index(axis)]
        result.append((begin, begin + length))
    return tuple(result)


@functools.cache
def move(shape, source, target):
    """Bytes that a device receives, on average."""
    total = 0
    for device in DEVICES:
        have, want = box(shape, source, device), box(shape, target, device)
        common = math.prod(max(0, min(h[1], w[1]) - max(h[0], w[0])) for h, w in zip(have, want))
        total += math.prod(w[1] - w[0] for w in want) - common
    return total * ELEMENT / len(DEVICES)


def local_bytes(shape, layout):
    return math.prod(size // group(axes) for size, axes in zip(shape, layout)) * ELEMENT


@functools.cache
def finish(shape, layout, partial, target):
    """The least cost from a result with partial sums over the axes `partial` to the target."""
    queue, done = [(0.0, layout, partial)], set()
    best = math.inf
    while queue:
        cost, layout, partial = heapq.heappop(queue)
        if cost >= best:
            return best
        if (layout, partial) in done:
            continue
        done.add((layout, partial))
        if not partial:
            best = min(best, cost + move(shape, layout, target))
        used = set(itertools.chain(*layout))
        for axis in AXES:  # Slicing is free.
            if axis not in used and axis not in partial:
                for d in range(len(shape)):
                    cut = layout[:d] + (layout[d] + (axis,),) + layout[d + 1:]
                    heapq.heappush(queue, (cost, cut, partial))
        # Reshard before reducing: partial sums are as large as their sum.
        if partial:
            for axis in used:
                without = tuple(tuple(x for x in axes if x != axis) for axes in layout)
                heapq.heappush(queue, (cost + move(shape, layout, without), without, partial))
        for count in range(1, len(partial) + 1):
            for axes in itertools.permutations(partial, count):
                g, bytes_ = group(axes), local_bytes(shape, layout)
                rest = tuple(x for x in partial if x not in axes)
                heapq.heappush(queue, (cost + 2 * (g - 1) / g * bytes_, layout, rest))
                for d in range(len(shape)):
                    cut = layout[:d] + (layout[d] + axes,) + layout[d + 1:]
                    heapq.heappush(queue, (cost + (g - 1) / g * bytes_, cut, rest))
    return best


def optimum(m, k, n, x, y, z, most_work):
    """Over all assignments of axes to the product's dimensions with so many operations per device, or fewer."""
    best = math.inf
    for places in itertools.product(("m", "k", "n", ""), repeat=len(AXES)):
        for order in itertools.permutations(AXES):
            at = {f: tuple(axis for axis in order if places[list(AXES).index(axis)] == f) for f in "mkn"}
            if 2 * m * k * n // math.prod(group(axes) for axes in at.values()) > most_work:
                continue
            cost = move((m, k), x, (at["m"], at["k"])) + move((k, n), y, (at["k"], at["n"]))
            if cost < best:
                best = min(best, cost + finish((m, n), (at["m"], at["n"]), at["k"], z))
    return best


def layouts():
    """Every assignment of two axes to two dimensions (major first in the mesh's order), or to none."""
    for places in itertools.product((0, 1, None), repeat=len(AXES)):
        yield tuple(tuple(axis for axis, place in zip(AXES, places) if place == d) for d in range(2))


def program(m, k, n, x, y, z):
    return (f"{programs.mesh(AXES)}fn main(x: {programs.array((m, k), x)}, y: {programs.array((k, n), y)})"
            f" -> {programs.array((m, n), z)} {{ return x @ y; }}\n")


def main():
    parser = programs.arguments(__doc__)
    parser.add_argument("--shape", action="append", help="M,K,N; several may be given")
    parser.add_argument("--worst", type=int, default=0, help="print so many of the worst cases")
    parser.add_argument("--every", type=int, default=1, help="only every n-th case")
    parser.add_argument("--require", action="store_true", help="fail where more is sent than the work needs")
    parser.add_argument("--bytes-only", action="store_true",
                        help="choose as if work cost nothing; --require is about the optimum over everything then")
    options = parser.parse_args()
    shapes = options.shape or ["4096,4096,4096", "16384,1024,1024", "1024,16384,1024", "1024,1024,16384"]
    print("| M, K, N | cases | at the least bytes | geometric mean | worst | at the least for this work | geometric mean | worst |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for shape in shapes:
        m, k, n = map(int, shape.split(","))
        cases = list(itertools.product(layouts(), repeat=3))[::options.every]
        texts = [program(m, k, n, *case) for case in cases]
        rows, everything = [], []
        for case, text, function in zip(cases, texts, programs.inspect_all(options.build, texts, BYTES_ONLY if options.bytes_only else None)):
            ours = function["wire_bytes_per_device"]
            for ratios, most_work in (everything, math.inf), (rows, function["flops_per_device"]):
                least = optimum(m, k, n, *case, most_work)
                assert ours >= least * (1 - 1e-9), f"{ours} bytes are less than the optimum {least}: {text}"
                ratios.append((programs.ratio(ours, least), ours, least, function, text))
        cells = [f"{m}, {k}, {n}", str(len(rows))]
        for ratios in everything, rows:
            values = [row[0] for row in ratios]
            cells += [str(sum(value <= 1.0001 for value in values)), f"{programs.geometric_mean(values):.3f}",
                      f"{max(values):.2f}"]
        print("| " + " | ".join(cells) + " |", flush=True)
        programs.print_worst(options.worst, rows)
        if options.require and max(row[0] for row in (everything if options.bytes_only else rows)) > 1.0001:
            raise SystemExit("more is sent than needed")


if __name__ == "__main__":
    main()
