"""A cluster started by hand on this machine, whose processes each write a report; then something is broken.

    cluster_reports.py FOLDER kill|missing|mismatch|argument COMMAND...

Prints what each report says. `{process}` in --report is replaced by the command itself.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time


def main():
    folder, fault, *command = sys.argv[1:]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    count = 3
    present = range(2) if fault == "missing" else range(count)
    processes = {}
    for i in present:
        own = ["--steps", "2000000" if fault != "mismatch" or i != 2 else "7"]
        processes[i] = subprocess.Popen(
            [*command, *own, "--coordinator-address", f"127.0.0.1:{port}", "--num-processes", str(count),
             "--process-id", str(i), "--initialization-timeout", "2" if fault == "missing" else "60",
             "--report", os.path.join(folder, f"{fault}-{{process}}.json"), "--checkpoint-dir",
             os.path.join(folder, "c-" + fault), "--checkpoint-every", "50", "--checkpoint-keep", "1"],
            stderr=subprocess.PIPE, text=True)
    if fault == "kill":
        begin = time.monotonic()  # Heartbeats, which tell where a process is, come each half second.
        for line in processes[0].stderr:
            if "saved" in line and time.monotonic() - begin > 2:
                break
        os.kill(processes[0].pid, signal.SIGKILL)
    for i, process in processes.items():
        process.communicate(timeout=60)
        path = os.path.join(folder, f"{fault}-{i}.json")
        if not os.path.exists(path):
            print(f"process {i} exit {process.returncode} without a report")
            continue
        report = json.load(open(path))
        cause = report["root_cause"]
        assert report["exit_code"] == process.returncode
        print(f"process {i} exit {process.returncode} {report['status']} {cause['cause']} process {cause['process']}: "
              f"{cause['message']}")
        print("  states", *[f"{p['process']}={p['state']}" for p in report["processes"]])


main()
