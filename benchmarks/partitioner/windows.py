#!/usr/bin/env python3
"""What convolutions and pools send over cut dimensions, beside what devices look at and do not hold.

    benchmarks/partitioner/windows.py [--build build/release] [--cases 100] [--seed 1] [--kinds conv2d] [--run]

Random sizes, windows, strides, paddings and meshes of 2 to 8 devices, cut along rows, columns or both, arrays and results
alike, as many channels in as out. The bound is counted element by element, from the meaning of the operations and of
shardings alone: the rows and columns that each device looks at and does not hold (all of a dimension that is not cut).
Pools may send less than that, what they have reduced along one dimension before the other. `--run` executes every
program on its devices, and on one: the results are the same.
"""

import math
import random

import programs

MESHES = [{"a": 2}, {"a": 4}, {"a": 5}, {"a": 8}, {"a": 2, "b": 2}, {"a": 2, "b": 4}, {"a": 4, "b": 2}]
KINDS = ["conv2d", "max_pool", "avg_pool"]
CHANNELS = 4096  # So many that bytes weigh more than the latency of an exchange.


class Case:
    def __init__(self, choose, kinds):
        self.mesh = choose.choice(MESHES)
        self.layout = [("a",), ("b",) if "b" in self.mesh else ()]
        if choose.random() < 0.3:
            self.layout.reverse()
        self.sizes = [choose.randint(7, 70), choose.randint(7, 40)]
        self.kind = choose.choice(kinds)
        self.window = choose.choice([2, 3, 3, 5])
        self.stride = min(self.window, choose.choice([1, 2, 2, 3]))  # Else windows leave gaps.
        self.isSame = choose.random() < 0.6

    def count(self, size):
        return -(-size // self.stride) if self.isSame else (size - self.window) // self.stride + 1

    def low(self, size):
        missing = max((self.count(size) - 1) * self.stride + self.window - size, 0) if self.isSame else 0
        return missing // 2

    def pieces(self, dim):
        return math.prod(self.mesh[axis] for axis in self.layout[dim])

    def text(self, channels):
        padding = "SAME" if self.isSame else "VALID"
        options = f'strides={self.stride}, padding="{padding}"'
        layout = [(), *self.layout, ()]
        x = programs.array((1, *self.sizes, channels), layout)
        k = programs.array((self.window, self.window, channels, channels), [()] * 4)
        result = programs.array((1, *map(self.count, self.sizes), channels), layout)
        second = "k" if self.kind == "conv2d" else self.window
        return (f"{programs.mesh(self.mesh)}fn main(x: {x}, k: {k}) -> {result} {{ "
                f"return {self.kind}(x, {second}, {options}); }}\n")

    def looked(self, dim):
        """For each piece of a dimension: how many elements it looks at, and how many of those it holds."""
        size, pieces = self.sizes[dim], self.pieces(dim)
        piece, results = -(-size // pieces), -(-self.count(size) // pieces)
        counts = []
        for i in range(pieces):
            places = range(i * results, min(self.count(size), (i + 1) * results))
            needed = {p * self.stride + tap - self.low(size) for p in places for tap in range(self.window)}
            needed = {element for element in needed if 0 <= element < size} if pieces > 1 else set(range(size))
            counts.append((len(needed), sum(i * piece <= element < (i + 1) * piece for element in needed)))
        return counts

    def bound(self):
        """Bytes that each device receives, the mean over the devices."""
        rows, columns = self.looked(0), self.looked(1)
        missing = sum(n * m - h * g for n, h in rows for m, g in columns)
        return missing * CHANNELS * 4 / math.prod(self.mesh.values())

    def values(self, build, mesh):
        options = ["--print", "--input", "x=iota", "--input", "k=iota"]
        if mesh:
            options += ["--devices-per-process", str(math.prod(mesh.values()))]
        else:
            options += ["--mesh", ",".join(f"{axis}=1" for axis in self.mesh)]
        lines = programs.spmdc(build, "run", self.text(2), *options).splitlines()
        return [line.split(" @ ")[0] for line in lines if not line.startswith("run")]


def main():
    parser = programs.arguments(__doc__)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--require", type=float, help="fail where the geometric mean is more than so many times what is looked at")
    parser.add_argument("--worst", type=int, default=0, help="print so many of the worst cases")
    parser.add_argument("--run", action="store_true", help="compare the results with those of one device")
    options = parser.parse_args()
    choose = random.Random(options.seed)
    cases = [Case(choose, options.kinds) for _ in range(options.cases)]
    ratios, failed = [], False
    for case, function in zip(cases, programs.inspect_all(options.build, [case.text(CHANNELS) for case in cases])):
        sent = sum(collective["wire_bytes_per_device"] for collective in function["collectives"])
        ratios.append(programs.ratio(sent, case.bound()))
        if options.run and case.values(options.build, case.mesh) != case.values(options.build, None):
            print(f"gives something else on one device:\n{case.text(2)}")
            failed = True
    for ratio, case in sorted(zip(ratios, cases), key=lambda pair: -pair[0])[:options.worst]:
        print(f"{ratio:.2f} times the bytes:\n{case.text(CHANNELS)}")
    exact = sum(ratio == 1 for ratio in ratios)
    print("| kinds | cases | exactly what is looked at | geometric mean | worst |\n| --- | --- | --- | --- | --- |")
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios)) if math.inf not in ratios else math.inf
    failed |= options.require is not None and mean > options.require
    print(f"| {', '.join(options.kinds)} | {len(cases)} | {exact} | {mean:.3f} | {max(ratios):.2f} |")
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
