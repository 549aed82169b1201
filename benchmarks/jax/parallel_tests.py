"""Tests of StableHLO's interpreter that run several processes at once, as one program for a mesh of devices.

A test names a function for each process, by replica and partition: `programs=[[@f, @f], [@f, @f]]`. Where it is the same
function, the program here is a `sdy.manual_computation` over a mesh of replicas x partitions, as JAX's shard_map exports it,
and each argument and result has the processes' values one after the other. The groups of replicas and partitions become those
of device numbers, by the rules of the specification (cross_replica, cross_partition, cross_replica_and_partition,
flattened_ids).
"""

import dataclasses
import json
import re

CALL = re.compile(r'^ *(%\w+)(?::\d+)? = "interpreter\.run_parallel"\((.*?)\)\s*\{(.*?)\}\s*:.*?\)\s*->\s*(.*?)$', re.M | re.S)
EXPECTED = re.compile(r"^ *check\.expect_eq_const (%\w+(?:#\d+)?), dense<(.*?)> : (tensor<.*?>)$", re.M | re.S)
SIGNATURE = re.compile(r"func\.func @(\w+)\((.*?)\)\s*->\s*\(?(.*?)\)? \{\n", re.S)
COLLECTIVE = re.compile(r'"stablehlo\.(all_gather|all_reduce|all_to_all|collective_\w+|reduce_scatter)"')
TENSOR = re.compile(r"tensor<.*?>")
# With a channel these exchange between partitions alone.
OF_PARTITIONS = ("all_to_all", "collective_broadcast", "collective_permute")


@dataclasses.dataclass
class Parallel:
    text: str
    types: list  # Of the results, those of each process one after the other.
    expected: list  # The values of each result.
    devices: int


def groups_of(operation, text, replicas, partitions, groups):
    """Groups of device numbers for the numbers of the text."""
    def device(replica, partition):
        return replica * partitions + partition

    has_channel = (found := re.search(r"channel_handle<handle *= *(\d+)", text)) is not None and found[1] != "0"
    if not has_channel:
        return [[device(r, p) if r >= 0 else -1 for r in group] for p in range(partitions) for group in groups]
    if operation in OF_PARTITIONS:
        return [[device(r, p) if p >= 0 else -1 for p in group] for r in range(replicas) for group in groups]
    if "use_global_device_ids" in text:
        return groups
    return [[device(r, p) if r >= 0 else -1 for p in range(partitions) for r in group] for group in groups]


def translate_function(text, replicas, partitions):
    """The function with groups of devices, and the numbers of replica and partition from that of the device."""
    for operation in COLLECTIVE.findall(text)[:1]:
        def groups(match):
            made = groups_of(operation, text, replicas, partitions, json.loads(match[2]))
            return f"{match[1]} = dense<{json.dumps(made)}> : tensor<{len(made)}x{len(made[0])}xi64>"

        text = re.sub(r"(replica_groups|source_target_pairs) = dense<(.*?)> : tensor<.*?>", groups, text, flags=re.S)

    def number(match):
        operation = "divide" if match[2] == "replica" else "remainder"
        return (f"%device = stablehlo.partition_id : tensor<ui32>\n    %partitions = stablehlo.constant dense<{partitions}> : "
                f"tensor<ui32>\n    {match[1]} = stablehlo.{operation} %device, %partitions : tensor<ui32>")

    return re.sub(r"(%\w+) = stablehlo\.(replica|partition)_id : tensor<ui32>", number, text)


def with_dim(tensor, size):
    """The type with one more dimension in front."""
    return tensor.replace("<", f"<{size}x", 1)


def join(name, values, tensor):
    """Lines that put one array for each process after the other, and the type of the result."""
    one, lines = with_dim(tensor, 1), []
    for i, value in enumerate(values):
        lines.append(f"    {name}_{i} = stablehlo.reshape {value} : ({tensor}) -> {one}")
    parts = ", ".join(f"{name}_{i}" for i in range(len(values)))
    types = ", ".join([one] * len(values))
    joined = with_dim(tensor, len(values))
    lines.append(f'    {name} = "stablehlo.concatenate"({parts}) <{{dimension = 0 : i64}}> : ({types}) -> {joined}')
    return lines, joined


def sharding(tensor):
    """Of an array with the shards of all devices along an additional first dimension."""
    dims = ['{"replica", "partition"}'] + ["{}"] * tensor.count("x")
    return f"<@mesh, [{', '.join(dims)}]>"


def parallel_test(functions):
    """The program of a test with its functions (texts); None if its processes run different functions, or its check is not of
    all results."""
    mains = [f for f in functions if "interpreter.run_parallel" in f]
    if len(mains) != 1 or not (call := CALL.search(mains[0])) or "infeed" in call[3]:
        return None
    rows = [re.findall(r"@(\w+)", row) for row in re.findall(r"\[([^\[\]]+)\]", call[3])]
    names = {name for row in rows for name in row}
    replicas, partitions = len(rows), len(rows[0])
    devices = replicas * partitions
    checks = EXPECTED.findall(mains[0])
    if len(names) != 1 or any(len(row) != partitions for row in rows):
        return None
    function = next(f for f in functions if SIGNATURE.search(f)[1] in names)
    signature = SIGNATURE.search(function)
    inputs, outputs = TENSOR.findall(signature[2]), TENSOR.findall(signature[3])
    operands = re.findall(r"%\w+", call[2])
    if len(checks) != devices * len(outputs) or len(operands) != devices * len(inputs):
        return None

    values = {name: line for line, name in re.findall(r"^( *(%\w+) = stablehlo\.constant dense<.*?> : \S+)$", mains[0], re.M | re.S)}
    lines = [values[name] for name in dict.fromkeys(operands)]
    arguments, types = [], []
    for k, tensor in enumerate(inputs):
        made, joined = join(f"%input{k}", operands[k::len(inputs)], tensor)
        lines, arguments, types = lines + made, arguments + [f"%input{k}"], types + [joined]

    local_arguments = [f"%part{k}" for k in range(len(inputs))]
    shardings = [", ".join(sharding(tensor) for tensor in tensors) for tensors in (inputs, outputs)]
    parameters = ", ".join(f"%shard{k}: {with_dim(tensor, 1)}" for k, tensor in enumerate(inputs))
    results = [with_dim(tensor, devices) for tensor in outputs]
    lines.append(f"    %r:{len(outputs)} = sdy.manual_computation({', '.join(arguments)}) in_shardings=[{shardings[0]}] "
                 f'out_shardings=[{shardings[1]}] manual_axes={{"replica", "partition"}} ({parameters}) {{')
    for k, tensor in enumerate(inputs):
        lines.append(f"      %part{k} = stablehlo.reshape %shard{k} : ({with_dim(tensor, 1)}) -> {tensor}")
    lines.append(f"      %own:{len(outputs)} = func.call @{signature[1]}({', '.join(local_arguments)}) : ({', '.join(inputs)}) -> "
                 f"({', '.join(outputs)})")
    for k, tensor in enumerate(outputs):
        lines.append(f"      %out{k} = stablehlo.reshape %own#{k} : ({tensor}) -> {with_dim(tensor, 1)}")
    ones = ", ".join(with_dim(tensor, 1) for tensor in outputs)
    lines.append(f"      sdy.return {', '.join(f'%out{k}' for k in range(len(outputs)))} : {ones}")
    lines.append(f"    }} : ({', '.join(types)}) -> ({', '.join(results)})")
    lines.append(f"    func.return {', '.join(f'%r#{k}' for k in range(len(outputs)))} : {', '.join(results)}")
    helpers = [translate_function(f, replicas, partitions) for f in functions if f is not mains[0]]
    text = ("module attributes {mhlo.num_partitions = %d : i32, mhlo.num_replicas = 1 : i32} {\n" % devices +
            f'  sdy.mesh @mesh = <["replica"={replicas}, "partition"={partitions}]>\n'
            f"  func.func @main() -> ({', '.join(results)}) {{\n" + "\n".join(lines) + "\n  }\n" + "".join(helpers) + "}\n")
    expected = [[json.loads(value) for _, value, _ in checks[k::len(outputs)]] for k in range(len(outputs))]
    return Parallel(text, results, expected, devices)
