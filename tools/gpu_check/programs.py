"""The programs whose results the check compares, from all over the tree, the most informative ones first.

Their expected values do not come from the checked backend but from JAX (tests/programs/jax), from the global evaluator (random
programs of spmd-fuzz), or from this machine's CPU (examples and other .spmd files).
"""

import dataclasses
import json
import pathlib
import re
import shlex
import subprocess

from . import arrays

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# Expressions of one program: a process costs about half a second on a GPU, and an expression that fails hides the others of its
# program. On several devices more of them share a program, since that group is there for the collectives.
CASES_ON_ONE_DEVICE = 12
CASES_ON_MESHES = 24
# Steps of the examples that train: enough for every kernel and carry; more would only amplify rounding.
TRAINING_STEPS = 20


@dataclasses.dataclass
class Value:
    """An expected array, the tolerance of a result, and its name in a report."""
    dtype: str
    shape: list
    elements: list
    tolerance: dict = dataclasses.field(default_factory=dict)
    label: str = ""


@dataclasses.dataclass
class Program:
    """A program to run. Without `arguments` its inputs are random, except those that `inputs` gives in the syntax of --input;
    without `results` those of the CPU are expected."""
    name: str
    group: str
    text: str
    arguments: list = None
    results: list = None
    compile_options: list = dataclasses.field(default_factory=list)
    run_options: list = dataclasses.field(default_factory=list)
    inputs: dict = dataclasses.field(default_factory=dict)
    extension: str = "spmd"  # Of the file with the text.
    other_text: str = None  # The program on another mesh, which should have the same results but for rounding.
    optional: bool = False  # If it does not compile, the report does not mention it.


def number(value):
    return float(value) if isinstance(value, str) else value


def jax_value(value):
    return Value(value["dtype"], value["shape"], [number(element) for element in value["values"]])


def one_device(text):
    """The program on a mesh of the same axes, each of size 1."""
    return re.sub(r"^mesh (\w+)\((.*)\)", lambda match: f"mesh {match[1]}({re.sub('=[0-9]+', '=1', match[2])})", text,
                  count=1, flags=re.M)


def case_results(test):
    # A unit is 16 units in the last place of 1, as in tests/programs/jax/cases/oracle.py.
    tolerance = {"of_largest": test.get("absolute", 0.0), "signed_zeros": not test.get("absolute")}
    for result in test["results"]:
        value = jax_value(result)
        unit = 16 * arrays.ROUNDOFF[value.dtype] if value.dtype in ("f64", "f32") else 2 * arrays.ROUNDOFF.get(value.dtype, 0)
        value.tolerance = {"relative": test.get("ulps", 0.0) * unit, **tolerance}
        value.label = test["name"]
        yield value


def case_program(group, run, cases, name):
    parameters = ", ".join(
        f"{p['name']}: {p['dtype']}[{', '.join(str(n) + mark for n, mark in zip(p['shape'], run['marks'][p['name']]))}]"
        for p in group["parameters"])
    results = ",\n    ".join(f"({test['text']})" for test in cases)
    text = f"mesh m({run['mesh']})\n{group['declare']}\nfn main({parameters}) {{\n  return ({results});\n}}\n"
    return Program(name, "", text, [jax_value(p) for p in group["parameters"]],
                   [value for test in cases for value in case_results(test)])


def jax_cases(on_one_device):
    """Each operation with JAX's values, several expressions a program."""
    size = CASES_ON_ONE_DEVICE if on_one_device else CASES_ON_MESHES
    for file in sorted((ROOT / "tests/programs/jax/cases").glob("*.json")):
        for group in json.loads(file.read_text()):
            run = group["meshes"][0]
            for begin in range(0, len(group["cases"]), size):
                name = f"{file.stem}-{group['group']}-{begin // size}{'' if on_one_device else '-mesh'}"
                program = case_program(group, run, group["cases"][begin:begin + size], name)
                program.group = f"JAX's operations, {'one device' if on_one_device else 'meshes'}"
                program.text = one_device(program.text) if on_one_device else program.text
                yield program


def jax_programs(on_one_device):
    """Complete programs with JAX's values: control, gradients, indexing, shard_map."""
    seen = set()
    for file in sorted((ROOT / "tests/programs/jax").glob("*.json")):
        for test in json.loads(file.read_text()):
            text = one_device(test["program"]) if on_one_device else test["program"]
            # The results of shard_map depend on the mesh. The file has other programs once for each mesh.
            if on_one_device and ("shard_map" in text or text in seen):
                continue
            seen.add(text)
            results = [jax_value(result) for result in test["results"]]
            for result in results:
                result.tolerance = {"of_largest": test["tolerance"]}
            yield Program(f"{file.stem}-{test['name']}{'-one' if on_one_device else ''}",
                          f"JAX's programs, {'one device' if on_one_device else 'meshes'}", text,
                          [jax_value(argument) for argument in test["arguments"]], results)


def exported_programs():
    """Programs that JAX exported, with JAX's values: every element type, complex numbers, linear algebra, any mesh."""
    for path in sorted((ROOT / "tests/frontend/stablehlo/data").glob("*.mlir")):
        test = json.loads(path.with_suffix(".json").read_text())
        results = [jax_value(result) for result in test["results"]]
        for result in results:
            result.tolerance = {"of_largest": test["tolerance"]}
        yield Program(f"exported-{path.stem}", "exported by JAX", path.read_text(),
                      [jax_value(argument) for argument in test["arguments"]], results, extension="mlir")


def random_tolerance(result):
    tolerance = {"absolute": result["error"]} if not result["exact"] else {}
    if result.get("sum_error", -1) >= 0:
        tolerance["sum"] = [result["sum_error"], result["relative"]]
    return tolerance


def random_programs(fuzzer, count, seed, devices, scratch):
    """Programs of spmd-fuzz with the global evaluator's values and the error that each value may have."""
    file = scratch / f"random-{devices}.jsonl"
    subprocess.run([fuzzer, "--seed", str(seed), "--count", str(count), "--mode", "text", "--max-devices", str(devices),
                    "--export-all", file], check=True, stdout=subprocess.DEVNULL)
    for line in file.read_text().splitlines():
        test = json.loads(line)
        value = lambda v: Value(v["dtype"], v["shape"], v["elements"])  # noqa: E731
        results = [value(result) for result in test["results"]]
        for result, given in zip(results, test["results"]):
            result.tolerance, result.label = random_tolerance(given), given["name"]
        yield Program(f"seed-{test['seed']}-{devices}", f"random, {'one device' if devices == 1 else 'meshes'}",
                      test["text"], [value(argument) for argument in test["arguments"]], results)


def example_options(path):
    """The options of the command that the example's first comment names and of its run lines, as (compile, run, inputs)."""
    comment = []
    for line in path.read_text().split("\n"):
        if not line.startswith("//"):
            break
        comment.append(line[2:].strip())
    text = "\n".join(comment)
    command = re.search(rf"spmdc run examples/{re.escape(path.name)}((?:\\\n|.)*)", text)
    words = shlex.split(command[1].replace("\\\n", " ")) if command else []
    words += [word for line in comment if line.startswith("run: ") for word in line.removeprefix("run: ").split()]
    options = {}
    for name, value in zip(words, words[1:] + ["--"]):
        if name.startswith("--"):
            name, _, joined = name.partition("=")
            options.setdefault(name, []).append(joined or value)
    compile_options = [word for name in ("--set", "--fn", "--mesh") for value in options.get(name, [])
                       for word in (name, value)]
    run_options = [word for name in ("--carry", "--shuffle", "--last-batch") for value in options.get(name, [])
                   for word in (name, value)]
    if "--steps" in options:
        run_options += ["--steps", str(min(int(options["--steps"][0]), TRAINING_STEPS))]
    inputs = dict(value.split("=", 1) for value in options.get("--input", []))
    for name, value in inputs.items():
        if value.endswith(".npy"):  # Relative to the program, as in every run line.
            inputs[name] = str((path.parent / value).relative_to(ROOT))
    return compile_options, run_options, inputs


def examples(on_one_device):
    for path in sorted((ROOT / "examples").glob("*.spmd")):
        compile_options, run_options, inputs = example_options(path)
        text = path.read_text()
        texts = (one_device(text), text) if on_one_device else (text, one_device(text))
        yield Program(f"{path.stem}{'-one' if on_one_device else ''}", f"examples, {'one device' if on_one_device else 'meshes'}",
                      texts[0], compile_options=compile_options, run_options=run_options, inputs=inputs, other_text=texts[1])


def attention(name, batch, queries, keys, features, width):
    """A program with attention, and with the gradients of causal attention. Many batches are multiples of one, and it
    returns their sums, so that the folder has few elements."""
    arrays = [f"bf16[1, 1, {rows}, {columns}]"
              for rows, columns in ((queries, features), (keys, features), (keys, width), (queries, width))]
    return Program(f"attention-{name}", "attention", f"""
fn loss(q, k, v, w) {{ return sum(cast(attention(q, k, v, causal=true) * w, f32)); }}
fn all(x, s) {{ return {"x * s" if batch > 1 else "x"}; }}
fn result(x) {{ return {"sum(cast(x, f32), axis=0)" if batch > 1 else "x"}; }}
fn main(q: {arrays[0]}, k: {arrays[1]}, v: {arrays[2]}, w: {arrays[3]}, s: bf16[{batch}, 1, 1, 1]) {{
  let (total, gradients) = value_and_grad(loss, wrt=(0, 1, 2))(all(q, s), all(k, s), all(v, s), all(w, s));
  return (result(gradients[0]), result(gradients[1]), result(gradients[2]), result(attention(all(q, s), all(k, s), all(v, s))));
}}
""")


def attentions():
    """Attention and its gradients with heads of all widths: the layouts of matrix units depend on them. Many batches have
    blocks of two warpgroups, which share tiles; of many keys, causal queries see none of some tiles."""
    for features in (16, 24, 32, 48, 64, 80, 96, 112, 128, 160, 192, 256):
        for time in (64, 136):
            yield attention(f"{features}x{time}", 1, time, time, features, features)
    for features, width in ((16, 24), (64, 64), (80, 80), (128, 128)):
        yield attention(f"two-groups-{features}x{width}", 66, 140, 260, features, width)
    for features in (16, 64):
        yield attention(f"unseen-keys-{features}", 1, 140, 700, features, features)


LONG_ROWS = {
    "softmax": "fn main(x: f32[3, 40000]) { return softmax(x); }",
    "softmax-in-shared-memory": "fn main(x: f32[1, 150000]) { return softmax(x); }",
    "layer-norm": "fn main(x: bf16[1, 70000], s: bf16[70000], b: bf16[70000]) { return layer_norm(x, s, b); }",
    "cumsum-rows": "fn main(x: f32[2, 70001]) { return cumsum(x, axis=1); }",
    "cumsum-groups": """
fn main(x: i32[4000], y: i32[1000]) {
  let sums = cumsum(reshape(x[:, None] * y[None, :], [4000000]));
  return sum(reshape(sums, [4000, 1000]), axis=0);
}
""",
    "cumsum-backward": "fn main(x: i32[150000]) { return cumsum(x, reverse=true); }",
    "cummax": "fn main(x: bf16[1, 70000]) { return cummax(x, axis=1); }",
}


def long_rows():
    """Rows that the blocks of a cluster share, and scans whose blocks wait for each other, some in several groups."""
    for name, text in LONG_ROWS.items():
        yield Program(f"long-{name}", "long rows", text)


# Steps of loops and branches that are CUDA graphs with conditional nodes: kernels in clusters, kernels with memory that is
# cleared before a launch, products by cuBLASLt, kernels that request shared memory.
LOOPS = {
    "softmax": ("y: f32[1, 40000]", "softmax(y) * 100.0 + y * 0.5"),
    "scan": ("y: f32[70000]", "cumsum(y) * 0.001 + y * 0.5"),
    "product": ("y: bf16[136, 128], w: bf16[128, 128], b: bf16[128]", "gelu(y @ w * 0.1 + b)"),
    "attention": ("y: bf16[1, 1, 136, 64]", "attention(y, y, y, causal=true)"),
    "sort": ("y: f32[30000]", "sort(y * -0.5)"),
}


def loops():
    """Loops and branches that a GPU decides itself, around each kind of step."""
    for name, (parameters, step) in LOOPS.items():
        yield Program(f"loop-{name}", "loops", f"""
fn main({parameters}, n: i32[4]) {{
  let last = minimum(maximum(n[0], 2), 5);
  let (z, _i) = while i < last carry (y = y, i = 0) {{
    yield (if i % 2 == 0 {{ {step} }} else {{ y + y }}, i + 1);
  }};
  return z;
}}
""")


def files():
    """The functions of other .spmd files with types for all parameters, so that they can be entries."""
    for folder in ("tests/passes", "tests/tools/Inputs", "benchmarks"):
        for path in sorted((ROOT / folder).rglob("*.spmd")):
            if path.parent == ROOT / "benchmarks/gpu":
                continue
            text = path.read_text(errors="replace")
            for entry in re.findall(r"^fn (\w+)\((?=\w+:|\))", text, re.M):
                yield Program(f"{path.stem}-{entry}", "other files, meshes", text, compile_options=["--fn", entry],
                              other_text=one_device(text), optional=True)


def corpus():
    """The texts of libFuzzer's corpus that compile."""
    for path in sorted((ROOT / "tests/frontend/corpus").iterdir()):
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        if "fn main" in text and "while" not in text:
            yield Program(f"corpus-{path.name[:12]}", "corpus", text, other_text=one_device(text), optional=True)


def all_programs(fuzzer, scratch, count):
    """All programs, in the order in which they run, with `count` random ones; none of these without a fuzzer."""
    yield from examples(True)
    yield from attentions()
    yield from long_rows()
    yield from loops()
    yield from exported_programs()
    yield from jax_cases(True)
    if fuzzer:
        yield from random_programs(fuzzer, count * 3 // 5, 1, 1, scratch)
    yield from jax_programs(True)
    yield from examples(False)
    yield from jax_programs(False)
    if fuzzer:
        yield from random_programs(fuzzer, count - count * 3 // 5, 10001, 8, scratch)
    yield from files()
    yield from jax_cases(False)
    yield from corpus()
