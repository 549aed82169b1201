#!/usr/bin/env python3
"""Breaks jobs of real processes, at random moments, and checks the runtime's promises (rows.py; docs/testing.md).

    tests/faults/faults.py --binaries build/release/bin              the whole suite
    tests/faults/faults.py --binaries build/release/bin --short      a few tries of each kind
    tests/faults/faults.py ... --only kill,stop                      some kinds
    tests/faults/faults.py ... --seed 7 --only kill --try 41         one try again, as a failure prints it
    tests/faults/faults.py ... --markdown FILE                       the table, for benchmarks/RESULTS.md

Each try has namespaces of its own, so that leftovers of a job are found. Needs `unshare` and `ip`; where the kernel
allows no namespaces the suite is skipped (exit status 77).
"""

import argparse
import json
import pathlib
import queue
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

import sandbox
from bystander import Bystander
from jobs import prepare, use_gpus
from rows import ROWS


class Worker:
    def __init__(self, args, shared):
        options = ["--gpus"] if args.gpus else []
        self.popen = subprocess.Popen([*sandbox.namespaces(), sys.executable, __file__, "--serve", str(shared),
                                       "--binaries", str(args.binaries), *options],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, name, seed, number):
        self.popen.stdin.write(json.dumps([name, seed, number]) + "\n")
        self.popen.stdin.flush()
        line = self.popen.stdout.readline()
        if not line:
            return {"name": name, "number": number, "failure": "the test itself ended", "seconds": None, "count": 0,
                    "took": 0}
        return json.loads(line)

    def close(self):
        self.popen.stdin.close()
        self.popen.wait()


def run_row(name, numbers, seed, workers, exceeds, bystander, report):
    """Runs all tries of a row. A try that took too long while the machine stalled is repeated, twice at most."""
    waiting = queue.Queue()
    for number in numbers:
        waiting.put(number)

    def work(worker):
        while True:
            try:
                number = waiting.get_nowait()
            except queue.Empty:
                return
            for _ in range(3):
                began = time.monotonic()
                answer = worker.run(name, seed, number)
                lost = bystander.seconds_lost(began) if exceeds(answer) else 0
                if lost == 0:
                    break
                print(f"{name}: try {number} took {answer['seconds']:.3f} s, of which the machine stood still for {lost:.3f} s",
                      flush=True)
            report(answer)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in workers[:ROWS[name].parallel]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binaries", type=pathlib.Path, required=True)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(ROWS))
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--try", type=int, dest="number")
    parser.add_argument("--tries", type=int)
    parser.add_argument("--gpus", action="store_true", help="on emulated GPUs")
    parser.add_argument("--time-scale", type=float, default=1, help="for builds that are slow: bounds times this")
    parser.add_argument("--markdown", type=pathlib.Path)
    parser.add_argument("--serve", type=pathlib.Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    # Shells start background jobs with Ctrl-C ignored, and the jobs of this suite would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    args.binaries = args.binaries.resolve()
    if args.serve:
        return sandbox.serve(ROWS, args.binaries, args.serve)
    if unknown := [name for name in args.only if name not in ROWS]:
        parser.error(f"there is no {unknown[0]}; there are {', '.join(ROWS)}")
    if not sandbox.is_possible():
        print("skipped: this kernel allows no namespaces of users, processes and networks")
        return 77
    print(f"seed {args.seed}", flush=True)
    began = time.monotonic()
    table, failed, lock, bystander = [], 0, threading.Lock(), Bystander()
    with tempfile.TemporaryDirectory(prefix="spmd-faults-") as folder:
        shared = pathlib.Path(folder)
        prepare(args.binaries, shared, with_calls="divergence" in args.only)
        if args.gpus:
            use_gpus(args.binaries, shared)
        names = [name for name in args.only if not (args.short and ROWS[name].short == 0)]
        workers = [Worker(args, shared) for _ in range(max(ROWS[name].parallel for name in names))]
        for name in names:
            row, row_began = ROWS[name], time.monotonic()
            tries = args.tries or (row.short if args.short else row.long)
            answers = []

            def exceeds(answer):
                seconds = answer["seconds"]
                return not answer["failure"] and seconds is not None and row.bound and seconds > row.bound * args.time_scale

            def report(answer):
                nonlocal failed
                if exceeds(answer):
                    answer["failure"] = f"it took {answer['seconds']:.3f} s; the bound is {row.bound * args.time_scale} s"
                with lock:
                    answers.append(answer)
                    if answer["failure"]:
                        failed += 1
                        print(f"FAILED: {pathlib.Path(__file__).name} --seed {args.seed} --only {name} --try "
                              f"{answer['number']}{' --gpus' if args.gpus else ''}\n{answer['failure']}", flush=True)

            numbers = [args.number] if args.number is not None else range(tries)
            run_row(name, numbers, args.seed, workers, exceeds, bystander, report)
            worst = max((a["seconds"] for a in answers if a["seconds"] is not None), default=None)
            count = sum(a["count"] for a in answers)
            measured = "" if worst is None else f"{worst:.2f} s"
            table.append((row.promise, f"{row.bound} s" if row.bound else "", measured, count))
            print(f"{name}: {count} tries in {time.monotonic() - row_began:.1f} s" +
                  (f", worst {measured} of {row.bound} s" if worst is not None and row.bound else ""), flush=True)
        for worker in workers:
            worker.close()
    bystander.close()
    if args.markdown:
        lines = ["| promise | bound | worst measured | tries |", "| --- | --- | --- | --- |"]
        lines += [f"| {promise} | {bound} | {measured} | {count:,} |" for promise, bound, measured, count in table]
        args.markdown.write_text("\n".join(lines) + "\n")
    print(f"{failed} failed" if failed else "all well", f"after {time.monotonic() - began:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
