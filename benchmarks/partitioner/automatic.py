#!/usr/bin/env python3
"""Compares the shardings that `spmdc compile --auto` finds for models of several kinds with annotations by hand.

    benchmarks/partitioner/automatic.py [--build build/release] [--tries N] [--rows 256] [--width 512] [--rates accelerator]

Each model (models.py) on a mesh (a=4, b=2): its predicted time under each of the usual strategies (data, tensor, fully
sharded parallelism and so on), the least of which is the best by hand, and without annotations after `--auto`.
Predicted times are those of `spmdc inspect`, by the rates of a core or of an accelerator (compositions.py).
"""

import json
import re
import tempfile
import time

import compositions
import models
import programs

MESH = {"a": 4, "b": 2}
RATES = {"core": {}, "accelerator": compositions.RATES}


def seconds(function):
    spared = function["combining_saves_us"] + function["ring_saves_us"]
    return (function["predicted_communication_us"] - spared + function["predicted_compute_us"]) / 1e6


def main():
    parser = programs.arguments(__doc__)
    parser.add_argument("--tries", type=int)
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--rates", choices=RATES, default="core")
    options = parser.parse_args()
    rates = RATES[options.rates]
    ratios = []
    print("| model | replicated, ms | best by hand, ms | `--auto`, ms | of that by hand | programs tried | s |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, template in models.TEMPLATES.items():
        def text(places):
            return models.write(template, places, MESH, options.width, options.rows)
        by_hand = min(seconds(function) for function in programs.inspect_all(
            options.build, [text({mark: strategy.get(mark, "@_") for mark in models.marks(template)})
                            for strategy in models.STRATEGIES], rates))
        plain = text({})
        before = seconds(programs.inspect(options.build, plain, rates))
        begin = time.monotonic()
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(rates, file)
            file.flush()
            printed = programs.spmdc(options.build, "compile", plain, "--auto", "-o", "/dev/null", "--cost-model", file.name,
                                     *(["--tries", str(options.tries)] if options.tries else []))
        took = time.monotonic() - begin
        found = seconds(programs.inspect(options.build, pasted(plain, printed), rates))
        tried = re.search(r"\((\d+) programs? tried\)", printed).group(1)
        ratios.append(found / by_hand)
        print(f"| {name} | {1e3 * before:.1f} | {1e3 * by_hand:.2f} | {1e3 * found:.2f} | {ratios[-1]:.3f} | {tried} | {took:.0f} |",
              flush=True)
    print(f"geometric mean of `--auto` / by hand: {programs.geometric_mean(ratios):.3f}")


def pasted(text, printed):
    """The program with the annotations that `--auto` prints."""
    lines = text.split("\n")
    edits = re.findall(r"^  \S+:(\d+):(\d+): '(.*)' instead of '(.*)'$", printed, re.M)
    for line, column, to, old in sorted(edits, key=lambda edit: (-int(edit[0]), -int(edit[1]))):
        row, at = int(line) - 1, int(column) - 1
        assert lines[row][at:].startswith(old), (lines[row], old)
        lines[row] = lines[row][:at] + to + lines[row][at + len(old):]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
