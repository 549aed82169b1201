"""Creation of arrays, and operations that move elements."""

import math

from reference.cases import DTYPES, FLOATS, INTS, NAMES, array, case, numbers, text, wrap

import jax.numpy as jnp
import numpy as np
from jax import lax


# ---- Creation -----------------------------------------------------------------------------------------------------

for dtype, literal, value in [
        ("f32", "dense<[1.5, -0.0]> : tensor<2xf32>", [1.5, -0.0]), ("bf16", "dense<0.1> : tensor<2xbf16>", [0.1, 0.1]),
        ("i32", "dense<[-7, 2147483647]> : tensor<2xi32>", [-7, 2147483647]),
        ("u32", "dense<[0, 4294967295]> : tensor<2xui32>", [0, 4294967295]),
        ("bool", "dense<[true, false]> : tensor<2xi1>", [True, False]),
        ("f64", "dense<[0x7FF0000000000000, 1.0e-300]> : tensor<2xf64>", [math.inf, 1e-300])]:
    x = array(value, dtype)
    case("constant", dtype, f"{literal} -> {text(x)}", [], x)
for dtype in FLOATS + INTS:
    want = np.arange(6)[None, :].repeat(2, 0)
    case("iota", f"{dtype}_columns", f"dim 1 : <{dtype}[2, 6]>", [], array(want, dtype),
         jax_result=lax.broadcasted_iota(DTYPES[dtype], (2, 6), 1))
case("iota", "bf16_rounds", "dim 0 : <bf16[600]>", [], array(np.arange(600), "bf16"),
     jax_result=lax.broadcasted_iota(DTYPES["bf16"], (600,), 0))
case("iota", "i8_wraps", "dim 0 : <i8[300]>", [], wrap(list(range(300)), "i8"))
case("iota", "empty", "dim 1 : <f32[3, 0]>", [], np.zeros((3, 0), np.float32))

# ---- Shape --------------------------------------------------------------------------------------------------------

def broadcast(name, x, dims, shape):
    case("broadcast_in_dim", name, f"%0 dims {list(dims)} : {text(x)} -> <{NAMES[x.dtype]}{list(shape)}>", [x],
         np.asarray(lax.broadcast_in_dim(x, shape, dims)),
         jax_result=np.broadcast_to(x.reshape([x.shape[dims.index(d)] if d in dims else 1 for d in range(len(shape))]),
                                    shape))


broadcast("scalar", numbers(), (), (2, 3))
broadcast("rows", numbers(3), (1,), (2, 3))
broadcast("columns", numbers(3), (0,), (3, 2))
broadcast("ones", numbers(3, 1, 2), (0, 1, 2), (3, 4, 2))
broadcast("middle", numbers(2, 3), (0, 2), (2, 5, 3))
broadcast("bool", np.array([True, False]), (0,), (2, 2))
broadcast("to_empty", numbers(1, 3), (0, 1), (0, 3))

for name, source, target in [("split", (6,), (2, 3)), ("merge", (2, 3), (6,)), ("mixed", (4, 6), (3, 8)),
                             ("ones", (3, 1), (1, 3, 1)), ("empty", (0, 4), (2, 0)), ("to_scalar", (1, 1), ())]:
    x = numbers(*source)
    case("reshape", name, f"%0 : {text(x)} -> <f32{list(target)}>", [x], x.reshape(target),
         jax_result=jnp.reshape(x, target))

for name, shape, perm in [("matrix", (2, 3), (1, 0)), ("rotate", (2, 3, 4), (1, 2, 0)), ("same", (2, 3), (0, 1)),
                          ("scalar", (), ()), ("empty", (0, 3), (1, 0))]:
    x = numbers(*shape)
    want = x.transpose(perm)
    case("transpose", name, f"%0 perm {list(perm)} : {text(x)} -> {text(want)}", [x], want,
         jax_result=lax.transpose(x, perm))

for name, shape, starts, limits, steps in [
        ("middle", (5, 4), (1, 1), (4, 3), (1, 1)), ("strided", (7,), (1,), (7,), (3,)),
        ("all", (2, 3), (0, 0), (2, 3), (1, 1)), ("empty", (4, 3), (2, 0), (2, 3), (1, 1)),
        ("stride_past_end", (5,), (0,), (5,), (4,))]:
    x = numbers(*shape)
    want = x[tuple(slice(*s) for s in zip(starts, limits, steps))]
    case("slice", name, f"%0 {list(starts)} to {list(limits)} step {list(steps)} : {text(x)} -> {text(want)}", [x],
         want, jax_result=lax.slice(x, starts, limits, steps))

for name, shape, low, high, interior in [
        ("around", (2, 3), (1, 2), (0, 1), (0, 0)), ("interior", (3,), (1,), (2,), (2,)),
        ("cut", (4, 4), (-1, 0), (-1, -2), (0, 0)), ("cut_and_spread", (4,), (-1,), (2,), (1,)),
        ("empty", (0, 2), (1, 0), (2, 0), (0, 0)), ("nothing", (2, 2), (0, 0), (0, 0), (0, 0)),
        ("cut_interior", (3,), (-2,), (-2,), (2,))]:
    x, value = numbers(*shape), array(-5.0, "f32")
    spread = np.full([s + max(s - 1, 0) * i for s, i in zip(shape, interior)], value)
    spread[tuple(slice(None, None, i + 1) for i in interior)] = x
    want = np.pad(spread, [(max(l, 0), max(h, 0)) for l, h in zip(low, high)], constant_values=value)
    want = want[tuple(slice(max(-l, 0), want.shape[d] - max(-h, 0)) for d, (l, h) in enumerate(zip(low, high)))]
    case("pad", name, f"%0 with %1 low {list(low)} high {list(high)} interior {list(interior)} : {text(x)}, "
         f"{text(value)} -> {text(want)}", [x, value], want,
         jax_result=lax.pad(x, value, list(zip(low, high, interior))))

for name, shapes, dim in [("rows", [(2, 3), (1, 3)], 0), ("columns", [(2, 1), (2, 3), (2, 2)], 1),
                          ("one", [(2,)], 0), ("empty", [(2, 3), (0, 3)], 0)]:
    parts = [numbers(*shape) + 10 * i for i, shape in enumerate(shapes)]
    parts = [array(part, "f32") for part in parts]
    want = np.concatenate(parts, dim)
    operands = ", ".join(f"%{i}" for i in range(len(parts)))
    types = ", ".join(f"!spmd.array{text(part)}" for part in parts)
    case("concatenate", name, f"{operands} dim {dim} : {types} -> !spmd.array{text(want)}", parts, want,
         jax_result=lax.concatenate(parts, dim))

for name, shape, dims in [("rows", (3, 2), (0,)), ("both", (3, 2), (0, 1)), ("none", (3,), ()), ("empty", (0, 2), (0,))]:
    x = numbers(*shape)
    case("reverse", name, f"%0 dims {list(dims)} : {text(x)} -> {text(x)}", [x], np.flip(x, dims),
         jax_result=lax.rev(x, dims))
