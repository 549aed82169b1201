#!/usr/bin/env python3
"""What programs send by default, and with `spmdc --minimize bytes`, and how long the model takes them to run.

    benchmarks/partitioner/goals.py [--build build/release] [--cases 60] [--seed 1] [--require]

Models of several kinds (models.py) and networks sharded at random (versions.py). `--require`: exit status 1 if
`--minimize bytes` sends more than the default.
"""

import itertools
import random

import contractions
import models
import programs
import versions


def seconds(function):
    return function["predicted_communication_us"] + function["predicted_compute_us"]


def main():
    parser = programs.arguments(__doc__)
    parser.add_argument("--cases", type=int, default=60, help="programs of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--require", action="store_true")
    options = parser.parse_args()
    choose = random.Random(options.seed)
    kinds = {"models": [models.model(choose, template)
                        for template in itertools.islice(itertools.cycle(models.TEMPLATES.values()), options.cases)],
             "networks": [versions.network(choose, None) for _ in range(options.cases)]}
    print("| programs | send less by bytes | as much | more | bytes, by bytes / by time | worst | predicted time |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    failed = []
    for kind, texts in kinds.items():
        by_time = programs.inspect_all(options.build, texts)
        by_bytes = programs.inspect_all(options.build, texts, contractions.BYTES_ONLY)
        sent = [(b["wire_bytes_per_device"], t["wire_bytes_per_device"]) for b, t in zip(by_bytes, by_time)]
        more = [text for text, (b, t) in zip(texts, sent) if b > 1.0001 * t + 1]
        less = sum(b < 0.9999 * t - 1 for b, t in sent)
        worst = max((b + 10) / (t + 10) for b, t in sent)
        bytes_mean = programs.geometric_mean([(b + 10) / (t + 10) for b, t in sent])
        time_mean = programs.geometric_mean([seconds(b) / seconds(t) for b, t in zip(by_bytes, by_time)])
        print(f"| {kind} ({len(texts)}) | {less} | {len(texts) - less - len(more)} | {len(more)} | {bytes_mean:.3f} | {worst:.2f} | "
              f"{time_mean:.3f} |",
              flush=True)
        failed += more
    if options.require and failed:
        raise SystemExit("more is sent by the goal of bytes:\n" + "\n".join(failed))


if __name__ == "__main__":
    main()
