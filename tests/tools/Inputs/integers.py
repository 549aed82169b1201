"""Integers of 16 and 64 bits on two processes, against Python's integers: integers.py SPMDC FOLDER.

The program's collectives reduce over both axes, and its kernels compare, divide, shift and convert at the ends of the types.
"""

import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools"))

from gpu_check import arrays  # noqa: E402

PROGRAM = """mesh m(a=2, b=2)
fn main(x: T[6@a, 3@b], y: T[6@a, 3@b]) {
  let d = where(y == 0, 1, y);
  let v = reshape(x, [18]);
  return (sum(cast(x, T), axis=0), prod(x, axis=1), max(x), min(x, axis=0), argmax(v), x + y, x - y, x * y, floor_divide(x, d), x % d,
          x & y, x | y, x ^ y, x >> 3, x << 5, maximum(x, y), x < y, sort(v), cumsum(v), cast(x, f64), cast(cast(x, f64), T),
          cast(x, f32), top_k(v, 4)[0], take(v, argsort(v)), scatter_add(zeros(T[3]), reshape(iota(i32[6, 3], axis=1), [18]), v));
}
"""
spmdc, folder = sys.argv[1], pathlib.Path(sys.argv[2])
folder.mkdir(parents=True, exist_ok=True)


def check(dtype):
    bits, signed = int(dtype[1:]), dtype[0] == "i"
    low, high = (-2 ** (bits - 1), 2 ** (bits - 1) - 1) if signed else (0, 2 ** bits - 1)

    def wrap(value):
        value %= 2 ** bits
        return value - 2 ** bits if signed and value > high else value

    x = [0, 1, high, high - 1, low, low + 1, high // 2, high // 2 + 1, 7, 100, high // 3, 2, wrap(2 ** (bits - 1)), 3, 5, high, 9, low]
    y = [x[(5 * i + 3) % 18] for i in range(18)]
    d = [v or 1 for v in y]
    rows = [x[3 * i:3 * i + 3] for i in range(6)]
    columns = [x[j::3] for j in range(3)]

    def single(value):
        return arrays.struct.unpack("<f", arrays.struct.pack("<f", round_to(value, 24)))[0]

    def round_to(value, digits):
        """The nearest number of so many binary digits, ties to even; Python's float() would round once before."""
        shift = max(abs(value).bit_length() - digits, 0)
        quotient, rest = divmod(abs(value), 1 << shift)
        half = (1 << shift) >> 1
        if shift and (rest > half or (rest == half and quotient & 1)):
            quotient += 1
        return float((quotient << shift) * (-1 if value < 0 else 1))

    def saturate(value):
        return max(low, min(high, int(value)))

    # A sum of integers of less than 32 bits has 32.
    wide = dtype if bits == 64 else dtype[0] + "32"
    sums, products = [sum(c) for c in columns], [1] * 6
    for i, row in enumerate(rows):
        for value in row:
            products[i] *= value

    def wrap_wide(value):
        width = int(wide[1:])
        value %= 2 ** width
        return value - 2 ** width if signed and value >= 2 ** (width - 1) else value

    running, total = [], 0
    for value in x:
        total = wrap(total + value)
        running.append(total)
    expected = [
        (wide, [wrap_wide(v) for v in sums]), (wide, [wrap_wide(v) for v in products]), (dtype, [max(x)]),
        (dtype, [min(c) for c in columns]), ("i32", [x.index(max(x))]),
        (dtype, [wrap(a + b) for a, b in zip(x, y)]), (dtype, [wrap(a - b) for a, b in zip(x, y)]),
        (dtype, [wrap(a * b) for a, b in zip(x, y)]), (dtype, [wrap(a // b) for a, b in zip(x, d)]),
        (dtype, [wrap(a % b) for a, b in zip(x, d)]), (dtype, [wrap(a & b) for a, b in zip(x, y)]),
        (dtype, [wrap(a | b) for a, b in zip(x, y)]), (dtype, [wrap(a ^ b) for a, b in zip(x, y)]),
        (dtype, [a >> 3 for a in x]), (dtype, [wrap(a << 5) for a in x]), (dtype, [max(a, b) for a, b in zip(x, y)]),
        ("bool", [int(a < b) for a, b in zip(x, y)]), (dtype, sorted(x)), (dtype, running),
        ("f64", [round_to(a, 53) for a in x]), (dtype, [saturate(round_to(a, 53)) for a in x]), ("f32", [single(a) for a in x]),
        (dtype, sorted(x, reverse=True)[:4]), (dtype, sorted(x)), (dtype, [wrap(sum(c)) for c in columns])]
    program = folder / f"{dtype}.spmd"
    program.write_text(PROGRAM.replace("T", dtype))
    for name, values in ("x", x), ("y", y):
        arrays.write_npy(str(folder / f"{name}.npy"), dtype, [6, 3], values)
    outputs = [f"--output={i}={folder}/{i}.npy" for i in range(len(expected))]
    subprocess.run([spmdc, "run", str(program), "--num-processes", "2", "--devices-per-process", "2", f"--input=x={folder}/x.npy",
                    f"--input=y={folder}/y.npy", *outputs], check=True)
    for i, (kind, values) in enumerate(expected):
        _, found = arrays.read_npy(str(folder / f"{i}.npy"), kind)
        difference = arrays.difference(kind, values, found, {})
        assert not difference, f"{dtype}, result {i}: {difference}"


for name in "i16", "u16", "u64", "i64", "u32":
    check(name)
print("all as they should be")
