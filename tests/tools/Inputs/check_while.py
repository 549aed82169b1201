"""Compares `while_loops` of a report of two.spmd (while.test) with values worked out by hand."""
import json
import sys

(main,) = json.load(sys.stdin)["functions"]


def line(place):
    return int(place.split(":")[-2])


# Each all_reduce of a f32[] sends 6 B: the sum of the condition once, the maximum three times; both copies add up.
loops = [(line(loop["loc"]), loop["copies"], loop["wire_bytes_per_device"], round(loop["predicted_communication_us"]))
         for loop in main["while_loops"]]
assert loops == [(3, 2, 2 * (6 + 3 * 6), 2 * (20 + 3 * 20)), (10, 1, 6, 20), (11, 1, 6, 20)], loops
assert all(loop["predicted_compute_us"] > 0 and loop["flops_per_device"] > 0 for loop in main["while_loops"])
around = [(collective["reduction"], collective["trip_count"], [line(loop) for loop in collective["while_loops"]])
          for collective in main["collectives"]]
assert around == [("sum", 1, [3]), ("max", 3, [3]), ("sum", 5, [3]), ("max", 15, [3]), ("min", 1, [11, 10])], around
