"""Loads a program that `spmdc compile --emit=stablehlo` wrote as a function of arrays. Needs JAX 0.10.

    step = load("step.mlir")      # on the first devices of JAX, as many as the program's mesh has
    loss, weights = step(x, y)    # the parameters and results of `main`, in their order

JAX has no public function that compiles a text, so this uses its internal ones.
"""

import jax
import numpy as np
from jax._src import compiler, xla_bridge
from jax._src.interpreters import mlir
from jax._src.lib import xla_client
from jax._src.lib.mlir import ir
from jax._src.sharding_impls import GSPMDSharding


def load(path):
    with open(path) as file:
        return load_text(file.read())


def load_text(text):
    backend = xla_bridge.get_backend()
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        module.operation.verify()
        count = module.operation.attributes["mhlo.num_partitions"].value
        main = ir.SymbolTable(module.operation)["main"]
        shapes = [tuple(ir.RankedTensorType(result).shape) for result in main.type.results]
        devices = tuple(backend.devices()[:count])
        options = compiler.get_compile_options(num_replicas=1, num_partitions=count,
                                               device_assignment=np.arange(count).reshape(1, count))
        # An array of JAX has no uneven shards, so parameters and results without an annotation are replicated.
        options.executable_build_options.allow_spmd_sharding_propagation_to_parameters = [False]
        options.executable_build_options.allow_spmd_sharding_propagation_to_output = [False]
        program = backend.compile_and_load(module, xla_client.DeviceList(devices), options)

    def shardings(of, number):
        replicated = GSPMDSharding.get_replicated(devices)
        return [GSPMDSharding(devices, sharding) if sharding else replicated for sharding in of or [None] * number]

    def run(*arguments):
        placed = [jax.device_put(argument, sharding) for argument, sharding in
                  zip(arguments, shardings(program.get_parameter_shardings(), len(arguments)), strict=True)]
        parts = program.execute_sharded(placed).disassemble_into_single_device_arrays()
        return [jax.make_array_from_single_device_arrays(shape, sharding, arrays) for shape, sharding, arrays in
                zip(shapes, shardings(program.get_output_shardings(), len(shapes)), parts, strict=True)]

    return run
