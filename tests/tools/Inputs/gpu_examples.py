"""Runs examples on emulated GPUs, in one process and in several, and compares what they print with example_values.json.

gpu_examples.py EXAMPLES_FOLDER LIBRARIES_FOLDER: the second has the doubles of NVIDIA's libraries. All numbers of processes
must print the same bytes.
"""

import os
import pathlib
import subprocess
import sys
import time

from bare_examples import compare

# Of these the emulator runs too many kernels, or too large ones.
LEFT_OUT = {"char_transformer", "digits_mlp", "monte_carlo_pi", "psum"}
# These take less than a second, and run in every number of processes.
SHORT = {"least_squares", "nearest_centroid", "power_iteration", "toy", "train_linear"}
DEVICES = 8


def main():
    examples, libraries = map(pathlib.Path, sys.argv[1:])
    environment = os.environ | {"LD_LIBRARY_PATH": str(libraries), "SPMD_TEST_GPUS": ",".join(["90"] * DEVICES)}
    jobs = failed = 0
    for path in sorted(examples.resolve().glob("*.spmd")):
        if path.stem in LEFT_OUT:
            continue
        first = None
        for processes in (1, 2, 4, 8) if path.stem in SHORT else (2,):
            began = time.monotonic()
            run = subprocess.run(["spmdc", "run", path, "--target=cuda", "-n", str(processes), "--print"], env=environment,
                                 capture_output=True, text=True, timeout=300)
            if run.returncode and "cannot share them equally" in run.stderr:
                continue
            if run.returncode:
                problem = f"ends with {run.returncode}: {run.stderr}"
            elif "through the memory of the host" in run.stderr:
                problem = f"does not use NCCL: {run.stderr}"
            elif first is not None and run.stdout != first:
                problem = "prints other bytes than in one process"
            else:
                problem = compare(path.stem, run.stdout)
            first = first or run.stdout
            jobs += 1
            failed += bool(problem)
            print(f"{path.stem} in {processes}: {problem or 'as expected'}, {time.monotonic() - began:.1f} s", flush=True)
    print(f"{jobs - failed} of {jobs} jobs of GPUs print the values")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
