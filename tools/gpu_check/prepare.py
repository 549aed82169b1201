"""Builds the folder that a machine with a GPU needs: the runtime, artifacts, inputs, expected values, the peers' scripts.

It contains:
    check             the command (gpu_check/check.py)
    gpu_check/        Python modules of the check; peers and the table of kernels
    spmd-run          the runtime, stripped
    spmd-run-many     the same for many programs in one process
    programs.tar.xz   for each program its artifact, inputs and expected results
    manifest.json     the list of programs and kernels (see Builder.describe)
"""

import concurrent.futures
import json
import math
import os
import pathlib
import random
import shutil
import subprocess
import tarfile
import tempfile
import threading

from . import arrays, artifacts, programs

ROOT = programs.ROOT
# The limit of a program's elements, inputs and results together: larger ones would fill the folder, and Python compares
# elements one by one.
MOST_ELEMENTS = 300_000
# The limit of steps of all devices together, if several share a GPU: at about 10 us each this is half a minute.
MOST_STEPS = 3e6
# Two runs on a CPU differ by the order of their sums; a GPU's order is a third one, and its functions are others.
NOISE_FACTOR = 16
ROUNDING_FACTOR = 4
# A loop with an unknown number of iterations counts as this many.
UNKNOWN_TRIPS = 100
MODULES = ("arrays.py", "artifacts.py", "check.py", "correctness.py", "machine.py", "rates.py", "report.py", "peers.py")


class LeftOut(Exception):
    """The reason why a program is not in the folder."""


class Builder:
    """Compiles programs and writes their inputs and expected values. Used by several threads at once."""

    def __init__(self, binaries, target, scratch):
        self.binaries, self.target, self.scratch = binaries, target, scratch
        self.environment = {**os.environ, "SPMD_NO_CACHE": "1"}

    def compile(self, folder, name, target, options, output):
        command = [self.binaries / "spmdc", "compile", name, "--target", target, *options, "-o", output]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, env=self.environment)
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if "error:" in line] or done.stderr.splitlines() or ["?"]
            raise LeftOut("does not compile: " + lines[0].split("error: ", 1)[-1])
        return artifacts.read_plan(folder / output)

    def run(self, folder, artifact, inputs, options, results, prefix):
        outputs = [f"--output={result['name']}={prefix}{i}.npy" for i, result in enumerate(results)]
        done = subprocess.run([self.binaries / "spmd-run", artifact, *(f"--input={given}" for given in inputs), *options,
                               *outputs], cwd=folder, capture_output=True, text=True, timeout=120, env=self.environment)
        if done.returncode:
            raise LeftOut("does not run on a CPU: " + (done.stderr.strip().splitlines() or ["?"])[-1])
        return [arrays.read_npy(folder / f"{prefix}{i}.npy", result["dtype"])[1] for i, result in enumerate(results)]

    def describe(self, program, number):
        """The manifest's entry of a program, after its files are in a folder of its own, under the scratch folder.

        `inputs` and `options` are given to spmd-run as they are; each of `results` has a file with the expected elements,
        their tolerance (arrays.allowance), and a label for the report.
        """
        folder = self.scratch / f"{number:05}"
        folder.mkdir()
        name = f"{program.name.replace('/', '-')}.{program.extension}"
        (folder / name).write_text(program.text)
        plan = self.compile(folder, name, self.target, program.compile_options, "program.spmdx")
        parameters, results = plan["params"], plan["results"]
        if sum(arrays.count(value["shape"]) for value in parameters + results) > MOST_ELEMENTS and program.arguments is None:
            if not program.group.startswith("examples"):
                raise LeftOut("is too large")
        devices = math.prod(axis["size"] for axis in plan["mesh"]["axes"])
        if devices > 1 and devices * count_roundings(plan["steps"]) > MOST_STEPS:
            raise LeftOut("executes too many steps for devices that share a GPU")
        inputs = self.write_inputs(program, parameters, folder)
        expected = program.results or self.expected_of_cpu(program, name, plan, inputs, folder)
        if [(value.dtype, list(value.shape)) for value in expected] != [(r["dtype"], r["shape"]) for r in results]:
            raise LeftOut("has other result types than expected")
        entry = {"name": program.name, "group": program.group, "folder": folder.name, "inputs": inputs,
                 "options": program.run_options, "results": []}
        for index, (value, result) in enumerate(zip(expected, results)):
            arrays.write_npy(folder / f"expected{index}.npy", value.dtype, value.shape, value.elements)
            entry["results"].append({"name": result["name"], "dtype": value.dtype, "shape": result["shape"],
                                     "tolerance": value.tolerance, "label": value.label or result["name"]})
        for extra in [folder / name, *folder.glob("cpu*")]:
            extra.unlink()
        return entry

    def write_inputs(self, program, parameters, folder):
        inputs, used = [], set()
        for index, parameter in enumerate(parameters):
            file = f"in{index}.npy"
            if program.arguments is not None:
                value = program.arguments[index]
                arrays.write_npy(folder / file, value.dtype, value.shape, value.elements)
                inputs.append(f"{parameter['name']}={file}")
                continue
            given = next((key for key in program.inputs
                          if parameter["name"] == key or parameter["name"].startswith(key + ".")), None)
            if given is None:
                arrays.write_npy(folder / file, parameter["dtype"], parameter["shape"], drawn(parameter, program.name))
                inputs.append(f"{parameter['name']}={file}")
            elif given not in used:
                used.add(given)
                inputs.append(f"{given}={self.copied(program.inputs[given], folder)}")
        return inputs

    def copied(self, spec, folder):
        """The spec of an input whose file, if it names one, is beside the program."""
        kind, _, path = spec.rpartition(":")
        if not (ROOT / path).is_file():
            return spec
        shutil.copyfile(ROOT / path, folder / pathlib.Path(path).name)
        return f"{kind}:{pathlib.Path(path).name}" if kind else pathlib.Path(path).name

    def expected_of_cpu(self, program, name, plan, inputs, folder):
        """The CPU's results, and the tolerance of a correct result: from the number of roundings, and from the difference of two
        runs on the CPU (on the program's mesh and on one device; if that is impossible, at -O3 and at -O0)."""
        results = plan["results"]
        self.compile(folder, name, "cpu", program.compile_options, "cpu.spmdx")
        values = self.run(folder, "cpu.spmdx", inputs, program.run_options, results, "cpu-a")
        options = program.compile_options
        if program.other_text not in (None, program.text) and "--mesh" not in options:
            (folder / name).write_text(program.other_text)
        else:
            options = [*options, "-O0"]
        try:
            self.compile(folder, name, "cpu", options, "cpu-other.spmdx")
            others = self.run(folder, "cpu-other.spmdx", inputs, program.run_options, results, "cpu-b")
        except LeftOut:  # shard_map whose shapes depend on the mesh.
            others = values
        roundings = count_roundings(plan["steps"]) * steps_of(program.run_options)
        # Every value may have been held in the narrowest type of the program on its way.
        roundoff = max(arrays.ROUNDOFF.get(buffer["dtype"], 0.0) for buffer in plan["buffers"] + results)
        expected = []
        for result, value, other in zip(results, values, others):
            tolerance = {}
            if result["dtype"] in arrays.FLOATS:
                noise = max((abs(a - b) for a, b in zip(value, other) if a - b == a - b), default=0.0)
                tolerance = {"of_largest": min(ROUNDING_FACTOR * roundings * roundoff, 0.05), "absolute": NOISE_FACTOR * noise}
            elif value != other:
                raise LeftOut("has integers that depend on rounding")
            expected.append(programs.Value(result["dtype"], result["shape"], value, tolerance))
        return expected


# In larger arrays the elements are multiples of 1/8, which the archive compresses to one byte instead of the four of f32.
MOST_NORMAL_ELEMENTS = 2048


def drawn(parameter, seed):
    """Elements from a fixed seed: standard normal, small integers that are in range as indices, and coins."""
    source, count = random.Random(f"{seed} {parameter['name']}"), arrays.count(parameter["shape"])
    if parameter["dtype"] in arrays.FLOATS:
        if count > MOST_NORMAL_ELEMENTS:
            return [source.randint(-16, 16) / 8 for _ in range(count)]
        return [source.gauss(0, 1) for _ in range(count)]
    return [source.randrange(2 if parameter["dtype"] == "bool" else 3) for _ in range(count)]


def count_roundings(steps):
    """The number of roundings on the way to a result: one for each step that a device executes, for a matrix product the square
    root of its terms (the error of a sum in any order, if errors are independent), and for a loop that of its iterations."""
    total = 0.0
    for step in steps:
        body = sum(count_roundings(value) for value in step.values() if isinstance(value, list) and value and
                   isinstance(value[0], dict) and "op" in value[0])
        trips = step["upper"] - step["lower"] if step["op"] == "for" else UNKNOWN_TRIPS if step["op"] == "while" else 1
        total += (math.sqrt(step["k"]) if step["op"] == "matmul" else 1) + trips * body
    return total


def steps_of(options):
    return int(options[options.index("--steps") + 1]) if "--steps" in options else 1


def strip(source, target):
    """Copies a file, without symbols if `strip` is installed."""
    for tool in ("strip", "llvm-strip-19"):
        if shutil.which(tool):
            subprocess.run([tool, "-o", target, source], check=True)
            return
    shutil.copyfile(source, target)
    target.chmod(0o755)


def copy_scripts(folder):
    package = folder / "gpu_check"
    package.mkdir()
    (package / "__init__.py").write_text("")
    for name in MODULES:
        shutil.copyfile(ROOT / "tools/gpu_check" / name, package / name)
    for name in ("kernels.py", "jax_peer.py", "torch_peer.py"):
        shutil.copyfile(ROOT / "benchmarks/gpu" / name, package / name)
    (folder / "check").write_text("#!/usr/bin/env python3\nimport sys\n\nfrom gpu_check import check\n\nsys.exit(check.main())\n")
    (folder / "check").chmod(0o755)


def build_kernels(builder, only, small):
    """Artifacts of the kernels whose rates are measured."""
    import importlib.util
    spec = importlib.util.spec_from_file_location("kernels", ROOT / "benchmarks/gpu/kernels.py")
    kernels = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(kernels)
    source = (ROOT / "benchmarks/gpu/kernels.spmd").read_text()
    sizes = [option for name, value in kernels.SMALL.items() for option in ("--set", f"{name}={value}")] if small else []
    folder = builder.scratch / "kernels"
    folder.mkdir()
    (folder / "kernels.spmd").write_text(source)
    entries, left_out = [], []
    for name in kernels.KERNELS:
        if only and name not in only:
            continue
        try:
            plan = builder.compile(folder, "kernels.spmd", builder.target, ["--fn", name, *sizes], f"{name}.spmdx")
        except LeftOut as reason:
            left_out.append({"name": name, "group": "kernels", "reason": str(reason)})
            continue
        constants = dict(kernels.constants(source), **(kernels.SMALL if small else {}))
        entries.append({"name": name, "parameters": [artifacts.strip(p) for p in plan["params"]],
                        "results": [artifacts.strip(r) for r in plan["results"]],
                        "flops": kernels.flops(name, constants), "bytes": kernels.least_bytes(name, plan)})
    (folder / "kernels.spmd").unlink()
    return entries, left_out


def build_programs(builder, candidates, jobs, say):
    """Entries of all programs that can be prepared, in their order, and the others with the reason."""
    lock, done = threading.Lock(), [0]

    def one(item):
        number, program = item
        try:
            result = builder.describe(program, number)
        except (LeftOut, subprocess.TimeoutExpired, OverflowError) as reason:
            shutil.rmtree(builder.scratch / f"{number:05}", ignore_errors=True)
            hidden = program.optional and str(reason).startswith("does not compile")
            result = None if hidden else {"name": program.name, "group": program.group, "reason": str(reason)[:300]}
        with lock:
            done[0] += 1
            if done[0] % 100 == 0:
                say(f"{done[0]} of {len(candidates)} programs")
        return result

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        results = [result for result in pool.map(one, enumerate(candidates)) if result]
    return [r for r in results if "reason" not in r], [r for r in results if "reason" in r]


def empty(folder):
    """Creates the folder, or empties one of an earlier run; a folder with other contents is an error."""
    if folder.exists() and any(folder.iterdir()) and not (folder / "gpu_check").is_dir():
        raise SystemExit(f"gpu-check: error: '{folder}' is not empty, and no folder that gpu-check has made")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


def prepare(options, say):
    folder, binaries = options.folder.resolve(), options.build.resolve() / "bin"
    for tool in ("spmdc", "spmd-run", "spmd-run-many"):
        if not (binaries / tool).exists():
            raise SystemExit(f"gpu-check: error: no {binaries / tool}; ninja -C {options.build} {tool} builds it")
    empty(folder)
    fuzzer = binaries / "spmd-fuzz"
    if not fuzzer.exists() and options.random:
        say(f"no {fuzzer}: without random programs (ninja -C {options.build} spmd-fuzz builds it)")
    for tool in ("spmd-run", "spmd-run-many"):
        strip(binaries / tool, folder / tool)
    copy_scripts(folder)
    with tempfile.TemporaryDirectory() as scratch:
        builder = Builder(binaries, options.target, pathlib.Path(scratch))
        candidates = list(programs.all_programs(fuzzer if fuzzer.exists() and options.random else None, builder.scratch,
                                                options.random))
        if options.only:
            candidates = [program for program in candidates if any(word in program.name for word in options.only)]
        entries, left_out = build_programs(builder, candidates, options.jobs, say)
        kernels, failed = build_kernels(builder, options.kernels, options.small)
        # Artifacts share most of their bytes with other artifacts, so one stream for all is half of a zip file.
        with tarfile.open(folder / "programs.tar.xz", "w:xz") as archive:
            for name in [entry["folder"] for entry in entries] + ["kernels"]:
                for file in sorted((builder.scratch / name).iterdir()):
                    archive.add(file, f"{name}/{file.name}")
    version = subprocess.run([binaries / "spmdc", "--version"], capture_output=True, text=True, check=True).stdout
    manifest = {"target": options.target, "spmdc": version.strip(), "programs": entries, "kernels": kernels,
                "left_out": left_out + failed}
    (folder / "manifest.json").write_text(json.dumps(manifest, separators=(",", ":")))
    return manifest
