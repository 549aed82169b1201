#!/usr/bin/env python3
"""An einsum of several arrays, compared with every order in which a user could write it as products of two.

    benchmarks/partitioner/einsums.py [--build build/release] [--cases 100] [--seed 1] [--worst 10] [--bytes-only]

Random einsums of three or four arrays on mesh (a=2, b=4), with random layouts of the arrays and of the result. Each is
compiled as it is, and once for every order of its products, as nested einsums of two. Compares the times that `spmdc
inspect` predicts, or with `--bytes-only` the bytes, when work costs nothing. `--require R`: exit status 1 if the einsum
costs more than R times the best order.
"""

import random
import string

import contractions
import programs

AXES = contractions.AXES
SIZES = [8, 16, 64, 256, 1024]


def orders(count):
    """Every tree of products of two: an operand's number, or a pair of trees."""
    def trees(numbers):
        if len(numbers) == 1:
            yield numbers[0]
            return
        first, *rest = numbers
        for mask in range(2 ** len(rest) - 1):
            left = [first] + [n for i, n in enumerate(rest) if mask >> i & 1]
            right = [n for i, n in enumerate(rest) if not mask >> i & 1]
            for x in trees(left):
                for y in trees(right):
                    yield x, y
    return list(trees(list(range(count))))


def leaves(tree):
    return [tree] if isinstance(tree, int) else leaves(tree[0]) + leaves(tree[1])


class Einsum:
    def __init__(self, rng):
        while True:
            labels = string.ascii_lowercase[:rng.randint(3, 5)]
            self.sizes = {label: rng.choice(SIZES) for label in labels}
            self.inputs = ["".join(rng.sample(labels, rng.randint(1, 3))) for _ in range(rng.choice([3, 3, 4]))]
            used = "".join(self.inputs)
            once = [label for label in labels if used.count(label) == 1]
            self.output = "".join(label for label in labels if label in used and (label in once or rng.random() < .3))
            if all(label in used for label in labels) and self.elements(self.output) <= 2 ** 24:
                break
        self.layouts = [self.layout(rng, labels) for labels in self.inputs + [self.output]]

    def elements(self, labels):
        return programs.math.prod(self.sizes[label] for label in labels)

    def layout(self, rng, labels):
        dims = [() for _ in labels]
        for axis in AXES:
            if labels and rng.random() < .6:
                place = rng.randrange(len(labels))
                dims[place] = (*dims[place], axis)
        return dims

    def type(self, labels, layout):
        return programs.array([self.sizes[label] for label in labels], layout)

    def nested(self, tree, output):
        if isinstance(tree, int):
            return f"x{tree}", self.inputs[tree]
        outside = [labels for i, labels in enumerate(self.inputs) if i not in leaves(tree)] + [self.output]
        (left, of_left), (right, of_right) = (self.nested(side, None) for side in tree)
        labels = output if output is not None else "".join(
            label for label in dict.fromkeys(of_left + of_right) if any(label in other for other in outside))
        return f'einsum("{of_left},{of_right}->{labels}", {left}, {right})', labels

    def program(self, expression):
        parameters = ", ".join(f"x{i}: {self.type(labels, layout)}"
                               for i, (labels, layout) in enumerate(zip(self.inputs, self.layouts)))
        return (f"{programs.mesh(AXES)}fn main({parameters}) -> {self.type(self.output, self.layouts[-1])} "
                f"{{ return {expression}; }}\n")

    def texts(self):
        """The einsum, then every order."""
        names = ", ".join(f"x{i}" for i in range(len(self.inputs)))
        yield self.program(f'einsum("{",".join(self.inputs)}->{self.output}", {names})')
        for tree in orders(len(self.inputs)):
            yield self.program(self.nested(tree, self.output)[0])


def main():
    parser = programs.arguments(__doc__)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--worst", type=int, default=0, help="print so many of the worst cases")
    parser.add_argument("--bytes-only", action="store_true", help="choose as if work cost nothing")
    parser.add_argument("--require", type=float, help="fail where more than so many times the best order is needed")
    options = parser.parse_args()
    rates = contractions.BYTES_ONLY if options.bytes_only else None
    rng = random.Random(options.seed)
    rows = []
    for _ in range(options.cases):
        texts = list(Einsum(rng).texts())
        found = programs.inspect_all(options.build, texts, rates)
        price = [f["wire_bytes_per_device"] if options.bytes_only else
                 f["predicted_communication_us"] + f["predicted_compute_us"] for f in found]
        rows.append((programs.ratio(price[0], min(price[1:])), price[0], min(price[1:]), found[0], texts[0],
                     programs.ratio(max(price[1:]), min(price[1:]))))
    ratios = [row[0] for row in rows]
    print(f"seed {options.seed}: {len(rows)} einsums, {sum(ratio <= 1.02 for ratio in ratios)} as good as the best order, "
          f"{programs.geometric_mean(ratios):.3f} in the geometric mean, {max(ratios):.2f} at worst; "
          f"the worst order {programs.geometric_mean([row[-1] for row in rows]):.2f}")
    for row in sorted(rows, key=lambda row: -row[0])[:options.worst]:
        print(f"  {row[0]:.2f}: {row[1]:.0f} where {row[2]:.0f} is possible: {row[4].splitlines()[1]}")
    if options.require and max(ratios) > options.require:
        raise SystemExit("another order is better")


if __name__ == "__main__":
    main()
