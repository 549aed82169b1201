#!/usr/bin/env python3
"""Compares spmdc with JAX (CPU, several processes over Gloo) and NumPy, in one run, case by case.

    tools/dev bench [--cases matmul_rows,...] [--layouts 2x1,4x2] [--repeat 20] [--rounds 3]

Rounds alternate between the two, so that a drift of the machine affects both; the table shows the median of the rounds'
medians and the ratio JAX / spmdc (above 1: spmdc is faster). Written as Markdown to standard output.
"""

import argparse
import json
import os
import pathlib
import platform
import socket
import statistics
import subprocess
import sys
import tempfile
import time

# Every measurement compiles from scratch, and leaves no files.
os.environ["SPMD_NO_CACHE"] = "1"

HERE = pathlib.Path(__file__).resolve().parent
CASES = {
    "matmul_rows": [{}],
    "matmul_contract": [{}],
    "elementwise": [{}],
    "softmax": [{}],
    "all_reduce": [{"N": n} for n in (1, 1024, 65536, 4194304)],
    "launch": [{}],
    "ten_operations": [{}],
    "convolutions": [{}],
}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def run_spmdc(build, case, processes, devices, repeat, sizes):
    count = processes * devices
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "time.json"
        command = [str(build / "bin/spmdc"), "run", str(HERE / f"programs/{case}.spmd"), "--mesh", f"d={count}",
                   "--num-processes", str(processes), "--devices-per-process", str(devices),
                   "--repeat", str(repeat), "--time-json", str(out)]
        names = {"matmul_rows": "xy", "matmul_contract": "xy", "elementwise": "xy"}.get(case, "x")
        names = {"ten_operations": ["x", "w1", "b1", "w2", "b2"], "convolutions": ["w1", "w2", "x"]}.get(case, list(names))
        for index, name in enumerate(names):
            command += ["--input", f"{name}=normal:{index}"]
        if case == "all_reduce":
            sizes = {**sizes, "D": count}
        for key, value in sizes.items():
            command += ["--set", f"{key}={value}"]
        began = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=600)
        wall = (time.perf_counter() - began) * 1e3
        return {**json.loads(out.read_text()), "wall_ms": wall}


def run_jax(case, processes, devices, repeat, sizes):
    port = free_port()
    arguments = [f"{key}={value}" for key, value in sizes.items()]
    began = time.perf_counter()
    running = [subprocess.Popen([sys.executable, str(HERE / "jax_peer.py"), case, str(i), str(processes), str(devices),
                                 str(port), str(repeat), *arguments],
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
               for i in range(processes)]
    outputs = [process.communicate(timeout=600)[0] for process in running]
    wall = (time.perf_counter() - began) * 1e3
    rows = [json.loads(output.splitlines()[-1]) for output in outputs]
    # As `spmdc run --repeat` does: a call lasts as long as its slowest process.
    calls = [max(times) for times in zip(*(row["times_us"] for row in rows))]
    return {"median_us": statistics.median(calls), "wall_ms": wall,
            **{key: max(row[key] for row in rows) for key in ("compile_ms", "first_result_ms")}}


def numpy_baseline(case):
    import numpy as np

    rng = np.random.default_rng(0)
    normal = lambda *shape: rng.standard_normal(shape, dtype=np.float32)  # noqa: E731
    if case.startswith("matmul"):
        x, y = normal(2048, 2048), normal(2048, 2048)
        work = lambda: x @ y  # noqa: E731
    elif case == "elementwise":
        x, y = normal(4096, 4096), normal(4096, 4096)

        def work():
            a = x * y + np.float32(0.5)
            b = np.maximum(a, -a) - x * np.float32(0.25)
            return b * b + np.exp(-b) * np.tanh(x)
    elif case == "softmax":
        x = normal(8192, 1024)

        def work():
            e = np.exp(x - x.max(axis=1, keepdims=True))
            return e / e.sum(axis=1, keepdims=True)
    else:
        return None
    work()
    times = []
    for _ in range(5):
        began = time.perf_counter()
        work()
        times.append((time.perf_counter() - began) * 1e6)
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parent / "build/release")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--layouts", default="2x1,4x2")
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    print(f"{model}, {os.cpu_count()} cores, {platform.system()} {platform.release()}\n")
    print("| case | processes x devices | spmdc | JAX | JAX / spmdc | NumPy, one process |")
    print("| --- | --- | --- | --- | --- | --- |")
    extra = []
    for case in options.cases.split(","):
        numpy_us = numpy_baseline(case)
        for layout in options.layouts.split(","):
            processes, devices = map(int, layout.split("x"))
            for sizes in CASES[case]:
                ours, theirs = [], []
                for _ in range(options.rounds):
                    ours.append(run_spmdc(options.build, case, processes, devices, options.repeat, sizes))
                    theirs.append(run_jax(case, processes, devices, options.repeat, sizes))
                median = lambda rows, key: statistics.median(row[key] for row in rows)  # noqa: E731
                us, them = median(ours, "median_us"), median(theirs, "median_us")
                label = case + "".join(f" {key}={value}" for key, value in sizes.items())
                beside = f"{numpy_us:.0f} us" if numpy_us else ""
                print(f"| {label} | {layout} | {us:.1f} us | {them:.1f} us | {them / us:.2f} | {beside} |", flush=True)
                if case in ("ten_operations", "launch"):
                    extra.append(f"| {label} | {layout} | {median(ours, 'compile_ms'):.1f} ms | "
                                 f"{median(theirs, 'compile_ms'):.1f} ms | {median(ours, 'wall_ms'):.0f} ms | "
                                 f"{median(theirs, 'wall_ms'):.0f} ms |")
    if extra:
        print("\n| case | layout | compile, spmdc | compile, JAX | command to end, spmdc | command to end, JAX |")
        print("| --- | --- | --- | --- | --- | --- |")
        print("\n".join(extra))


if __name__ == "__main__":
    main()
