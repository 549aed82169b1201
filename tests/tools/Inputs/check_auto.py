"""Runs `compile --auto`, makes the changes that it prints in the source, and holds its claims to `inspect --json` of both.

    check_auto.py PROGRAM.spmd SCRATCH.spmd [MEMORY_LIMIT]
"""

import json
import re
import subprocess
import sys

program, scratch, *limit = sys.argv[1:]


def run(*command):
    result = subprocess.run(["spmdc", *command], capture_output=True, text=True)
    assert result.returncode == 0, (command, result.stderr)
    return result.stdout


def cost(file):
    (main,) = json.loads(run("inspect", file, "--json"))["functions"]
    time = main["predicted_communication_us"] - main["combining_saves_us"] - main["ring_saves_us"] + main["predicted_compute_us"]
    return time, main["wire_bytes_per_device"], main["peak_bytes_per_device"]


options = ["--memory-limit", limit[0]] if limit else []
text = run("compile", program, "--auto", *options, "-o", scratch + "x")
assert text == run("compile", program, "--auto", *options, "-o", scratch + "x"), "two runs differ"
edits = re.findall(r"^  .*:(\d+):(\d+): '(.*)' instead of '(.*)'$", text, re.M)
assert edits, text


def make(edits):
    """Writes the program with these changes to the scratch file."""
    lines = open(program).read().split("\n")
    for line, column, to, old in sorted(edits, key=lambda e: (int(e[0]), int(e[1])), reverse=True):
        row, at = int(line) - 1, int(column) - 1
        assert lines[row][at:].startswith(old), (lines[row], old)
        lines[row] = lines[row][:at] + to + lines[row][at + len(old):]
    with open(scratch, "w") as out:
        out.write("\n".join(lines))
    return lines


# Each change is needed: without it the program takes longer, sends more or holds more.
alone = [cost(scratch) for edit in edits if make(other for other in edits if other is not edit)]
lines = make(edits)
before, after = cost(program), cost(scratch)
assert limit or after[0] < before[0], (before, after)
assert not limit or after[2] <= float(limit[0].rstrip("MiB")) * 2**20 < before[2], (before, after)
for edit, one in zip(edits, alone):
    assert any(more > less for more, less in zip(one, after)), ("idle", edit, one, after)
# The pasted annotations give the program that was compiled.
run("compile", scratch, "-o", scratch + "y")
print(text)
print("\n".join(lines))
