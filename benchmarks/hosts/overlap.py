#!/usr/bin/env python3
"""How much of the gradients' all_reduce between two hosts overlaps with the backward pass, and the same step in JAX.

    benchmarks/hosts/overlap.py [--build build/release] [--rates 1gbit 2gbit 5gbit] [--repeat 20] [--jax PYTHON]

The hosts are network namespaces with a core each, joined by a cable of that rate (tests/tools/Inputs/hosts.py). Measured
in turns, the median over rounds of each round's median: the training step programs/data_parallel.spmd; what one host
computes of it, on both at once, without a word to the other; and its six sums with nothing to compute. `--jax` names a
python with JAX 0.10 (benchmarks/requirements.txt), which does the same step with Gloo.
"""

import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
HOSTS = HERE.parents[1] / "tests/tools/Inputs/hosts.py"
STEP = HERE.parent / "programs/data_parallel.spmd"
SUMS = """mesh m(host=2)
fn main(a: f32[2@host, 1024, 1024], b: f32[2@host, 1024, 1024], c: f32[2@host, 1024, 1024],
        d: f32[2@host, 1024, 1024], e: f32[2@host, 1024, 1024], f: f32[2@host, 1024, 1024]) {
  return (sum(a, axis=0), sum(b, axis=0), sum(c, axis=0), sum(d, axis=0), sum(e, axis=0), sum(f, axis=0));
}
"""


def on_hosts(rate, command):
    """`{process}` in the command is the number of the process."""
    run = subprocess.run([sys.executable, HOSTS, "--hosts", "2", "--processes", "1", "--rate", rate, "--", "sh", "-c",
                          f"exec taskset -c {{process}} {command} \"$@\"", "sh"], capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"{command}\n{run.stdout}{run.stderr}")
    return run.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default="build/release")
    parser.add_argument("--rates", nargs="+", default=["1gbit", "2gbit", "5gbit"])
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jax", metavar="PYTHON")
    options = parser.parse_args()
    spmdc = options.build.resolve() / "bin/spmdc"
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        step = STEP.read_text()
        (folder / "sums.spmd").write_text(SUMS)
        (folder / "alone.spmd").write_text(re.sub("host=2", "host=1", step).replace("BATCH = 1024", "BATCH = 512"))
        weights = " ".join(f"--input p.layers.{i}=normal:{i}" for i in range(6))

        def ours(rate, program, inputs):
            times = folder / "times-{process}.json"
            on_hosts(rate, f"{spmdc} run {program} {inputs} --repeat {options.repeat} --time-json {times}")
            return json.loads((folder / "times-0.json").read_text())["median_us"] / 1e3

        def alone(rate):
            command = (f"sh -c 'exec {spmdc} run {folder}/alone.spmd {weights} --input x=normal:9 --repeat {options.repeat} "
                       f"--time-json {folder}/alone-{{process}}.json'")
            on_hosts(rate, command)
            return json.loads((folder / "alone-0.json").read_text())["median_us"] / 1e3

        def jax(rate):
            out = on_hosts(rate, f"sh -c 'exec {options.jax} {HERE.parent}/suite/peer.py run data_parallel {{process}} 2 1 "
                                 f"10.77.0.1:7778 {options.repeat} 2>&1'")
            return statistics.median(json.loads(re.search(r"^\{.*", out, re.M)[0])["times_us"]) / 1e3

        print("| rate | step | computing alone | sums alone | hidden | JAX | JAX / spmdc |\n" + "| --- " * 7 + "|")
        for rate in options.rates:
            rounds = [(ours(rate, STEP, weights + " --input x=normal:9"), alone(rate),
                       ours(rate, folder / "sums.spmd", " ".join(f"--input {name}=ones" for name in "abcdef")),
                       jax(rate) if options.jax else float("nan")) for _ in range(options.rounds)]
            whole, computing, sums, peer = (statistics.median(column) for column in zip(*rounds))
            hidden = (computing + sums - whole) / min(computing, sums)
            print(f"| {rate} | {whole:.0f} ms | {computing:.0f} ms | {sums:.0f} ms | {hidden:.0%} | {peer:.0f} ms | "
                  f"{peer / whole:.2f} |", flush=True)


if __name__ == "__main__":
    main()
