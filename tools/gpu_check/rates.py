"""Times each kernel through spmd-run: calls on the wall clock, then steps by --profile, with inputs made on this machine."""

import json
import statistics
import subprocess
import time

from . import arrays, correctness, kernels

REPEAT = 30
TIMEOUT = 60
LARGEST = {"i8": 127}  # Of a type; larger numbers would wrap.
# Seconds by which a kernel that begins just before the deadline may exceed it.
GRACE = 15


class Inputs:
    """Files of random numbers in a folder, one for each type, shape and position of a parameter. Without NumPy, which
    the peers need, too, spmd-run draws the numbers, at a few million a second."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(exist_ok=True)
        try:
            import numpy
            self.numpy = numpy
        except ImportError:
            self.numpy = None

    def option(self, parameter, index, limit, scale):
        """The value of `--input`, and the file that it names, if any. Integers are below `limit`, floats are normal
        numbers times `scale`."""
        dtype, shape, name = parameter["dtype"], parameter["shape"], parameter["name"]
        limit = min(limit, LARGEST.get(dtype, limit))
        is_float = dtype in arrays.FLOATS
        if is_float and self.numpy is None:
            return f"{name}=normal:{index}", None
        file = self.folder / f"{dtype}-{'x'.join(map(str, shape)) or 'scalar'}-{index}-{scale if is_float else limit}.npy"
        if not file.exists():
            self.write(file, dtype, shape, index, scale if is_float else limit)
        return f"{name}={file}", file

    def write(self, file, dtype, shape, index, factor):
        if not shape or dtype == "u32":  # A scalar index, and a random key.
            arrays.write_npy(file, dtype, shape, [3] * arrays.count(shape))
        elif self.numpy is None:
            arrays.write_npy(file, dtype, shape, [i * 7919 % factor for i in range(arrays.count(shape))])
        else:
            source = self.numpy.random.default_rng(index)
            if dtype in arrays.FLOATS:
                value = source.standard_normal(shape, dtype=self.numpy.float32) * self.numpy.float32(factor)
                if dtype == "bf16":
                    value = (value.view(self.numpy.uint32) >> 16).astype(self.numpy.uint16).view("V2")
            else:
                value = source.integers(0, factor, shape, dtype=f"int{8 * arrays.BYTES[dtype]}")
            self.numpy.save(file, value)


def device_times(path):
    """Medians over the launches of a trace, without the first: of a launch on its slowest device, and of each step."""
    events = [event for event in json.loads(path.read_text())["traceEvents"] if event["ph"] == "X"]
    launches, steps = {}, {}
    for event in events:
        number = event["args"]["launch"]
        if number == 1:
            continue
        if event["cat"] == "launch":
            launches[number] = max(launches.get(number, 0.0), event["dur"])
        else:
            key = f"{event['args'].get('step', 0)} {event['name']}"
            steps.setdefault(key, {}).setdefault(number, 0.0)
            steps[key][number] = max(steps[key][number], event["dur"])
    total = statistics.median(launches.values()) if launches else None
    return total, {key: round(statistics.median(times.values()), 2) for key, times in steps.items()}


def run(command, environment, folder, deadline):
    """Runs a command; returns "" or the reason of its failure, and its first warning, if any."""
    limit = max(1.0, min(TIMEOUT, deadline + GRACE - time.monotonic()))
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=limit, env=environment,
                              cwd=folder, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return f"does not end within {limit:.0f} s", ""
    warning = next((line for line in done.stderr.splitlines() if "warning: " in line), "")[:300]
    return correctness.message_of(done)[:300] if done.returncode else "", warning


def measure(kernel, runtime, scratch, inputs, environment, deadline):
    """A row: times of the wall clock from one run, of steps from another one, which keeps the results for the peers."""
    row = {"kernel": kernel["name"], "bytes": kernel["bytes"], "flops": kernel["flops"]}
    folder = scratch / "kernels"
    limit = kernels.index_limit(kernel["parameters"]) if kernel["parameters"] and kernel["parameters"][0]["shape"] else 1
    options = []
    for index, parameter in enumerate(kernel["parameters"]):
        option, parameter["file"] = inputs.option(parameter, index, limit,
                                                   kernels.scale(kernel["name"], parameter["name"]))
        options.append(f"--input={option}")
    command = [runtime, f"{kernel['name']}.spmdx", *options, f"--repeat={REPEAT}"]
    failure, warning = run([*command, "--time-json=time.json"], environment, folder, deadline)
    if warning:
        row["warning"] = warning
    if failure:
        return {**row, "failure": failure}
    times = json.loads((folder / "time.json").read_text())
    row.update(wall_us=times["median_us"], min_us=times["min_us"], first_ms=times["first_result_ms"])
    outputs = []
    for index, result in enumerate(kernel["results"]):
        result["file"] = folder / f"{kernel['name']}-{index}.npy"
        outputs.append(f"--output={result['name']}={result['file']}")
    failure, warning = run([*command, "--profile=profile.json", *outputs], environment, folder, deadline)
    if failure:
        for result in kernel["results"]:
            result["file"] = None
        return {**row, "profile_failure": failure}
    row["device_us"], row["steps"] = device_times(folder / "profile.json")
    row["has_launch"] = "times of events" in warning
    return row


def run_all(entries, runtime, scratch, environment, deadline, add):
    inputs = Inputs(scratch / "arrays")
    for kernel in entries:
        if time.monotonic() > deadline:
            add({"kernel": kernel["name"], "bytes": kernel["bytes"], "flops": kernel["flops"], "failure": "not run: no time left"})
        else:
            add(measure(kernel, runtime, scratch, inputs, environment, deadline))
