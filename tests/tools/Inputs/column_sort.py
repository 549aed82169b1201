"""Random sorts along sharded dimensions, run on their devices and compared with Python's own stable sort.

    column_sort.py --build DIR [--cases N] [--seed N]

The cost model has computing or sending so slow that most cases are sorts by samples or columnsorts: pieces smaller and
larger than these need (fewer elements than devices, too), one axis or several, equal elements, zeros and NaN of both signs,
data that are spread over the pieces, in order, or all in the wrong piece, ascending and descending, alone, with positions
and with other arrays, along any dimension of arrays that are cut elsewhere, too. Every third program counts positions in
i64, as one along a dimension of more than 2^30 elements does.
"""

import argparse
import collections
import json
import math
import pathlib
import random
import struct
import subprocess
import tempfile

MODELS = [{"latency_us": 0.001, "memory_bytes_per_second": 1e6},
          {"latency_us": 0.001, "memory_bytes_per_second": 1e14, "bytes_per_second": 1e3}]
MESHES = [{"a": 2}, {"a": 3}, {"a": 4}, {"a": 5}, {"a": 8}, {"a": 6}, {"a": 4, "b": 2}, {"a": 2, "b": 4}, {"a": 2, "b": 2},
          {"a": 3, "b": 2}, {"a": 2, "b": 2, "c": 2}]
FORMATS = {"f32": ("<f4", "f"), "f64": ("<f8", "d"), "f16": ("<f2", "e"), "i64": ("<i8", "q"), "i32": ("<i4", "i"),
           "i8": ("|i1", "b"), "u32": ("<u4", "I"), "u8": ("|u1", "B"), "bool": ("|b1", "?"), "bf16": ("<f4", "f")}  # which files do not have
NAN = {"f": struct.pack("<I", 0x7fc00000), "d": struct.pack("<Q", 0x7ff8 << 48), "e": struct.pack("<H", 0x7e00)}


def write_npy(path, dtype, shape, values):
    descr, code = FORMATS[dtype]
    header = repr({"descr": descr, "fortran_order": False, "shape": tuple(shape)})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    data = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
    path.write_bytes(data + b"".join(struct.pack("<" + code, value) for value in values))


def read_npy(path, code):
    """The elements as their bytes, so that zeros and NaN of both signs differ."""
    data = path.read_bytes()
    begin = 10 + struct.unpack("<H", data[8:10])[0]
    size = struct.calcsize("<" + code)
    return [data[i:i + size] for i in range(begin, len(data), size)]


def draw(choose, dtype, count):
    values = draw_any(choose, "f32" if dtype == "bf16" else dtype, count)
    if dtype == "bf16":
        values = [struct.unpack("<f", b"\0\0" + struct.pack("<f", value)[2:])[0] for value in values]
    if choose.random() < 0.3:  # A network that sorts any two values sorts all (the 0-1 principle).
        values = [choose.choice(values[:2]) for _ in values]
    return values


def draw_any(choose, dtype, count):
    if dtype[0] == "f":
        special = [0.0, -0.0, math.nan, -math.nan, math.inf, -math.inf, 1.5, -1.5]
        return [choose.choice(special) if choose.random() < 0.4 else round(choose.gauss(0, 2), 2) for _ in range(count)]
    if dtype == "bool":
        return [choose.random() < 0.5 for _ in range(count)]
    bits = 8 * struct.calcsize("<" + FORMATS[dtype][1])
    low, high = (0, 2**bits - 1) if dtype[0] == "u" else (-2**(bits - 1), 2**(bits - 1) - 1)
    few = [low, high, choose.randint(low, high), choose.randint(low, high)]
    return [choose.choice(few) if choose.random() < 0.3 else choose.randint(low, high) for _ in range(count)]


def order(values, code, descending):
    """Positions in the order of the language: jnp.argsort ascending, lax.top_k descending."""
    if code not in NAN:
        return sorted(range(len(values)), key=lambda i: -values[i] if descending else values[i])
    if not descending:
        return sorted(range(len(values)), key=lambda i: (math.isnan(values[i]), 0 if math.isnan(values[i]) else values[i]))

    def key(value):
        sign = math.copysign(1, value)
        return (-sign if math.isnan(value) else 0, 0 if math.isnan(value) else -value, -sign)
    return sorted(range(len(values)), key=lambda i: key(values[i]))


def arrange(choose, case, x):
    """Lines as they are, sorted, reversed, or with their shards reversed."""
    kind = choose.choice(["any", "any", "in order", "reversed", "pieces"])
    for line in case.lines() if kind != "any" else []:
        values = [x[place] for place in line]
        values = [values[i] for i in order(values, FORMATS[case.dtype][1], False)]
        piece = -(-len(line) // case.pieces)
        if kind == "reversed":
            values.reverse()
        elif kind == "pieces":
            values = [value for begin in reversed(range(0, len(line), piece)) for value in values[begin:begin + piece]]
        for place, value in zip(line, values):
            x[place] = value


class Case:
    def __init__(self, choose):
        self.mesh = choose.choice(MESHES)
        axes = list(self.mesh)
        choose.shuffle(axes)
        self.rank, isSplit = choose.randint(1, 3), choose.random() < 0.4
        self.axis = choose.randrange(self.rank)
        self.dtype = choose.choice(list(FORMATS))
        along = axes[:1] if isSplit and self.rank > 1 else axes
        pieces = math.prod(self.mesh[axis] for axis in along)
        self.shape = [choose.randint(1, 3) for _ in range(self.rank)]
        self.pieces = pieces
        self.shape[self.axis] = choose.choice([choose.randint(1, 2 * pieces), choose.randint(pieces, 8 * pieces**2),
                                               choose.randint(pieces**2, choose.choice([4, 10]) * pieces**3)] +
                                              3 * [choose.randint(40 * pieces, 12000)])
        layout = [[] for _ in range(self.rank)]
        layout[self.axis] = along
        if along != axes:
            layout[(self.axis + 1) % self.rank] = axes[1:]
        self.layout = layout
        self.wants = choose.choice([["sort"], ["sort"], ["argsort"], ["sort", "argsort"], ["sort", "taken"], ["taken"], ["top_k"]])
        if self.axis != self.rank - 1:
            self.wants = ["argsort" if want == "top_k" else want for want in self.wants]
        self.isWhole = choose.random() < 0.2
        self.model = choose.choice(MODELS)
        self.isWide = self.dtype != "i32" and choose.random() < 1 / 3

    def type(self, dtype, isWhole=False, size=None):
        dtype = "f32" if dtype == "bf16" else dtype

        def dim(d, count, axes):
            return str(size if size is not None and d == self.axis else count) + (
                "@_" if isWhole or not axes else "@(" + ", ".join(axes) + ")" if len(axes) > 1 else "@" + axes[0])
        return f"{dtype}[{', '.join(dim(d, *pair) for d, pair in enumerate(zip(self.shape, self.layout)))}]"

    def k(self):
        return (self.shape[self.axis] * 3 + 3) // 4

    def text(self):
        mesh = ", ".join(f"{axis}={size}" for axis, size in self.mesh.items())
        axis = f"axis={self.axis}"
        x, back = ("cast(x, bf16)", "cast({}, f32)") if self.dtype == "bf16" else ("x", "{}")
        values = {"sort": [(self.dtype, back.format(f"sort({x}, {axis})"))], "argsort": [("i32", f"argsort({x}, {axis})")],
                  "taken": [("f32", f"take_along_axis(y, argsort({x}, {axis}), {axis})")],
                  "top_k": [(self.dtype, back.format("values")), ("i32", "places")]}
        if self.rank == 1:
            values["taken"] = [("f32", f"y[argsort({x})]")]
        results = [pair for want in self.wants for pair in values[want]]
        size = self.k() if self.wants == ["top_k"] else None
        types = ", ".join(self.type(dtype, self.isWhole, size) for dtype, _ in results)
        types = f"({types})" if len(results) > 1 else types
        body = f"let (values, places) = top_k({x}, {self.k()}); " if size is not None else ""
        return (f"mesh m({mesh})\nfn main(x: {self.type(self.dtype)}, y: {self.type('f32')}) -> {types} {{\n"
                f"  {body}return ({', '.join(value for _, value in results)});\n}}\n")

    def lines(self):
        """Places in memory of the elements of each line."""
        inner = math.prod(self.shape[self.axis + 1:])
        size = self.shape[self.axis]
        for outer in range(math.prod(self.shape[:self.axis])):
            for i in range(inner):
                yield [(outer * size + j) * inner + i for j in range(size)]

    def expected(self, x, y):
        code, position = FORMATS[self.dtype][1], "q" if self.isWide else "i"
        results = []
        for want in self.wants:
            size = self.k() if want == "top_k" else self.shape[self.axis]
            count = math.prod(self.shape) // self.shape[self.axis] * size
            values, places, taken = [None] * count, [None] * count, [None] * count
            for line in self.lines():
                target = [place // (self.shape[self.axis]) * size + place % self.shape[self.axis] for place in line] \
                    if want == "top_k" else line
                found = order([x[place] for place in line], code, want == "top_k")[:size]
                for i, j in enumerate(found):
                    values[target[i]] = struct.pack("<" + code, x[line[j]])
                    places[target[i]] = struct.pack("<q" if self.isWide else "<i", j)
                    taken[target[i]] = struct.pack("<f", y[line[j]])
            results += {"sort": [(values, code)], "argsort": [(places, position)], "taken": [(taken, "f")],
                        "top_k": [(values, code), (places, position)]}[want]
        return results


def check(build, folder, case, choose):
    count = math.prod(case.shape)
    x, y = draw(choose, case.dtype, count), draw(choose, "f32", count)
    arrange(choose, case, x)
    program, model = folder / "p.spmd", folder / "model.json"
    program.write_text(case.text())
    if case.isWide:  # Data are of another type: all i32 of the program are positions.
        text = subprocess.run([build / "bin/spmdc", "compile", program, "--emit=array"], capture_output=True, text=True,
                              check=True).stdout
        program = folder / "p.mlir"
        program.write_text(text.replace("i32", "i64"))
    model.write_text(json.dumps(case.model))
    write_npy(folder / "x.npy", case.dtype, case.shape, x)
    write_npy(folder / "y.npy", "f32", case.shape, y)
    # Types that a file rounds.
    code = FORMATS[case.dtype][1]
    x = [struct.unpack("<" + code, data)[0] for data in read_npy(folder / "x.npy", code)]
    y = [struct.unpack("<f", data)[0] for data in read_npy(folder / "y.npy", "f")]
    expected = case.expected(x, y)
    names = ["values", "places"] if case.wants == ["top_k"] else [str(i) for i in range(len(expected))]
    if len(expected) == 1 or (case.dtype == "bf16" and case.wants == ["top_k"]):
        names = [str(i) for i in range(len(expected))]
    command = [build / "bin/spmdc", "run", program, "--cost-model", model, "--devices-per-process",
               str(math.prod(case.mesh.values())), "--input", f"x={folder}/x.npy", "--input", f"y={folder}/y.npy"]
    for name in names:
        command += ["--output", f"{name}={folder}/{name}.npy"]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        return result.stderr, ""
    for name, (values, itemCode) in zip(names, expected):
        if read_npy(folder / f"{name}.npy", itemCode) != values:
            return f"result {name} is another", ""
    table = subprocess.run([build / "bin/spmdc", "inspect", "--json", program, "--cost-model", model],
                           capture_output=True, text=True, check=True).stdout
    found = json.loads(table)["functions"][0]["collectives"]
    if any(not collective.get("counted", True) for collective in found):
        return "", "samples"  # A branch.
    return "", "columns" if [collective["op"] for collective in found].count("all_to_all") >= 2 else "another way"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    failed, ways = 0, collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(options.seed, options.seed + options.cases):
            choose = random.Random(seed)
            case = Case(choose)
            problem, way = check(options.build, pathlib.Path(folder), case, choose)
            ways[way] += 1
            if problem:
                print(f"seed {seed}: {problem}\n{case.text()}")
                failed += 1
    print(f"{options.cases} orders of the seeds from {options.seed}, {ways['samples']} of them by samples and "
          f"{ways['columns']} columnsorts: {failed} failures")
    raise SystemExit(failed > 0 or 10 * ways["samples"] < options.cases or not ways["columns"])


if __name__ == "__main__":
    main()
