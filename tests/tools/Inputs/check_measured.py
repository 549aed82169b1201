"""Adds up a trace by itself, and compares what `inspect --measured` says."""
import json
import sys

events = json.load(open(sys.argv[1]))["traceEvents"]
function = json.load(open(sys.argv[2]))["functions"][0]
spans = [event for event in events if event["ph"] == "X"]
first = min(event["args"]["launch"] for event in spans)
spans = [event for event in spans if event["args"]["launch"] != first]
calls = [event for event in spans if event["cat"] == "launch"]
devices = {(event["pid"], event["tid"]) for event in calls}
launches = {event["args"]["launch"] for event in calls}


def mean(chosen):
    return sum(event["dur"] for event in chosen) / len(devices) / len(launches)


sums = {
    "communication": mean([event for event in spans if event["cat"] == "collective"]),
    "compute": mean([e for e in spans if e["cat"] == "step" and e["name"] not in ("for", "while", "if")]),
    "call": mean(calls),
}
for name, said in (("communication", "communication"), ("compute", "computation"), ("call", "call")):
    print(said, abs(function[f"measured_{name}_us"] - sums[name]) < 0.01, end=" ")
trips = sum(c["measured_us"] * c["measured_runs"] for c in function["collectives"])
if abs(trips - sums["communication"]) > 0.01:
    print("collectives add up to", trips, "of", sums["communication"], end="")
print()
