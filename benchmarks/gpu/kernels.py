"""The functions of kernels.spmd that tools/gpu-check measures: order, least bytes, floating-point operations, small sizes.

The order is that of the table; if time runs out, the last rows are missing.
"""

import math
import re

KERNELS = """launch add_f32 add_bf16 tanh_exp gelu_bf16 softmax_1k softmax_4k softmax_32k softmax_128k layer_norm_4k row_sums
column_sums row_sums_narrow column_sums_narrow sum_all transpose_f32 transpose_bf16 product_bf16 product_gelu_bf16 product_i8
product_f32 mlp_step block_step attention_bf16 attention_full_bf16 attention_8k_bf16 attention_step_bf16 while_steps for_steps embedding
scatter_add_rows update_slice uniform_f32 cumsum_columns cumsum_vector
sort_vector argsort_vector""".split()

# Sizes with which a CPU runs each function in milliseconds.
SMALL = {"V": 4096, "N": 96, "ROWS_1K": 16, "ROWS_4K": 16, "COLUMNS_4K": 256, "ROWS_32K": 4, "COLUMNS_32K": 512, "ROWS_128K": 2,
         "COLUMNS_128K": 2048, "TALL": 512, "WORDS": 100, "WIDTH": 32, "TOKENS": 64, "SLOTS": 40, "UPDATES": 90, "SLOT": 16,
         "UPDATED": 8, "M": 64, "F": 64, "BATCH": 1, "HEADS": 2, "TIME": 32, "HEAD": 16, "BATCH_8K": 1, "TIME_8K": 64,
         "EXAMPLES": 64, "IN": 32, "HIDDEN": 64, "B": 2, "T": 16, "D": 32, "H": 2, "K": 16, "U": 64, "STATE": 32}

ELEMENT_BYTES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i64": 8, "i32": 4, "i16": 2, "i8": 1, "u64": 8, "u32": 4,
                 "u16": 2, "u8": 1, "bool": 1}


def constants(source):
    """The sizes that kernels.spmd declares."""
    return {name: int(value) for name, value in re.findall(r"const (\w+) = (\d+);", source)}


def flops(name, sizes):
    """Floating-point operations of the matrix products, by their type; empty if there are none.

    The count ignores a causal mask. A gradient has two products for each one of the forward pass, minus those of
    gradients that are not needed.
    """
    s = sizes
    if name in ("product_bf16", "product_gelu_bf16"):
        return {"bf16": 2 * s["M"] ** 3}
    if name == "product_i8":
        return {"i8": 2 * s["M"] ** 3}
    if name == "product_f32":
        return {"f32": 2 * s["F"] ** 3}
    forward = 4 * s["BATCH"] * s["HEADS"] * s["TIME"] ** 2 * s["HEAD"]
    if name in ("attention_bf16", "attention_full_bf16"):
        return {"bf16": forward}
    if name == "attention_8k_bf16":
        return {"bf16": 4 * s["BATCH_8K"] * s["HEADS"] * s["TIME_8K"] ** 2 * s["HEAD"]}
    if name == "attention_step_bf16":
        return {"bf16": 3 * forward}
    if name == "mlp_step":
        return {"bf16": 10 * s["EXAMPLES"] * s["IN"] * s["HIDDEN"]}
    if name == "block_step":
        weights = 4 * s["D"] * s["H"] * s["K"] + 2 * s["D"] * s["U"]
        return {"bf16": s["B"] * s["T"] * (6 * weights + 12 * s["T"] * s["H"] * s["K"])}
    return {}


def least_bytes(name, plan):
    """Each input read once, each result written once; from a lookup table only the rows taken."""
    def size(value):
        return math.prod(value["shape"]) * ELEMENT_BYTES[value["dtype"]]

    inputs = [size(parameter) for parameter in plan["params"]]
    results = sum(size(result) for result in plan["results"])
    if name == "embedding":
        inputs[0] = results
    return sum(inputs) + results


def index_limit(parameters):
    """Indices are below this: the rows of the first parameter. A scalar index is a small number."""
    return parameters[0]["shape"][0]


# Weights are normal numbers times these factors, about the inverse square root of the number of elements in a sum:
# otherwise every softmax is saturated, gradients are noise, and results cannot be compared.
SCALES = {"mlp_step": {"w1": 2.0 ** -5, "w2": 2.0 ** -6},
          "block_step": {"query": 2.0 ** -5, "key": 2.0 ** -5, "value": 2.0 ** -5, "out": 2.0 ** -5, "up": 2.0 ** -5,
                         "down": 2.0 ** -6}}


def scale(name, parameter):
    return SCALES.get(name, {}).get(parameter, 1.0)


# How far results may be from JAX's, as a share of the largest of JAX's elements. Sums of 16-bit products are rounded once
# each, and gradients go through a dozen of them (1.4% measured for block_step, small, on a CPU); the others are a few roundings
# of f32, thousands in running sums.
TOLERANCE = {"bf16": 3e-2, "f32": 2e-5, "i32": 0.0}
TOLERANCES = {"cumsum_vector": 1e-3, "cumsum_columns": 1e-4, "sum_all": 1e-4, "column_sums_narrow": 1e-4,
              "while_steps": 1e-4, "for_steps": 1e-4, "mlp_step": 5e-2, "block_step": 5e-2, "uniform_f32": 0.0, "sort_vector": 0.0,
              "transpose_f32": 0.0, "transpose_bf16": 0.0,
              "embedding": 0.0, "update_slice": 0.0, "add_f32": 0.0, "launch": 0.0}


def tolerance(name, dtype):
    return TOLERANCES.get(name, TOLERANCE.get(dtype, 0.0))
