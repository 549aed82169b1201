"""Writes data/*: programs as JAX exports them, with arguments and JAX's results.

Run with JAX 0.10 in a virtual environment: python make_exported.py [--portable[=FOLDER]] [NAME ...]
NAME.mlir is `jax.jit(f).lower(...).as_text(debug_info=True)`; NAME.json has the arguments and results. A case with shardings
is exported for a mesh a=4, b=2 of eight devices of the CPU, on which JAX computes its results.
The programs are in programs/, a module for each kind; importing one adds its cases.
--portable writes jax.export's forms of the same programs instead: NAME.bin is `exp.serialize()` (which needs the package
flatbuffers), NAME.mlir `exp.mlir_module()`, and NAME.generic.mlir that text in MLIR's generic form. Without a folder, it
writes the sample of portable/data; SPMD_PORTABLE=FOLDER compares all programs of another one: portable-tests.
"""

import argparse
import contextlib
import importlib
import json
import os
import pathlib
import re
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
HERE = pathlib.Path(__file__).resolve().parent

import jax
import numpy as np
from jax import export
from jax._src.interpreters import mlir
from jaxlib.mlir import ir

import cases

DTYPES = {"float32": "f32", "float64": "f64", "bfloat16": "bf16", "float16": "f16", "int64": "i64", "int32": "i32",
          "int16": "i16", "int8": "i8", "uint64": "u64", "uint32": "u32", "uint16": "u16", "uint8": "u8", "bool": "bool"}


def encode(x):
    x = np.asarray(x)
    if np.iscomplexobj(x):  # The parts, as NumPy has them in memory.
        x = np.stack([x.real, x.imag], -1)
    if x.dtype.name.startswith(("float8", "float4")):  # The bytes.
        x = x.view(np.uint8)
    elif x.dtype.name in ("int4", "int2", "uint4", "uint2"):
        x = x.astype(np.uint8 if x.dtype.name.startswith("u") else np.int8)
    dtype = DTYPES[x.dtype.name]
    if dtype in ("f32", "f64", "bf16", "f16"):
        # The shortest text that rounds to the same number; NaN, infinities and -0 as text, which JSON does not have.
        def number(v):
            if np.isfinite(v) and (v != 0 or not np.signbit(v)):
                return float(str(v))
            return "-nan" if np.isnan(v) and np.signbit(v) else str(v)

        values = [number(v) for v in x.ravel()]
    else:
        values = [int(v) for v in x.ravel()]
    return {"dtype": dtype, "shape": list(x.shape), "values": values}


# One program of each kind, and the smallest ones with loops, regions and collectives.
SAMPLE = ["annotations", "bit_patterns", "branches", "cholesky_batched_sharded", "comparisons", "complex_constants",
          "convolutions", "creation", "errors", "fft_of_rows", "fori", "gather_windows", "half_types", "integers", "joins",
          "f8_cache", "int4_layer_sharded", "key_value_cache", "logic", "mlp_step_sharded", "narrow_constants", "narrow_reductions", "partial_sums", "partly_manual", "permutes", "pooling",
          "random_bits", "reduced_precision", "scatter_min", "sort_two_keys", "top", "two_axes", "welford", "while_loop"]
GENERIC = ["annotations", "convolutions", "half_types", "narrow_constants", "partly_manual", "top"]


def shorten_paths(text):
    """Places without the folders of the machine that exported."""
    return re.sub(r'loc\("/[^"]*/([^/"]+\.py)"', r'loc("\1"', text)


@contextlib.contextmanager
def context_of(case):
    with jax.enable_x64(case.wide), jax.set_mesh(case.mesh) if case.mesh else contextlib.nullcontext():
        yield


def write_portable(case, folder, has_generic):
    exported = export.export(jax.jit(case.function, **case.options))(*case.arguments)
    (folder / f"{case.name}.bin").write_bytes(exported.serialize())
    text = exported.mlir_module()
    (folder / f"{case.name}.mlir").write_text(text)
    if has_generic:
        with mlir.make_ir_context():
            generic = ir.Module.parse(text).operation.get_asm(print_generic_op_form=True, enable_debug_info=True)
        (folder / f"{case.name}.generic.mlir").write_text(generic)


def write_two_platforms():
    function = jax.jit(lambda x: jax.lax.platform_dependent(x, cpu=jax.numpy.sin, default=jax.numpy.cos))
    exported = export.export(function, platforms=["cpu", "cuda"])(np.ones((3, 4), np.float32))
    (HERE / "portable" / "two_platforms.bin").write_bytes(exported.serialize())


def main():
    for module in sorted((HERE / "programs").glob("*.py")):
        importlib.import_module(f"programs.{module.stem}")
    parser = argparse.ArgumentParser()
    parser.add_argument("--portable", nargs="?", const="", metavar="FOLDER")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    is_portable = arguments.portable is not None
    folder = pathlib.Path(arguments.portable or HERE / "portable" / "data")
    # The bytes hold the paths of files; text is shortened afterwards.
    if is_portable:
        jax.config.update("jax_hlo_source_file_canonicalization_regex", "^/.*/")
        folder.mkdir(parents=True, exist_ok=True)
    if arguments.portable == "":
        write_two_platforms()
    wanted = arguments.names or (SAMPLE if arguments.portable == "" else [])
    for case in cases.CASES:
        if wanted and case.name not in wanted:
            continue
        if is_portable:
            with context_of(case):
                write_portable(case, folder, has_generic=bool(arguments.portable) or case.name in GENERIC)
            print(case.name)
            continue
        jax.config.update("jax_use_shardy_partitioner", case.has_shardy)
        with context_of(case):
            jitted = jax.jit(case.function, **case.options)
            lowered = jitted.trace(*case.arguments).lower(lowering_platforms=(case.platform,))
            evaluated = jax.jit(case.function) if case.on_one_device else jitted
            results = jax.tree.leaves(evaluated(*case.arguments))
        (HERE / "data" / f"{case.name}.mlir").write_text(shorten_paths(lowered.as_text(debug_info=True)))
        (HERE / "data" / f"{case.name}.json").write_text(json.dumps({
            "arguments": [encode(x) for x in jax.tree.leaves(case.arguments)],
            "results": [encode(x) for x in results],
            "tolerance": case.tolerance}) + "\n")
        print(case.name)


if __name__ == "__main__":
    main()
