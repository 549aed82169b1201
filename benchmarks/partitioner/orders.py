"""Bytes that each device sends for sorts along sharded dimensions, from `spmdc inspect`, as a table.

    orders.py --build DIR [--other DIR] [--require]

`other` is a build to compare with. `--require` fails if spread data send more than gathering, others 1/64 more, or a sort of
a million elements on up to eight devices more than 1.11 times the bound. If a program has a branch, `spread` are the
bytes when data are spread over the shards, as random ones are, and `other data` the bytes otherwise. `gathered` is the
cost of an all_gather of the operand. The bound is for random data: an element is in its place once in P times, and has
to be sent otherwise; for an argsort its position has to, or all elements to every device.
"""

import argparse
import json
import math
import pathlib
import subprocess
import tempfile

BYTES = {"f32": 4, "bf16": 2, "f64": 8, "i32": 4, "u8": 1}
CASES = [("f32", 4194304, {"a": 2}), ("f32", 4194304, {"a": 3}), ("f32", 4194304, {"a": 4}), ("f32", 4194304, {"a": 8}),
         ("f32", 4194304, {"a": 4, "b": 2}), ("f32", 4194304, {"a": 2, "b": 2, "c": 2}), ("f32", 1000003, {"a": 8}),
         ("f32", 1000003, {"a": 64}), ("f32", 65536, {"a": 8}), ("f32", 5000, {"a": 8}), ("f32", 5, {"a": 8}),
         ("i32", 4194304, {"a": 8}), ("f64", 4194304, {"a": 8}), ("bf16", 4194304, {"a": 8}), ("u8", 4194304, {"a": 2})]
KINDS = {"sort": "sort(x, axis=0)", "argsort": "argsort(x, axis=0)"}


def collectives(build, kind, dtype, size, mesh, folder):
    axes = ", ".join(mesh)
    cut = f"{size}@({axes})" if len(mesh) > 1 else f"{size}@{axes}"
    program = folder / "p.spmd"
    program.write_text(f"mesh m({', '.join(f'{axis}={count}' for axis, count in mesh.items())})\n"
                       f"fn main(x: {dtype}[{cut}]) -> {dtype if kind == 'sort' else 'i32'}[{cut}] {{\n"
                       f"  return {KINDS[kind]};\n}}\n")
    text = subprocess.run([build / "bin/spmdc", "inspect", "--json", program], capture_output=True, text=True, check=True).stdout
    return json.loads(text)["functions"][0]["collectives"]


def sent(build, *case):
    """Bytes for spread data and for others; equal if there is no branch."""
    found = collectives(build, *case)
    total = lambda some: sum(each["wire_bytes_per_device"] * each["trip_count"] for each in some)
    skipped = [i for i, each in enumerate(found) if not each.get("counted", True)]
    if not skipped:
        return total(found), total(found)
    # Before the branch: up to the all_gather of the counts.
    front = [i for i, each in enumerate(found) if each["op"] == "all_gather"][1] + 1
    first, last = skipped[0], skipped[-1] + 1
    one, other = found[first:last], [each for i, each in enumerate(found) if i >= front and not first <= i < last]
    if first > front:  # The first branch counts.
        one, other = other, one
    return total(found[:front]) + total(one), total(found[:front]) + total(other)


def text(count):
    for unit in ["B", "KiB", "MiB"]:
        if count < 1024 or unit == "MiB":
            return f"{count:.1f} {unit}" if unit != "B" else f"{count:.0f} B"
        count /= 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--other", type=pathlib.Path)
    parser.add_argument("--require", action="store_true")
    options = parser.parse_args()
    print("| sort | mesh | gathered |" + (" before |" if options.other else "") + " spread | other data | bound | spread / bound |")
    print("| --- " * (8 if options.other else 7) + "|")
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            for dtype, size, mesh in CASES:
                devices = math.prod(mesh.values())
                case = (kind, dtype, size, mesh, pathlib.Path(folder))
                spread, others = sent(options.build, *case)
                gathered = size * BYTES[dtype] * (devices - 1) / devices
                bound = min(gathered, size / devices * (BYTES[dtype] if kind == "sort" else 4) * (devices - 1) / devices)
                before = f" {text(sent(options.other, *case)[0])} |" if options.other else ""
                print(f"| `{kind}(x)`, {dtype}[{size}] | {', '.join(f'{axis}={count}' for axis, count in mesh.items())} | {text(gathered)} |"
                      f"{before} {text(spread)} | {text(others)} | {text(bound)} | {spread / bound:.2f} |")
                isLong = kind == "sort" and size > 1e6 and devices <= 8
                failed |= spread > gathered or others > gathered * 65 / 64 or (isLong and spread > 1.11 * bound)
    if failed and options.require:
        raise SystemExit("a device sends more than it should")


if __name__ == "__main__":
    main()
