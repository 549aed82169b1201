#!/usr/bin/env python3
"""Runs the libFuzzer targets of the runtime's decoders for so many seconds of processor time each, from real files.

    tests/runtime/fuzz/run.py --fuzzers build/fuzz/bin --spmdc build/release/bin/spmdc --folder FOLDER npz artifact
    tests/runtime/fuzz/run.py ... --seconds 3600                                        all of them, an hour each

FOLDER keeps the inputs that reach new code (NAME/), and for each target how long it has run (NAME.json), so that a run
continues where the last one ended; an input that breaks a target is left there as NAME-crash-*. From an empty file a
target reaches little (61 places of an .npz instead of 640), so each starts with files that NumPy, the compiler and a
run have written.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = """mesh m(a=2)
fn main(x: f32[8@a], n: i32[]) -> (f32[8@a], i32[]) {
  let x = x * 0.5 + sum(x);
  let n = n + 1;
  print("x", x);
  return (x, n);
}
"""


def make_seeds(spmdc, seeds):
    """Writes seeds/NAME/ for each target that starts with files."""
    for name, kinds in {"npy": ["npy"], "npz": ["npz", "npy"], "safetensors": ["safetensors"]}.items():
        (seeds / name).mkdir(parents=True)
        for file in (SOURCE / "tests/runtime/io/data").iterdir():
            if file.suffix.removeprefix(".") in kinds:
                shutil.copy(file, seeds / name)
    program, checkpoints = seeds / "program.spmd", seeds / "checkpoints"
    program.write_text(PROGRAM)
    for name in "artifact", "manifest":
        (seeds / name).mkdir()
    for level in "-O0", "-O3":
        subprocess.run([spmdc, "compile", program, level, "-o", seeds / "artifact" / f"{level}.spmdx"], check=True)
    subprocess.run([spmdc, "compile", program, "--target=cpu,cuda:sm_80", "-o", seeds / "artifact" / "targets.spmdx"], check=True)
    subprocess.run([spmdc, "run", program, "--num-processes", "2", "--carry", "x,n", "--input", "x=ones", "--input",
                    "n=zeros", "--steps", "4", "--checkpoint-dir", checkpoints, "--checkpoint-every", "2"], check=True,
                   stdout=subprocess.DEVNULL)
    for file in checkpoints.rglob("*.json"):
        shutil.copy(file, seeds / "manifest" / f"{file.parent.name}.json")
    for file in checkpoints.rglob("*.safetensors"):
        shutil.copy(file, seeds / "safetensors" / f"{file.parent.name}-{file.name}")


def run(fuzzer, folder, seeds, name, wanted):
    """Runs the target for its time. Returns False if it found a failure."""
    told = folder / f"{name}.json"
    sums = json.loads(told.read_text()) if told.exists() else {"seconds": 0, "inputs": 0, "places": 0}
    (folder / name).mkdir(exist_ok=True)
    while sums["seconds"] < wanted:
        log = folder / f"{name}.log"
        with log.open("w") as output:
            process = subprocess.Popen(
                [fuzzer, f"-max_total_time={max(2, min(120, int(wanted - sums['seconds'])))}", "-timeout=20",
                 "-rss_limit_mb=3000", "-print_final_stats=1", f"-seed={time.time_ns() % 2**31}",
                 f"-artifact_prefix={folder}/{name}-crash-", folder / name,
                 *([seeds / name] if (seeds / name).exists() else [])], stdout=output, stderr=output)
            _, status, usage = os.wait4(process.pid, 0)
        text = log.read_text(errors="replace")
        sums["seconds"] += usage.ru_utime + usage.ru_stime
        sums["inputs"] += sum(map(int, re.findall(r"number_of_executed_units: (\d+)", text)))
        sums["places"] = max([sums["places"], *map(int, re.findall(r"cov: (\d+)", text))])
        told.write_text(json.dumps(sums))
        if status != 0:
            print(f"{name}: FOUND something, status {status}; see {log}", flush=True)
            return False
    print(f"{name}: {sums['inputs']:,} inputs in {sums['seconds']:,.0f} s, {sums['places']} places reached", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fuzzers", type=pathlib.Path, required=True)
    parser.add_argument("--spmdc", type=pathlib.Path, required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    known = sorted(path.name.removesuffix("-fuzz") for path in args.fuzzers.glob("*-fuzz")
                   if (SOURCE / "tests/runtime/fuzz" / (path.name.title().replace("-", "") + ".cpp")).exists())
    if unknown := [name for name in args.names if name not in known]:
        parser.error(f"there is no {unknown[0]}; there are {', '.join(known)}")
    args.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        seeds = pathlib.Path(folder) / "seeds"
        make_seeds(args.spmdc, seeds)
        fine = [run(args.fuzzers / f"{name}-fuzz", args.folder, seeds, name, args.seconds) for name in args.names or known]
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
