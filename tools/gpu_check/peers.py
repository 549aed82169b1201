"""The same kernels in other frameworks, each in a process of its own that prints a line a kernel."""

import json
import subprocess
import sys
import threading
import time

from . import kernels


def described(entries):
    """The list that a peer reads: kernels whose arguments are all in files."""
    def plain(value):
        return {**value, "file": str(value["file"]) if value.get("file") else None}

    return [{"name": entry["name"], "parameters": [plain(p) for p in entry["parameters"]],
             "results": [plain(r) for r in entry["results"]]}
            for entry in entries if all(parameter.get("file") for parameter in entry["parameters"])]


def verdict(row, entry):
    """The difference between the results of spmdc and of the peer in words; "" if they agree or were not compared."""
    for error, result in zip(row.get("errors", []), entry["results"]):
        allowed = kernels.tolerance(entry["name"], result["dtype"])
        if not error <= allowed:
            return f"result {result['name']} differs by {error:.2g} of its largest element (allowed {allowed:.2g})"
    return ""


def run(script, arguments, entries, scratch, environment, deadline, add):
    """Adds the peer's rows until it ends or the deadline passes, and returns a line about the peer. Its stderr is reported only
    if it printed nothing else."""
    if deadline - time.monotonic() < 5:
        return "not run: no time left"
    listed = described(entries)
    if not listed:
        return "not run: no inputs in files (is there NumPy?)"
    (scratch / "peer.json").write_text(json.dumps(listed))
    errors = open(scratch / "peer-errors.txt", "w+")
    process = subprocess.Popen([sys.executable, script, scratch / "peer.json", *arguments], stdout=subprocess.PIPE, stderr=errors,
                               text=True, env=environment, cwd=scratch)
    timer = threading.Timer(deadline - time.monotonic(), process.kill)
    timer.start()
    by_name, count, head = {entry["name"]: entry for entry in entries}, 0, None
    for line in process.stdout:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if "kernel" not in row:
            head = row
            continue
        row["wrong"] = verdict(row, by_name[row["kernel"]])
        add(row)
        count += 1
    process.wait()
    timer.cancel()
    errors.seek(0)
    text = errors.read().strip().splitlines()
    if head is None:
        return "failed: " + (text[-1][:200] if text else f"exit status {process.returncode}")
    return f"{head['version']} on {head['device']}, {count} of {len(listed)} kernels"
