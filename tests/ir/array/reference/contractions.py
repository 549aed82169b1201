"""Products of arrays, summed exactly."""

import math

from reference.cases import FLOATS, INTS, NAMES, array, case, is_float, numbers, rng, rounded, text, wrap

import numpy as np
from jax import lax


def dot(name, x, y, contract, batch=((), ()), result=None, ulp=0):
    lhs, rhs = x.astype(object), y.astype(object)
    letters = iter("abcdefghijkl")
    left, right = [None] * x.ndim, [None] * y.ndim
    for l, r in list(zip(*batch)) + list(zip(*contract)):
        left[l] = right[r] = next(letters)
    left = [letter or next(letters) for letter in left]
    right = [letter or next(letters) for letter in right]
    out = [left[l] for l in batch[0]]
    out += [letter for d, letter in enumerate(left) if d not in batch[0] and d not in contract[0]]
    out += [letter for d, letter in enumerate(right) if d not in batch[1] and d not in contract[1]]
    signature = f"{''.join(left)},{''.join(right)}->{''.join(out)}"
    dtype = result or NAMES[x.dtype]
    if is_float(x.dtype):
        want = rounded(np.einsum(signature, x.astype(np.float64), y.astype(np.float64)), dtype)
    elif dtype == "bool":
        want = np.einsum(signature, x.astype(np.int64), y.astype(np.int64)) > 0
    else:
        want = wrap(np.einsum(signature, x.astype(np.int64), y.astype(np.int64)).astype(object), dtype)
    compare = None
    if result is None and dtype != "bool":
        compare = lax.dot_general(x, y, (contract, batch))
    case("dot_general", name, f"%0, %1 contract {list(contract[0])} x {list(contract[1])} batch {list(batch[0])} x "
         f"{list(batch[1])} : {text(x)}, {text(y)} -> {text(want)}", [x, y], want, ulp=ulp, jax_result=compare,
         jax_ulp=max(ulp, 1))


for dtype in FLOATS:
    x, y = array(rng.integers(-8, 8, (3, 5)), dtype), array(rng.integers(-8, 8, (5, 4)), dtype)
    dot(f"matrix_{dtype}", x, y, ((1,), (0,)))
# Divided by 32: products and sums of these are exact in every order, so that JAX's must be equal.
dot("matrix_fractions", array(rng.integers(-99, 99, (7, 33)) / 32, "f32"), array(rng.integers(-99, 99, (33, 5)) / 32, "f32"),
    ((1,), (0,)))
dot("transposed", numbers(5, 3), numbers(4, 5), ((0,), (1,)))
dot("batched", numbers(2, 3, 4), numbers(2, 4, 5), ((2,), (1,)), ((0,), (0,)))
dot("batch_inside", numbers(3, 2, 4), numbers(4, 5, 2), ((2,), (0,)), ((1,), (2,)))
dot("two_batches", numbers(2, 3, 4, 2), numbers(2, 3, 2, 5), ((3,), (2,)), ((0, 1), (0, 1)))
dot("two_contracted", numbers(2, 3, 4), numbers(4, 3, 5), ((1, 2), (1, 0)))
dot("inner", numbers(6), numbers(6), ((0,), (0,)))
dot("outer", numbers(2), numbers(3), ((), ()))
dot("matrix_vector", numbers(3, 4), numbers(4), ((1,), (0,)))
dot("contracts_nothing", np.zeros((2, 0), np.float32), np.zeros((0, 3), np.float32), ((1,), (0,)))
dot("empty_result", np.zeros((0, 3), np.float32), numbers(3, 2), ((1,), (0,)))
dot("bf16_to_f32", array(rng.integers(-8, 8, (3, 40)), "bf16"), array(rng.integers(-8, 8, (40, 2)), "bf16"),
    ((1,), (0,)), result="f32")
# 256 ones: a bf16 accumulator would stop at 256 as well, 300 would not pass it.
dot("bf16_accumulates_wide", array(np.ones((1, 300)), "bf16"), array(np.ones((300, 1)), "bf16"), ((1,), (0,)))
for dtype in INTS:
    dot(f"matrix_{dtype}", wrap(rng.integers(-100, 100, (3, 9)).astype(object), dtype),
        wrap(rng.integers(-100, 100, (9, 2)).astype(object), dtype), ((1,), (0,)))
dot("matrix_bool", rng.integers(0, 2, (3, 3)) > 0, rng.integers(0, 2, (3, 4)) > 0, ((1,), (0,)), result="bool")
with_nan = numbers(2, 2)
with_nan[0, 1] = math.nan
dot("nan", with_nan, np.array([[1, 0], [0, 1]], np.float32), ((1,), (0,)))
