#!/usr/bin/env python3
"""Compares the bytes of convolutions and pools along sharded dimensions with those that devices read but do not hold.

    benchmarks/partitioner/windows.py [--build build/release] [--cases 100] [--seed 1] [--kinds conv2d "conv2d gradient"] [--run]

Random sizes, windows, strides, dilations, paddings and meshes of 2 to 8 devices: arrays of one to three positions (rank
1 to 5), one or two of them sharded, over one axis or two, arrays and results alike, as many channels in as out. The
bound is counted element by element, from the meaning of the operations and of shardings alone: what each device reads
and does not hold. The gradient by the array that is read, for a cotangent that is sharded like the result, has the same
bound: a device adds up contributions for elements that it does not hold. Pools may send less, since they reduce along
one dimension before the other. If two axes shard one dimension, shards may be uneven in the middle of an array, too:
these have a line of their own. `--run` executes every program on its devices, and on one: the results are the same.
"""

import itertools
import math

import programs
from survey import CHANNELS, MESHES, arguments, survey

KINDS = ["conv1d", "conv2d", "max_pool", "avg_pool", "slices", "conv1d gradient", "conv2d gradient", "avg_pool gradient",
         "slices gradient"]


class Dim:
    """One position: its window, and the elements that the shards of the result read."""

    def __init__(self, choose, kind, axes, mesh):
        self.size, self.axes, self.mesh = choose.randint(7, 70 if axes else 20), axes, mesh
        self.window, self.stride = choose.choice([2, 3, 3, 5]), choose.choice([1, 1, 2, 2, 3])
        self.dilation = choose.choice([1, 1, 2]) if kind.startswith("conv") else 1
        extent = (self.window - 1) * self.dilation + 1
        self.low = self.high = 0
        padding = "VALID" if kind == "slices" else choose.choice(["SAME", "VALID", "any"])
        self.size = max(self.size, extent)
        if padding == "SAME":
            missing = max((-(-self.size // self.stride) - 1) * self.stride + extent - self.size, 0)
            self.low, self.high = missing // 2, missing - missing // 2
        elif padding == "any":
            self.low, self.high = choose.randint(0, 3), choose.randint(0, 3)
        self.count = (self.size + self.low + self.high - extent) // self.stride + 1

    def pieces(self, size):
        """Begin and end of each shard, by nested ceilings."""
        ranges = [(0, size)]
        for axis in self.axes:
            length = -(-(ranges[0][1] - ranges[0][0]) // self.mesh[axis])
            ranges = [(min(start + i * length, end), min(start + (i + 1) * length, end))
                      for start, end in ranges for i in range(self.mesh[axis])]
        return ranges

    def looked(self, taps):
        """For each shard: the elements that it reads through these taps, and the range that it holds."""
        for (first, last), held in zip(self.pieces(self.count), self.pieces(self.size)):
            elements = {i * self.stride + tap * self.dilation - self.low for i in range(first, last) for tap in taps}
            yield {element for element in elements if 0 <= element < self.size}, held


class Case:
    def __init__(self, choose, kinds):
        self.kind = choose.choice(kinds)
        self.isGradient = self.kind.endswith(" gradient")
        self.kind = self.kind.removesuffix(" gradient")
        self.inputs = ["x"] + ["k"] * self.kind.startswith("conv") + ["c"] * self.isGradient
        self.mesh = choose.choice(MESHES)
        positions = {"conv1d": 1, "conv2d": 2}.get(self.kind) or choose.randint(1, 3)
        layout = [()] * positions
        names = list(self.mesh)
        self.isJoint = len(names) == 2 and (positions == 1 or choose.random() < 0.15)
        if self.isJoint:
            names = [names]  # Both shard one dimension.
        for dim, axes in zip(choose.sample(range(positions), len(names)), names):
            layout[dim] = tuple(axes)
        self.dims = [Dim(choose, self.kind, axes, self.mesh) for axes in layout]
        self.hasChannels = self.kind != "slices" or positions > 1 or choose.random() < 0.5
        self.taps = list(itertools.product(*(range(dim.window) for dim in self.dims)))
        if self.kind == "slices":
            self.taps = choose.sample(self.taps, min(len(self.taps), choose.randint(2, 5)))

    def sharded(self, sizes, channels):
        layout = [dim.axes for dim in self.dims]
        if self.kind != "slices":
            return programs.array((1, *sizes, channels), [(), *layout, ()])
        tail = [channels] if self.hasChannels else []
        return programs.array((*sizes, *tail), [*layout, *[()] * len(tail)])

    def body(self):
        if self.kind == "slices":
            def part(dim, tap):
                return f"{tap}:{tap + (dim.count - 1) * dim.stride + 1}:{dim.stride}"
            return " + ".join(f"x[{', '.join(map(part, self.dims, taps))}]" for taps in self.taps)
        def both(values):
            return f"({', '.join(map(str, values))})" if len(self.dims) > 1 else str(*values)
        options = f"strides={both([dim.stride for dim in self.dims])}"
        options += f", padding=[{', '.join(f'({dim.low}, {dim.high})' for dim in self.dims)}]"
        if self.kind.startswith("conv"):
            options += f", dilation={both([dim.dilation for dim in self.dims])}"
            if len(self.dims) == 2:  # A window of 8 x 3 could also be 8 filters in another layout.
                options += ', dimension_numbers=("NHWC", "HWIO", "NHWC")'
            return f"{self.kind}(x, k, {options})"
        return f"{self.kind}(x, {both([dim.window for dim in self.dims])}, {options})"

    def text(self, channels):
        x = self.sharded([dim.size for dim in self.dims], channels)
        result = self.sharded([dim.count for dim in self.dims], channels)
        kernel = ""
        if self.kind.startswith("conv"):
            shape = (*(dim.window for dim in self.dims), channels, channels)
            kernel = f", k: {programs.array(shape, [()] * len(shape))}"
        if not self.isGradient:
            return f"{programs.mesh(self.mesh)}fn main(x: {x}{kernel}) -> {result} {{ return {self.body()}; }}\n"
        names = ", ".join(self.inputs)
        return (f"{programs.mesh(self.mesh)}fn product({names}) {{ return sum(({self.body()}) * c); }}\n"
                f"fn main(x: {x}{kernel}, c: {result}) -> {x} {{ return grad(product)({names}); }}\n")

    def bound(self):
        """Bytes that each device receives, the mean over the devices."""
        missing = 0
        if self.kind == "slices":
            # Not every combination of rows and columns is read.
            views = [[list(dim.looked([tap])) for dim, tap in zip(self.dims, taps)] for taps in self.taps]
            for place in itertools.product(*(range(len(looked)) for looked in views[0])):
                ranges = [looked[i][1] for looked, i in zip(views[0], place)]
                seen = set()
                for view in views:
                    seen.update(itertools.product(*(looked[i][0] for looked, i in zip(view, place))))
                missing += sum(not all(start <= i < end for i, (start, end) in zip(at, ranges)) for at in seen)
        else:
            counts = [[(len(elements), sum(start <= i < end for i in elements))
                       for elements, (start, end) in dim.looked(range(dim.window))] for dim in self.dims]
            for place in itertools.product(*counts):
                missing += math.prod(needed for needed, held in place) - math.prod(held for needed, held in place)
        unit = CHANNELS if self.hasChannels else 1
        return missing * unit * 4 / math.prod(self.mesh.values())


def main():
    survey(arguments(__doc__, KINDS).parse_args(), "what is read",
           lambda choose, kind: Case(choose, [kind]))


if __name__ == "__main__":
    main()
