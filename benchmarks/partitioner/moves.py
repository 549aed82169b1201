#!/usr/bin/env python3
"""Compares the bytes of moves along sharded dimensions with those that devices need but do not hold.

    benchmarks/partitioner/moves.py [--build build/release] [--cases 100] [--seed 1] [--kinds roll flip] [--run]

Random sizes and meshes of 2 to 8 devices: one operation of a kind after another of any kind, on one or two parameters
that are sharded along one or two dimensions; half of the programs add two such expressions. The bound is counted
element by element: the elements of the parameters that each device's shard of the result consists of, minus those that
it holds.
`--run` executes every program on its devices, and on one: the results are the same.
"""

import itertools
import math

import programs
from survey import CHANNELS, MESHES, arguments, survey

KINDS = ["slice", "pad", "roll", "flip", "concatenate", "update", "tile", "repeat"]


class Array:
    """An expression, and for each of its elements the elements of the parameters that it depends on."""

    def __init__(self, text, shape, elements):
        self.text, self.shape, self.elements = text, shape, elements

    @staticmethod
    def parameter(name, shape):
        return Array(name, shape, {at: frozenset([(name, at)]) for at in places(shape)})

    def made(self, text, shape, source):
        """`source` maps a position of the result to a position in this array; None for a constant."""
        elements = {}
        for at in places(shape):
            before = source(at)
            elements[at] = self.elements[before] if before is not None else frozenset()
        return Array(text, shape, elements)


def places(shape):
    return itertools.product(*map(range, shape))


def along(shape, dim, size):
    return (*shape[:dim], size, *shape[dim + 1:])


def moved(choose, kind, x, others):
    """One operation of a kind on x."""
    dim = choose.randrange(len(x.shape))
    size = x.shape[dim]

    def from_place(place):
        def source(at):
            i = place(at[dim])
            return along(at, dim, i) if i is not None and 0 <= i < size else None
        return source

    if kind == "slice":
        start, stride = choose.randint(0, size // 3), choose.choice([1, 1, 1, 2, 3])
        stop = choose.randint(max(start + 1, size // 2), size)
        index = ", ".join([":"] * dim + [f"{start}:{stop}:{stride}"])
        return x.made(f"{x.text}[{index}]", along(x.shape, dim, len(range(start, stop, stride))),
                      from_place(lambda i: start + i * stride))
    if kind == "pad":
        low, high = choose.randint(0, 5), choose.randint(0, 5)
        pairs = ", ".join(f"({low}, {high})" if d == dim else "(0, 0)" for d in range(len(x.shape)))
        return x.made(f"pad({x.text}, [{pairs}, (0, 0)])", along(x.shape, dim, size + low + high),
                      from_place(lambda i: i - low))
    if kind == "roll":
        by = choose.randint(-size, size)
        return x.made(f"roll({x.text}, {by}, axis={dim})", x.shape, from_place(lambda i: (i - by) % size))
    if kind == "flip":
        return x.made(f"flip({x.text}, axis={dim})", x.shape, from_place(lambda i: size - 1 - i))
    if kind == "tile":
        counts = ", ".join("2" if d == dim else "1" for d in range(len(x.shape) + 1))
        return x.made(f"tile({x.text}, [{counts}])", along(x.shape, dim, 2 * size), from_place(lambda i: i % size))
    if kind == "repeat":
        return x.made(f"repeat({x.text}, 2, axis={dim})", along(x.shape, dim, 2 * size), from_place(lambda i: i // 2))
    y = choose.choice(others)
    if len(y.shape) != len(x.shape) or any(a != b for d, (a, b) in enumerate(zip(x.shape, y.shape)) if d != dim):
        y = x
    if kind == "concatenate":
        joined = y.made(f"concatenate([{x.text}, {y.text}], axis={dim})", along(x.shape, dim, size + y.shape[dim]),
                        lambda at: along(at, dim, at[dim] - size) if at[dim] >= size else None)
        for at, element in x.elements.items():
            joined.elements[at] = element
        return joined
    # An update by a slice of the other.
    length = choose.randint(1, min(size, y.shape[dim]))
    start, first = choose.randint(0, size - length), choose.randint(0, y.shape[dim] - length)
    part = ", ".join([":"] * dim + [f"{first}:{first + length}"])
    at_start = ", ".join(str(start) if d == dim else "0" for d in range(len(x.shape) + 1))
    updated = x.made(f"update({x.text}, {y.text}[{part}], start=[{at_start}])", x.shape, lambda at: at)
    for at in places(x.shape):
        if start <= at[dim] < start + length:
            updated.elements[at] = y.elements[along(at, dim, at[dim] - start + first)]
    return updated


def pieces(size, axes, mesh):
    """Begin and end of each shard, by nested ceilings, with its position along the axes."""
    ranges = [((), 0, size)]
    for axis in axes:
        length = -(-(ranges[0][2] - ranges[0][1]) // mesh[axis])
        ranges = [((*place, i), min(start + i * length, end), min(start + (i + 1) * length, end))
                  for place, start, end in ranges for i in range(mesh[axis])]
    return {place: range(start, end) for place, start, end in ranges}


class Case:
    inputs = ["x", "y"]
    isJoint = False

    def __init__(self, choose, kind):
        self.mesh = choose.choice(MESHES)
        rank = choose.randint(1, 2)
        shape = tuple(choose.randint(8, 60 if d == 0 else 24) for d in range(rank))
        other = along(shape, choose.randrange(rank), choose.randint(8, 40))
        self.parameters = {"x": shape, "y": other}
        self.layouts = {name: self.layout(choose, rank) for name in "xy"}
        if choose.random() < 0.7:
            self.layouts["y"] = self.layouts["x"]
        inputs = [Array.parameter(name, shape) for name, shape in self.parameters.items()]
        self.result = None
        while self.result is None:
            parts = [self.expression(choose, kind, inputs) for _ in range(choose.randint(1, 2))]
            if math.prod(parts[0].shape) > 4000:
                continue
            if len(parts) == 2 and parts[0].shape != parts[1].shape:
                common = tuple(map(min, parts[0].shape, parts[1].shape))
                cut = ", ".join(f":{size}" for size in common)
                parts = [part.made(f"({part.text})[{cut}]", common, lambda at: at) for part in parts]
            self.result = parts[0]
            if len(parts) == 2:
                self.result = Array(f"{parts[0].text} + {parts[1].text}", parts[0].shape,
                                    {at: parts[0].elements[at] | parts[1].elements[at] for at in parts[0].elements})
        self.target = self.layouts["x"]

    def layout(self, choose, rank):
        names = [(axis,) for axis in self.mesh]
        if rank == 1 or choose.random() < 0.3:
            names = names[:1]
        layout = [()] * rank
        for dim, axes in zip(choose.sample(range(rank), len(names)), names):
            layout[dim] = axes
        return layout

    @staticmethod
    def expression(choose, kind, inputs):
        kinds = [kind, choose.choice(KINDS)][:choose.randint(1, 2)]
        choose.shuffle(kinds)
        x = inputs[0] if choose.random() < 0.7 else inputs[1]
        for each in kinds:
            x = moved(choose, each, x, inputs)
        return x

    def text(self, channels):
        def typed(shape, layout):
            return programs.array((*shape, channels), [*layout, ()])
        parameters = ", ".join(f"{name}: {typed(shape, self.layouts[name])}" for name, shape in self.parameters.items())
        return (f"{programs.mesh(self.mesh)}fn main({parameters}) -> {typed(self.result.shape, self.target)} "
                f"{{ return {self.result.text}; }}\n")

    def bound(self):
        """Bytes that each device receives, the mean over the devices."""
        names = list(self.mesh)
        missing = 0

        def held(shape, layout, device):
            return [pieces(size, axes, self.mesh)[tuple(device[names.index(axis)] for axis in axes)]
                    for size, axes in zip(shape, layout)]

        for device in itertools.product(*map(range, self.mesh.values())):
            needed = set()
            for at in itertools.product(*held(self.result.shape, self.target, device)):
                needed |= self.result.elements[at]
            own = {name: held(shape, self.layouts[name], device) for name, shape in self.parameters.items()}
            missing += sum(not all(i in have for i, have in zip(at, own[name])) for name, at in needed)
        return missing * CHANNELS * 4 / math.prod(self.mesh.values())


def main():
    survey(arguments(__doc__, KINDS).parse_args(), "what is needed", Case)


if __name__ == "__main__":
    main()
