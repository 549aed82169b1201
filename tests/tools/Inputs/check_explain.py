"""Compares `explain --json` of a program with `inspect --json`: the same collectives in the same order, annotations at the given
places, and fix-its that remove the collectives: each is made in the source, which is inspected again.

    check_explain.py PROGRAM.spmd SCRATCH.spmd [--allow-none]
"""

import json
import subprocess
import sys

program, scratch = sys.argv[1:3]


def run(*command):
    result = subprocess.run(["spmdc", *command], capture_output=True, text=True)
    assert result.returncode == 0, (command, result.stderr)
    return result.stdout


def place(loc):
    file, line, column = loc.rsplit(":", 2)
    return file, int(line), int(column)


def inspected(file):
    functions = json.loads(run("inspect", file, "--json"))["functions"]
    collectives = [c for f in functions for c in f["collectives"]]
    totals = {"collectives": len(collectives)}
    for key in ("wire_bytes_per_device", "predicted_communication_us", "flops_per_device",
                "argument_bytes_per_device"):
        totals[key] = sum(f[key] for f in functions)
    # Each function has the totals of the complete program.
    totals["predicted_compute_us"] = functions[0]["predicted_compute_us"]
    totals["peak_bytes_per_device"] = functions[0]["peak_bytes_per_device"]
    totals["predicted_us"] = totals["predicted_communication_us"] + totals["predicted_compute_us"] - sum(
        f["combining_saves_us"] + f["ring_saves_us"] for f in functions)
    return collectives, totals


def are_equal(claimed, totals):
    assert claimed.keys() == totals.keys(), (claimed, totals)
    return all(abs(claimed[key] - totals[key]) <= 0.01 + 1e-9 * totals[key] for key in totals)


def is_like(a, b):
    """Whether two collectives have one kind and line, and b is over an axis that annotations force for a."""
    forced = {cause["axis"] for cause in a["causes"]}
    names = {axis.split(":")[0] for axis in b["axes"]}
    return a["op"] == b["op"] and place(a["loc"])[1] == place(b["loc"])[1] and forced & names


def owner(collective, edits=()):
    """The operation that needs the collective, and its place after the edits."""
    file, line, column = place(collective["loc"])
    column += sum(len(e["to"]) - len(e["from"]) for e in edits if place(e["loc"])[1] == line and place(e["loc"])[2] <= column)
    return collective["op"], collective["why"].split()[0], line, column


def sent(some):
    return sum(c["wire_bytes_per_device"] * c["trip_count"] for c in some)


lines = open(program).read().split("\n")
explain = ("explain", program, "--json", "--seconds", "600")  # A machine may be busy.
text = run(*explain)
assert text == run(*explain), "two runs differ"
report = json.loads(text)
assert report["all_tried"] and report["tried"] < 257
collectives, totals = inspected(program)
explained = [c for f in report["functions"] for c in f["collectives"]]
assert are_equal(report["totals"], totals), (report["totals"], totals)
assert len(explained) == len(collectives)
removals = {}
for entry, collective in zip(explained, collectives):
    assert {key: entry[key] for key in collective} == collective
    assert entry["source"] == lines[place(entry["loc"])[1] - 1].strip()
    # One branch of a conditional counts.
    seconds = collective.get("counted", True) * collective["predicted_us"] * collective["trip_count"]
    share = seconds / totals["predicted_communication_us"]
    assert abs(entry["share"] - share) < 1e-3, (entry["share"], share)
    for cause in entry["causes"]:
        file, line, column = place(cause["loc"])
        assert file == program and lines[line - 1][column - 1:].startswith(cause["written"]), cause
        assert (cause["axis"] in cause["written"]) == (cause["kind"] == "cut"), cause
        assert cause["through"][-1]["loc"] in entry.get("locs", [entry["loc"]]), cause
    proposals = [entry["removal"], *entry["alternatives"]] if entry["removal"] else []
    assert not entry["alternatives"] or proposals
    for proposal in proposals:
        removals.setdefault(json.dumps(proposal["edits"]), []).append((entry, proposal))
    for other in proposals[1:]:
        key = {"time": "predicted_us", "memory": "peak_bytes_per_device"}[other["better"]]
        assert other["faster"] and other[key] < proposals[0][key], entry
    if not proposals:
        assert "--allow-none" in sys.argv or not entry["causes"], entry

assert not explained or abs(sum(entry["share"] for entry in explained) - 1) < 1e-3

for edits, entries in removals.items():
    changed = list(lines)
    for edit in sorted(json.loads(edits), key=lambda e: place(e["loc"]), reverse=True):
        _, line, column = place(edit["loc"])
        old = changed[line - 1]
        assert old[column - 1:].startswith(edit["from"]), (old, edit)
        changed[line - 1] = old[:column - 1] + edit["to"] + old[column - 1 + len(edit["from"]):]
    with open(scratch, "w") as out:
        out.write("\n".join(changed))
    left, totals_then = inspected(scratch)
    for entry, proposal in entries:
        # The bytes of other collectives on its line may stay.
        after = [c for c in left if is_like(entry, c)]
        owners = {owner(c) for c in after}
        before = [c for c in collectives if is_like(entry, c) or owner(c, json.loads(edits)) in owners]
        assert len(after) < len(before), (edits, entry)
        assert sent(after) <= sent(before) - sent([entry]), (edits, entry)
        claimed = {key: proposal[key] for key in totals_then}
        assert are_equal(claimed, totals_then), (claimed, totals_then)
print(f"{len(explained)} explained, {len(removals)} changes tried")
