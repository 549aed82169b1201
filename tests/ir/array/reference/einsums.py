"""Sums of products of several arrays, in NumPy's words."""

import math

from reference.cases import FLOATS, INTS, NAMES, array, case, is_float, rounded, text, wrap

import jax.numpy as jnp
import numpy as np

rng = np.random.default_rng(2)


def einsum(name, signature, *arrays, ulp=0, compare=True):
    inputs, output = signature.split("->")
    letters = sorted(set(inputs) - {","})
    lists = [[letters.index(letter) for letter in labels] for labels in inputs.split(",")]
    dtype = NAMES[arrays[0].dtype]
    if is_float(arrays[0].dtype):
        want = rounded(np.einsum(signature, *(x.astype(np.float64) for x in arrays)), dtype)
    else:
        want = wrap(np.einsum(signature, *(x.astype(np.int64) for x in arrays)).astype(object), dtype)
    types = ", ".join("!spmd.array" + text(x) for x in arrays)
    case("einsum", name, f"{', '.join(f'%{i}' for i in range(len(arrays)))} labels {lists} -> "
         f"{[letters.index(letter) for letter in output]} : {types} -> {text(want)}", list(arrays), want, ulp=ulp,
         jax_result=jnp.einsum(signature, *arrays) if compare else None, jax_ulp=max(ulp, 1))


def whole(*shape, dtype="f32"):
    """Small whole numbers: products and sums of them are exact, in every order. Without zeros: their sign is not."""
    return array(rng.integers(1, 5, shape) * rng.choice([-1, 1], shape[:1] + (1,) * len(shape[1:])), dtype)


for dtype in FLOATS:
    einsum(f"chain_{dtype}", "ij,jk,kl->il", whole(2, 3, dtype=dtype), whole(3, 2, dtype=dtype), whole(2, 4, dtype=dtype))
for dtype in INTS:
    einsum(f"chain_{dtype}", "ij,jk,kl->il", *(wrap(rng.integers(-100, 100, shape).astype(object), dtype)
                                               for shape in ((2, 3), (3, 2), (2, 2))))
einsum("transposed", "kx,ly,xyc->clk", whole(2, 3), whole(2, 4), whole(3, 4, 2))
einsum("label_of_three", "ij,ik,il->ijkl", whole(2, 3), whole(2, 2), whole(2, 4))
einsum("label_of_three_summed", "ij,ik,il->jkl", whole(3, 2), whole(3, 2), whole(3, 2))
einsum("elementwise", "ij,ij,ij->ij", whole(2, 3), whole(2, 3), whole(2, 3))
einsum("to_a_scalar", "i,ij,j->", whole(3), whole(3, 2), whole(2))
einsum("with_a_scalar", ",ij,j->i", whole(), whole(3, 2), whole(2))
einsum("outer", "i,j,k->kji", whole(2), whole(3), whole(2))
einsum("four", "ab,bc,cd,da->", whole(2, 3), whole(3, 2), whole(2, 3), whole(3, 2))
einsum("seven", "ab,bc,cd,de,ef,fg,gh->ah", *(whole(2, 2) for _ in range(7)))
einsum("two", "bij,bjk->bik", whole(2, 3, 2), whole(2, 2, 3))
einsum("size_one", "ij,jk,kl->il", whole(1, 3), whole(3, 1), whole(1, 1))
einsum("sums_nothing", "ij,jk,kl->il", np.zeros((2, 0), np.float32), np.zeros((0, 3), np.float32), whole(3, 2))
einsum("empty_result", "ij,jk,kl->il", np.zeros((0, 2), np.float32), whole(2, 3), whole(3, 2))
with_nan = whole(2, 2)
with_nan[0, 1] = math.nan
einsum("nan", "ij,jk,kl->il", with_nan, whole(2, 2), np.eye(2, dtype=np.float32))
