"""Counts the instructions that a call of each program executes, and compares them with those of data/counts.json.

    count_instructions.py BINARIES [--only NAMES] [--update]

A slower kernel is noticed without a clock. Each function of data/programs.spmd is compiled for one processor with AVX2, and
counted-calls runs it in callgrind, on one core and thus one thread a device: how long further threads look for work is counted
too, and differs from run to run. A count that is more than 5 % above the kept one fails, after 5,000 instructions that a call
may spend on waking threads. Counts say nothing of caches or of instructions that wait: tools/bench measures time.

--update writes the counts; the change that made one worse says why. Exit status 77: valgrind or the processor's AVX2 is missing.
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

HERE = pathlib.Path(__file__).parent / "data"
CALLS = 4
TOLERANCE, WAKING = 0.05, 5000
SKIPPED = 77
FUNCTION = re.compile(r"^fn (\w+)\(", re.M)
#: Functions that others differentiate.
HELPERS = {"loss"}


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stderr}")


def count(binaries, folder, names):
    """The instructions of one call of each function."""
    def compiled(name):
        run([binaries / "spmdc", "compile", HERE / "programs.spmd", "--fn", name, "--target=cpu:x86-64-v3", "--no-cache",
             "-o", folder / f"{name}.spmdx"])
        return folder / f"{name}.spmdx"

    artifacts = [compiled(name) for name in names]
    core = min(os.sched_getaffinity(0))
    run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/counts", binaries / "counted-calls", str(CALLS),
         *artifacts], preexec_fn=lambda: os.sched_setaffinity(0, {core}))
    counts = {}
    for file in folder.glob("counts.*"):
        text = file.read_text(errors="replace")
        if artifact := re.search(r"^desc: Trigger: Client Request: (.*)$", text, re.M):
            counts[pathlib.Path(artifact[1]).stem] = int(re.search(r"^(?:summary|totals): (\d+)", text, re.M)[1]) // CALLS
    if missing := set(names) - set(counts):
        sys.exit(f"callgrind wrote no counts for {', '.join(sorted(missing))}")
    return {name: counts[name] for name in names}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries", type=pathlib.Path, help="the folder of spmdc and counted-calls")
    parser.add_argument("--only", help="some of the functions: names with commas between")
    parser.add_argument("--update", action="store_true", help="write counts.json")
    arguments = parser.parse_args()
    if not shutil.which("valgrind") or " avx2" not in pathlib.Path("/proc/cpuinfo").read_text():
        print("no valgrind, or a processor without AVX2")
        sys.exit(SKIPPED)
    kept = json.loads((HERE / "counts.json").read_text()) if (HERE / "counts.json").exists() else {}
    known = [name for name in FUNCTION.findall((HERE / "programs.spmd").read_text()) if name not in HELPERS]
    names = arguments.only.split(",") if arguments.only else known
    if unknown := set(names) - set(known):
        parser.error(f"programs.spmd has no function {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory() as folder:
        counts = count(arguments.binaries, pathlib.Path(folder), names)
    slower = []
    for name, instructions in counts.items():
        before = kept.get(name)
        change = f"{instructions / before - 1:+.1%}" if before else "new"
        print(f"{name:24} {instructions:12,} {change:>8}")
        if not before or instructions > before * (1 + TOLERANCE) + WAKING:
            slower.append(name)
    if arguments.update:
        (HERE / "counts.json").write_text(json.dumps(dict(sorted({**kept, **counts}.items())), indent=1) + "\n")
    elif slower:
        sys.exit(f"more instructions than in counts.json: {', '.join(slower)}; if that is meant, run with --update")
    elif gone := set(kept) - set(known):
        sys.exit(f"counts.json has functions that programs.spmd lacks: {', '.join(sorted(gone))}")


if __name__ == "__main__":
    main()
