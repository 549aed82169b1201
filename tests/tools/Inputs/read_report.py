"""Prints a report in one line for each part, and fails where keys are not those of the contract.

    read_report.py FILE
"""

import json
import sys

KEYS = ["status", "exit_code", "command", "began", "ended", "seconds", "steps", "steps_done", "root_cause", "restarts",
        "processes"]
CAUSE = ["cause", "process", "host", "pid", "signal", "signal_name", "exit_code", "launch", "step", "location", "message"]
PROCESS = ["process", "host", "pid", "state", "exit_code", "signal", "steps_done"]

report = json.load(open(sys.argv[1]))
assert list(report) == KEYS, list(report)
assert report["seconds"] >= 0 and report["began"] <= report["ended"]
print("status", report["status"], report["exit_code"], "steps", report["steps_done"], "of", report["steps"])
cause = report["root_cause"]
if cause is None:
    print("no cause")
else:
    assert list(cause) == CAUSE, list(cause)
    print("cause", cause["cause"], "process", cause["process"], "signal", cause["signal"], cause["signal_name"], "exit",
          cause["exit_code"], "at", cause["location"])
    print("message", cause["message"])
for restart in report["restarts"]:
    print("restart from", restart["resumed_from"], "processes", restart["num_processes"], restart["message"])
for process in report["processes"]:
    assert list(process) == PROCESS, list(process)
    assert process["pid"] > 0
    print("process", process["process"], process["state"], "exit", process["exit_code"], "signal", process["signal"],
          "steps", process["steps_done"])
