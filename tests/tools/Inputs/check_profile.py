"""Checks a trace: its lanes, its slices, its arrows, its times.

    check_profile.py TRACE FILE.spmd DEVICES PROCESSES [LAUNCHES]

Without LAUNCHES the run was broken off: what is there must still fit together, but arrows may lack an end.
"""

import bisect
import collections
import json
import math
import re
import sys

trace = json.load(open(sys.argv[1]))
source, devices, processes = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
launches = int(sys.argv[5]) if len(sys.argv) > 5 else None
events = trace["traceEvents"]
by = collections.defaultdict(list)
for event in events:
    by[event["ph"]].append(event)
lanes = {(e["pid"], e["tid"]): e["args"]["name"] for e in by["M"] if e["name"] == "thread_name"}
names = [e["args"]["name"] for e in by["M"] if e["name"] == "process_name"]
assert len(lanes) == devices and sorted(lanes.values()) == sorted(f"cpu:{d}" for d in range(devices)), lanes
assert len(names) == processes
assert all(re.fullmatch(r"process \d+ \(.+, pid \d+\)", name) for name in names), names

slices = collections.defaultdict(list)
for event in by["X"]:
    assert (event["pid"], event["tid"]) in lanes
    assert event["dur"] >= 0
    slices[event["pid"], event["tid"]].append(event)
assert set(slices) == set(lanes)
counts = []
for lane, own in slices.items():
    whole = {e["args"]["launch"]: e for e in own if e["cat"] == "launch"}
    counts.append(len(whole))
    if launches:
        assert sorted(whole) == list(range(1, launches + 1)), lane
    for event in own:
        outer = whole[event["args"]["launch"]]
        assert outer["ts"] <= event["ts"] + 0.002
        assert event["ts"] + event["dur"] <= outer["ts"] + outer["dur"] + 0.002, (event, outer)
        if event["cat"] != "launch":
            assert re.fullmatch(re.escape(source) + r":\d+:\d+", event["args"]["source"]), event
            assert event["args"]["step"] >= 0

# An arrow begins in one of the last collectives of its lane that began before it.
collectives = {lane: sorted((e["ts"], e["ts"] + e["dur"]) for e in own if e["cat"] == "collective")
               for lane, own in slices.items()}


def lies_in_collective(arrow):
    own = collectives[arrow["pid"], arrow["tid"]]
    behind = bisect.bisect(own, (arrow["ts"] + 0.002, math.inf))
    return any(begin - 0.002 <= arrow["ts"] <= end + 0.002 for begin, end in own[max(0, behind - 8):behind])


starts = {e["id"]: e for e in by["s"]}
ends = {e["id"]: e for e in by["f"]}
assert len(starts) == len(by["s"]) and len(ends) == len(by["f"])
crossing = 0
for key in set(starts) & set(ends):
    begin, end = starts[key], ends[key]
    assert (begin["pid"], begin["tid"]) != (end["pid"], end["tid"])
    # One clock: no device ends before the first one starts.
    assert begin["ts"] <= end["ts"], key
    crossing += begin["pid"] != end["pid"]
    for arrow in (begin, end):  # Each end is in a slice of its own lane.
        assert lies_in_collective(arrow), arrow
if launches:
    assert set(starts) == set(ends)
print("lanes", len(lanes), "processes", len(names), "arrows", "some" if starts else "none",
      "crossing" if crossing else "inside", "launches", launches or ("some" if max(counts) > 10 else counts))
