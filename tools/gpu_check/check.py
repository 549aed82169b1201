"""`FOLDER/check`: runs the folder that `tools/gpu-check prepare` has made, on the machine with the GPU."""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

from . import correctness, peers, rates, report

FOLDER = pathlib.Path(__file__).resolve().parent.parent
# The fraction of the time limit for each part; unused time goes to the later parts.
SHARES = {"machine": 0.12, "correctness": 0.38, "rates": 0.24, "jax": 0.14, "torch": 0.06, "inductor": 0.06}
# Processes at a time, one for each program; more would only wait for the driver, which creates one context at a time.
MOST_JOBS = 12


def measure_machine(environment, deadline):
    """The results that machine.py prints before the deadline."""
    lines = ""
    try:
        lines = subprocess.run([sys.executable, FOLDER / "gpu_check/machine.py"], capture_output=True, text=True, env=environment,
                               timeout=max(1.0, deadline - time.monotonic())).stdout
    except subprocess.TimeoutExpired as error:
        lines = (error.stdout or b"").decode(errors="replace")
    found = {}
    for line in lines.splitlines():
        if line.startswith("{"):
            found = json.loads(line)
    return found or {"failure": "machine.py printed nothing"}


def library_folders():
    """Folders of the libraries of Python packages (nvidia-cublas, nvidia-nccl) that spmd-run opens by name; the loader does not
    search them by default."""
    found = []
    for place in map(pathlib.Path, sys.path):
        for folder in sorted(place.glob("nvidia/*/lib")):
            if any(next(folder.glob(name), None) for name in ("libcublasLt.so*", "libnccl.so*")):
                found.append(str(folder))
    return found


class Check:
    def __init__(self, options, scratch):
        self.options, self.scratch = options, scratch
        self.manifest = json.loads((FOLDER / "manifest.json").read_text())
        options.out.mkdir(parents=True, exist_ok=True)
        self.results = report.Results(options.out / "RESULTS.json")
        self.runtime = FOLDER / "spmd-run"
        self.many = FOLDER / "spmd-run-many"
        self.began = time.monotonic()
        if not os.access(self.runtime, os.X_OK):  # A copy of the folder may have lost the mode.
            self.runtime.chmod(0o755)
        # Run meshes of several devices on one GPU, and let spmd-run write only to the scratch folder.
        self.environment = {**os.environ, "SPMD_SHARE_GPUS": "1", "XDG_CONFIG_HOME": str(scratch / "config"),
                            "XDG_CACHE_HOME": str(scratch / "cache"), "CUDA_CACHE_PATH": str(scratch / "cuda")}
        self.libraries = library_folders()
        paths = [*self.libraries, *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
        self.runtime_environment = {**self.environment, **({"LD_LIBRARY_PATH": ":".join(paths)} if paths else {})}

    def deadline(self, part):
        """The deadline of a part: the sum of the fractions of all parts up to it."""
        parts = list(SHARES)
        return self.began + self.options.limit * sum(SHARES[name] for name in parts[:parts.index(part) + 1])

    def say(self, text):
        print(f"[{time.monotonic() - self.began:5.0f} s] {text}", flush=True)

    def unpack(self):
        with tarfile.open(FOLDER / "programs.tar.xz") as archive:
            archive.extractall(self.scratch)

    def run_machine(self):
        self.results.set("machine", measure_machine(self.environment, self.deadline("machine")))

    def run_correctness(self):
        self.unpack()
        correctness.run_all(self.manifest["programs"], self.runtime, self.many, self.scratch, self.runtime_environment, self.options.jobs,
                            self.deadline("correctness"), lambda row: self.results.add("correctness", row))

    def run_rates(self):
        if not (self.scratch / "kernels").exists():
            self.unpack()
        rates.run_all(self.manifest["kernels"], self.runtime, self.scratch, self.runtime_environment, self.deadline("rates"),
                      lambda row: self.results.add("rates", row))

    def run_peer(self, part):
        script = FOLDER / "gpu_check" / ("jax_peer.py" if part == "jax" else "torch_peer.py")
        arguments = {"jax": ["--gpu"] if self.manifest["target"].startswith("cuda") else [], "inductor": ["--compiled"]}
        state = peers.run(script, arguments.get(part, []), self.manifest["kernels"], self.scratch,
                          self.environment, self.deadline(part), lambda row: self.results.add(part, row))
        self.results.set(f"{part}_state", state)

    def run(self):
        self.results.set("target", self.manifest["target"])
        self.results.set("spmdc", self.manifest["spmdc"])
        self.results.set("left_out", self.manifest["left_out"])
        self.results.set("libraries", self.libraries)
        work = {"machine": self.run_machine, "correctness": self.run_correctness, "rates": self.run_rates}
        for part in SHARES:
            if self.options.parts and part not in self.options.parts:
                continue
            self.say(part)
            work.get(part, lambda: self.run_peer(part))()
            self.results.write()
        self.results.set("seconds", round(time.monotonic() - self.began))


def main():
    parser = argparse.ArgumentParser(
        description="Checks the GPU backend: correctness, rates, and the same kernels in JAX and torch.")
    parser.add_argument("--limit", type=float, default=420, metavar="SECONDS", help="when to end, at the latest (default 420)")
    parser.add_argument("--parts", nargs="*", choices=list(SHARES), help="only these (default: all)")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(os.environ.get("OUT", FOLDER)),
                        help="where to write RESULTS.json and table.txt (default: $OUT, else this folder)")
    parser.add_argument("--jobs", type=int, default=min(MOST_JOBS, os.cpu_count() or 1), help="programs at a time")
    options = parser.parse_args()
    # Inputs of gigabytes are read many times, so the scratch folder is in memory if there is enough.
    memory = pathlib.Path("/dev/shm")
    roomy = memory.is_dir() and shutil.disk_usage(memory).free > 16 << 30
    with tempfile.TemporaryDirectory(prefix="gpu-check-", dir=memory if roomy else None) as scratch:
        check = Check(options, pathlib.Path(scratch))
        check.run()
    text = report.table(check.results.data)
    (options.out / "table.txt").write_text(text + "\n")
    print(text)
    data = check.results.data
    bad = [row for row in data.get("correctness", []) if row["status"] != "ok"]
    bad += [row for row in data.get("rates", []) if "failure" in row]
    bad += [row for part in ("jax", "torch", "inductor") for row in data.get(part, []) if row.get("wrong")]
    return 1 if bad else 0
