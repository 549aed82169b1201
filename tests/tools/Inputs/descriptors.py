"""Runs a command with every limit of file descriptors, from hardly any to one that suffices, and prints what it met.

    descriptors.py COMMAND...

Each run has to end by itself: well, or with errors that all name the remedy.
"""

import resource
import subprocess
import sys

FEWEST, MOST = 8, 60
good, causes = 0, set()
for limit in range(FEWEST, MOST):
    run = subprocess.run(sys.argv[1:], capture_output=True, text=True, timeout=100,
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
    good = good + 1 if run.returncode == 0 else 0
    if good == 3:
        break
    errors = [line.split("error: ")[1] for line in run.stderr.splitlines() if "error: " in line]
    if run.returncode != 0:
        assert errors and all("raise `ulimit -n`" in error for error in errors), (limit, run.stderr)
        causes.update(error.split(" failed: ")[-1].split(": Too many")[0] for error in errors)
assert good == 3, run.stderr
print(*sorted(causes), sep="\n")
