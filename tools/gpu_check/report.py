"""Writes the results as a JSON file that is complete after every step, and as a table."""

import collections
import json
import os
import time

from . import correctness

# A reader of the table may see the last 12,000 characters of the output and no more.
MOST_CHARACTERS = 9000
WRITE_EVERY_SECONDS = 1.0


class Results:
    """Parts by name, each a value or a list of rows. The file is replaced atomically, so it is always a complete document."""

    def __init__(self, path):
        self.path, self.data, self.written = path, {}, 0.0

    def set(self, part, value):
        self.data[part] = value
        self.write()

    def add(self, part, row):
        self.data.setdefault(part, []).append(row)
        if time.monotonic() - self.written > WRITE_EVERY_SECONDS:
            self.write()

    def write(self):
        beside = self.path.with_suffix(".new")
        beside.write_text(json.dumps(self.data, indent=1, default=str))
        os.replace(beside, self.path)
        self.written = time.monotonic()


def machine_lines(data):
    machine = data.get("machine")
    versions = [f"{name} {value}" for name, value in (machine or {}).get("versions", {}).items()]
    yield ", ".join([f"target {data.get('target')}", *versions])
    yield "libraries for spmd-run: " + (" ".join(data.get("libraries", [])) or "those that the loader finds")
    if machine is None:
        return
    rates = [f"{name} {value / 1e12:.1f} TFLOP/s" for name, value in machine.get("flops_per_second", {}).items()]
    if "copy_bytes_per_second" in machine:
        rates.insert(0, f"copy {machine['copy_bytes_per_second'] / 1e9:.0f} GB/s (read + written)")
    yield "ceilings: " + ", ".join(rates) if rates else "ceilings: not measured: " + machine.get("failure", "no time")
    yield ""


def correctness_lines(rows):
    groups = collections.OrderedDict()
    for row in rows:
        groups.setdefault(row["group"], collections.Counter())[row["status"]] += 1
    statuses = ("ok", "wrong", "failed", "stuck", "not run")
    yield f"\n{'programs':34}" + "".join(f"{status:>9}" for status in statuses)
    total = collections.Counter()
    for group, counts in groups.items():
        total.update(counts)
        yield f"{group[:34]:34}" + "".join(f"{counts[status] or '.':>9}" for status in statuses)
    yield f"{'all':34}" + "".join(f"{total[status]:>9}" for status in statuses)


def shortened(lines, most):
    """The first of the lines, and how many there are beyond them."""
    yield from lines[:most]
    if len(lines) > most:
        yield f"     {len(lines) - most} lines like these: in the JSON"


def failure_lines(rows, most):
    """One line for each kind of message, the most frequent first, then as many wrong results as there is room for."""
    kinds = collections.OrderedDict()
    for row in rows:
        if row["status"] in ("failed", "stuck"):
            kinds.setdefault(correctness.kind_of(row["message"]), []).append(row)
    yield from shortened([f"{len(found):4} x {found[0]['message'][:170]}  [{found[0]['name']}]"
                          for found in sorted(kinds.values(), key=len, reverse=True)], most)
    yield from shortened([f"wrong: {row['name']}: {row['message'][:170]}" for row in rows if row["status"] == "wrong"], most)


def copy_seconds(copies, moved):
    """The seconds of a copy that moves so many bytes, between those of the measured sizes."""
    for (fewer, low), (more, high) in zip(copies, copies[1:]):
        if moved <= more:
            return low + (high - low) * max(0, moved - fewer) / (more - fewer)
    return copies[-1][1] * moved / copies[-1][0]


def least_us(row, machine):
    """The least time on this machine: a copy of as many bytes, or all products at cuBLASLt's rate. Both times of a share include
    a launch, or none does, if torch's profiler has recorded copies."""
    copies, products = machine.get("copy_seconds"), machine.get("flops_per_second", {})
    if not row.get("has_launch", True):
        copies = machine.get("copy_alone_seconds", copies)
    if not copies or any(dtype not in products for dtype in row["flops"]):
        return None
    return 1e6 * max(copy_seconds(copies, row["bytes"]), sum(count / products[dtype] for dtype, count in row["flops"].items()))


def own_us(row):
    """Time on the device where the trace has it; calls on the wall clock bound it from above."""
    times = [row[key] for key in ("device_us", "wall_us") if row.get(key)]
    return min(times) if times else None


def rate_lines(data):
    machine = data.get("machine", {})
    peers = {part: {row["kernel"]: row for row in data.get(part, [])} for part in ("jax", "torch", "inductor")}
    text = lambda value, digits=1: "-" if value is None else f"{value:.{digits}f}"  # noqa: E731
    if "rates" not in data:
        return
    yield (f"{'kernel, us':20}{'wall':>10}{'device':>10}{'least':>9}{'share':>7}{'JAX':>10}{'torch':>10}{'inductor':>10}"
           f"{'peer/own':>9}")
    for row in data.get("rates", []):
        name, own, least = row["kernel"], own_us(row), least_us(row, machine)
        times = [peers[part].get(name, {}).get("us") for part in ("jax", "torch", "inductor")]
        best = min((value for value in times if value), default=None)
        own_times = f"{text(row.get('wall_us')):>10}{text(row.get('device_us')):>10}" if own else f"{'failed':>20}"
        yield (f"{name:20}{own_times}{text(least):>9}{text(100 * least / own, 0) + '%' if own and least else '-':>7}" +
               "".join(f"{text(value):>10}" for value in times) + f"{text(best / own if own and best else None, 2):>9}")


def kernel_failure_lines(rows, keys):
    """One line for each kind of message that rows have under one of the keys, with the kernels that have it."""
    kinds = collections.OrderedDict()
    for row in rows:
        for key, of in keys.items():
            if row.get(key):
                kinds.setdefault((of, correctness.kind_of(row[key])), []).append((row["kernel"], row[key]))
    for (of, _), found in kinds.items():
        names = ", ".join(name for name, _ in found[:4]) + (", ..." if len(found) > 4 else "")
        yield f"{len(found):4} x {of}: {found[0][1][:150]}  [{names}]"


def notes(data, most):
    """About kernels that failed or warned, peers that did not run, and results that are not the peers'."""
    keys = {"failure": "failed", "profile_failure": "with --profile", "warning": "ran with a warning"}
    yield from shortened(list(kernel_failure_lines(data.get("rates", []), keys)), most)
    for part in ("jax", "torch", "inductor"):
        if f"{part}_state" not in data:
            continue
        yield f"{part}: {data[f'{part}_state']}"
        rows = data.get(part, [])
        yield from shortened(list(kernel_failure_lines(rows, {"failure": f"failed in {part}"})), most)
        yield from shortened([f"wrong: {row['kernel']} against {part}: {row['wrong'][:100]}" for row in rows if row.get("wrong")], most)


def table(data):
    """The text that is printed last. If it would be too long, it lists fewer failures, but all kernels and counts."""
    rows = data.get("correctness", [])
    head, ends = [*machine_lines(data), *rate_lines(data)], [*correctness_lines(rows), f"seconds: {data.get('seconds')}"]
    room = MOST_CHARACTERS - sum(len(line) + 1 for line in head + ends)
    for most in (12, 8, 5, 3, 1, 0):
        middle = [*notes(data, most), *failure_lines(rows, most)]
        if sum(len(line) + 1 for line in middle) <= room:
            break
    return "\n".join(head + middle + ends)
