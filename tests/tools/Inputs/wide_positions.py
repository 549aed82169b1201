"""Programs with positions, counted in i32 and in i64: the results must be the same.

    wide_positions.py --build DIR

Along a dimension of more than 2^30 elements positions are i64 (ir/array/Positions.h), and no test has the memory to sort or
to scatter such an array. Here small programs are emitted as array IR, every i32 of which is a position, and run as they are
and with i64 in its place. The data are f32; what the two give is compared byte by byte.
"""

import argparse
import pathlib
import subprocess
import tempfile

MESHES = ["a=2, b=1", "a=3, b=1", "a=2, b=2"]
# x: f32[20@a, 6@b], p: i32[5] (some outside of 0 to 19), q: i32[20@a, 6@b], i: i32.
PROGRAMS = [
    "argmax(x, axis=0)", "argmin(x, axis=1)", "argmax(x)", "argmin(reshape(x, [-1]))", "argsort(x, axis=0)",
    "sort(x, axis=0)", "top_k(x.T, 3)", "argsort(reshape(x, [-1]))[:7]", "take(x, p, axis=0)", "x[i]", "x[i, i]",
    "x[p, p]", "take_along_axis(x, q, axis=0)", "scatter_add(x, p, x[:5], axis=0)", "update(x, x[3:7, 1:3], start=[i, i])",
    "grad(fn_take)(x, p)", "iota(f32[21@a], axis=0)", "cumsum(x, axis=0)", "pad(x, ((2, 3), (1, 0)))[p]",
    "concatenate([x[3:], x[:3]], axis=0)", "roll(x, 3, axis=0)", "x[1:-1] - x[:-2]", "update(x, 2.0 * x[2:9], start=[1, 0])",
    "reshape(x, [8, 15])", "tril(x)", "shard_map(pick, in=(P(a, _), P()), out=P(a, _))(x[:12], p)",
]
TEXT = """mesh m({mesh})
fn fn_take(x, p) {{ return sum(take(x, p, axis=0) ** 2); }}
fn pick(x, p) {{ return all_gather(x, a, tiled=true)[p % 3]; }}
fn main(x: f32[20@a, 6@b], p: i32[5], q: i32[20@a, 6@b], i: i32) {{ return {program}; }}
"""


def run(build, program, mesh, folder):
    devices = 1
    for axis in mesh.split(", "):
        devices *= int(axis.split("=")[1])
    result = subprocess.run([build / "bin/spmdc", "run", program, "--devices-per-process", str(devices), "--print",
                             "--input", "x=normal:1", "--input", f"p={folder}/p.npy", "--input", f"q={folder}/q.npy",
                             "--input", f"i={folder}/i.npy"], capture_output=True, text=True)
    return result.returncode, result.stdout.replace("i64", "i32"), result.stderr


def write_npy(path, code, values, shape):
    size = 8 if code == "<i8" else 4
    header = repr({"descr": code, "fortran_order": False, "shape": shape})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    data = b"".join(value.to_bytes(size, "little", signed=True) for value in values)
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + data)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    options = parser.parse_args()
    failed = count = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for mesh in MESHES:
            for text in PROGRAMS:
                results = []
                (folder / "p.spmd").write_text(TEXT.format(mesh=mesh, program=text))
                emitted = subprocess.run([options.build / "bin/spmdc", "compile", folder / "p.spmd", "--emit=array"],
                                         capture_output=True, text=True)
                if emitted.returncode:
                    print(f"{text}: {emitted.stderr}")
                    failed += 1
                    continue
                for position, code in [("i32", "<i4"), ("i64", "<i8")]:
                    (folder / "p.mlir").write_text(emitted.stdout.replace("i32", position))
                    write_npy(folder / "p.npy", code, [3, -1, 19, 40, 8], (5,))
                    write_npy(folder / "q.npy", code, [(7 * k + 3) % 23 - 2 for k in range(120)], (20, 6))
                    write_npy(folder / "i.npy", code, [4], ())
                    results.append(run(options.build, folder / "p.mlir", mesh, folder))
                count += 1
                if results[0] != results[1] or results[0][0]:
                    failed += 1
                    print(f"{text} over {mesh}:\ni32: {results[0]}\ni64: {results[1]}")
    print(f"{count} programs with positions of 32 and of 64 bits: {failed} differ")
    raise SystemExit(failed > 0)


if __name__ == "__main__":
    main()
