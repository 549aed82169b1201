"""JAX's side of `tools/bench`: exports programs, or runs one as a process of a job.

    peer.py list
    peer.py export FOLDER DEVICES PROGRAM...
    peer.py run PROGRAM PROCESS PROCESSES DEVICES [HOST:]PORT CALLS

`list` prints the group of each program. `export` writes PROGRAM.mlir for a mesh of DEVICES devices, and its arguments that are not
plain normal numbers, and prints the floating-point operations of each program's products, and the bytes of its arguments and results. `run` prints a line of JSON: the
microseconds of each call, which ends when all of this process's shards are ready, after two calls to warm up; the time to compile;
the time from the start of the process to the first result; the bytes of arguments, results and intermediates on a device. Before each call the processes meet (not timed), so that they compute
at the same time, as those of spmdc do. HOST is the host of process 0; without it, this machine. With it, data goes over the
interface eth0.
"""

import json
import math
import os
import pathlib
import sys
import time

START = time.perf_counter()
os.environ["JAX_PLATFORMS"] = "cpu"
import jax  # noqa: E402
import numpy as np  # noqa: E402
from jax.extend.core import jaxprs_in_params  # noqa: E402
from jax.sharding import NamedSharding, PartitionSpec as P  # noqa: E402


def load(name):
    import programs
    return programs.PROGRAMS[name], lambda x: isinstance(x, programs.Argument)


def make_mesh(devices):
    return jax.make_mesh((devices,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))


def shape_of(argument, devices):
    return tuple(devices if size == "d" else size for size in argument.shape)


def values_of(argument, devices, seed):
    shape, generator = shape_of(argument, devices), np.random.default_rng(seed)
    if argument.below:
        return generator.integers(0, argument.below, shape, dtype=argument.dtype)
    if argument.dtype.startswith("complex"):
        return generator.standard_normal((*shape, 2)).view(np.complex128)[..., 0].astype(argument.dtype)
    values = generator.standard_normal(shape, dtype=np.float32) * np.float32(argument.scale)
    return values.astype(jax.numpy.dtype(argument.dtype))


def jit(program, is_argument, mesh):
    place = lambda tree, of: jax.tree.map(of, tree, is_leaf=lambda x: is_argument(x) or isinstance(x, P))  # noqa: E731
    return jax.jit(program.function, keep_unused=True,
                   in_shardings=tuple(place(program.arguments, lambda a: NamedSharding(mesh, a.spec))),
                   out_shardings=place(program.result, lambda spec: NamedSharding(mesh, spec)))


def count_flops(jaxpr):
    """Of products and convolutions, in loops as often as they run."""
    total = 0
    for equation in jaxpr.eqns:
        name, parameters = equation.primitive.name, equation.params
        out = math.prod(equation.outvars[0].aval.shape) if equation.outvars else 0
        if name == "dot_general":
            (contracted, _), _ = parameters["dimension_numbers"]
            total += 2 * out * math.prod(equation.invars[0].aval.shape[dim] for dim in contracted)
        elif name == "conv_general_dilated":
            kernel = parameters["dimension_numbers"].rhs_spec
            shape = equation.invars[1].aval.shape
            total += 2 * out * math.prod(shape[dim] for dim in kernel[1:])
        inner = sum(count_flops(sub) for sub in jaxprs_in_params(parameters))
        total += inner * parameters.get("length", 1)
    return total


def export(folder, devices, names):
    jax.config.update("jax_num_cpu_devices", devices)
    mesh = make_mesh(devices)
    work = {}
    for name in names:
        program, is_argument = load(name)
        shapes = jax.tree.map(lambda a: jax.ShapeDtypeStruct(shape_of(a, devices), a.dtype), program.arguments,
                              is_leaf=is_argument)
        traced = jit(program, is_argument, mesh).trace(*shapes)
        (folder / f"{name}.mlir").write_text(traced.lower().as_text())
        arrays = [*jax.tree.leaves(shapes), *jax.tree.leaves(traced.out_info)]
        work[name] = {"flops": count_flops(traced.jaxpr.jaxpr),
                      "bytes": sum(math.prod(a.shape) * jax.numpy.dtype(a.dtype).itemsize for a in arrays)}
        for number, argument in enumerate(jax.tree.leaves(program.arguments, is_leaf=is_argument)):
            if argument.below or argument.scale != 1.0 or argument.dtype.startswith("complex"):
                np.save(folder / f"{name}.{number}.npy", values_of(argument, devices, number))
    print(json.dumps(work))


def run(name, process, processes, devices, address, calls):
    host, _, port = address.rpartition(":")
    jax.config.update("jax_num_cpu_devices", devices)
    if processes > 1:
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        if host:
            import jaxlib._jax
            make = jaxlib._jax.make_gloo_tcp_collectives
            jaxlib._jax.make_gloo_tcp_collectives = lambda **options: make(**options, interface="eth0")
        jax.distributed.initialize(f"{host or '127.0.0.1'}:{port}", processes, process)
    count = processes * devices
    mesh = make_mesh(count)
    program, is_argument = load(name)
    leaves, tree = jax.tree.flatten(program.arguments, is_leaf=is_argument)

    def put(argument, seed):
        values = values_of(argument, count, seed)
        return jax.make_array_from_callback(values.shape, NamedSharding(mesh, argument.spec), lambda index: values[index])

    arguments = jax.tree.unflatten(tree, [put(argument, number) for number, argument in enumerate(leaves)])
    began = time.perf_counter()
    compiled = jit(program, is_argument, mesh).lower(*arguments).compile()
    compile_ms = (time.perf_counter() - began) * 1e3
    jax.block_until_ready(compiled(*arguments))
    first_ms = (time.perf_counter() - START) * 1e3
    jax.block_until_ready(compiled(*arguments))
    meet = jax.jit(lambda x: x.sum(), out_shardings=NamedSharding(mesh, P()))
    ones = np.ones(count, np.float32)
    everyone = jax.make_array_from_callback((count,), NamedSharding(mesh, P("d")), lambda index: ones[index])
    times = []
    for _ in range(calls):
        if processes > 1:
            meet(everyone).block_until_ready()
        began = time.perf_counter()
        jax.block_until_ready(compiled(*arguments))
        times.append((time.perf_counter() - began) * 1e6)
    use = compiled.memory_analysis()  # Of one device.
    memory = use.argument_size_in_bytes + use.output_size_in_bytes + use.temp_size_in_bytes - use.alias_size_in_bytes
    print(json.dumps({"times_us": times, "compile_ms": compile_ms, "first_result_ms": first_ms, "memory_bytes": memory}))


if __name__ == "__main__":
    if sys.argv[1] == "list":
        import programs
        print(json.dumps({name: program.group for name, program in programs.PROGRAMS.items()}))
    elif sys.argv[1] == "export":
        export(pathlib.Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
    else:
        run(sys.argv[2], *map(int, sys.argv[3:6]), sys.argv[6], int(sys.argv[7]))
