"""Shapes, slices, windows, sorts, indices."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from cases import P, both, case, integers, normal

x = normal(6, 5)
case("shapes", lambda x: (x.T, x.reshape(5, 6), x[::-1], x[1:5:2, ::2], jnp.flip(x), x[:, None, :], jnp.tile(x, (2, 3)),
                          jnp.repeat(x, 2, axis=1)), x)
case("joins", lambda x, y: (jnp.concatenate([x, y], 1), jnp.stack([x, x]), jnp.pad(x, ((1, 2), (0, 1))), jnp.roll(x, 2, 0),
                            jnp.pad(x, 2, mode="edge"), lax.pad(x, 0.5, ((1, 0, 1), (-1, 2, 0)))), x, normal(6, 2))
case("creation", lambda x: (x + jnp.arange(5), jnp.eye(4), jnp.triu(x), jnp.tril(x), jnp.linspace(0, 1, 7), jnp.zeros((2, 3)),
                            lax.broadcasted_iota(jnp.int32, (3, 4), 1)), x)
case("reductions", lambda x: (x.sum(), x.sum(0), x.mean(1), x.max(1), x.min(), x.prod(0), x.var(1), jnp.linalg.norm(x),
                              jnp.any(x > 1), jnp.all(x > -9, axis=0), jax.nn.logsumexp(x, 1)), x, tolerance=4e-6)
case("arg_reductions", lambda x, i: (x.argmax(1), x.argmin(0), jnp.argmax(x), jnp.argmax(i, 1), jnp.nanargmax(x, 1), lax.argmax(i, 0, jnp.int32)),
     np.where(integers(0, 9, 6, 5) == 0, np.nan, x).astype(np.float32), integers(0, 4, 6, 5))
case("several_reductions", lambda x, y: lax.reduce((x, y), (np.float32(0), np.float32(-np.inf)),
                                                   lambda a, b: (a[0] + b[0], jnp.maximum(a[1], b[1])), (1,)), x, normal(6, 5))
case("prefixes", lambda x: (jnp.cumsum(x, 0), jnp.cumprod(x, 1), lax.cummax(x, 0), lax.cummin(x, 1, reverse=True),
                            lax.cumsum(x, 0, reverse=True), jnp.diff(x)), x)
case("products", lambda x, y: (x @ y, jnp.einsum("ij,kj->ik", x, x), jnp.tensordot(x, y, 1), jnp.outer(x[0], y[0]),
                               jnp.vdot(x[0], x[1]), x[0] @ y, jnp.matmul(x, y, precision="highest")), x, normal(5, 7), tolerance=4e-6)
case("batched_products", lambda x, y: (jnp.einsum("bij,bjk->bik", x, y), jnp.einsum("bij,bjk->kbi", x, y), x @ y,
                                       jax.vmap(jnp.dot)(x[:, 0], y[:, :, 0])), normal(3, 4, 5), normal(3, 5, 6), tolerance=4e-6)

image, kernel = normal(2, 9, 8, 4), normal(3, 3, 4, 6)
layout = ("NHWC", "HWIO", "NHWC")
case("convolutions", lambda x, w: (
    lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=layout),
    lax.conv_general_dilated(x, w, (2, 1), "VALID", dimension_numbers=layout),
    lax.conv_general_dilated(x, w, (1, 1), ((2, 1), (0, 3)), rhs_dilation=(2, 1), dimension_numbers=layout),
    lax.conv_general_dilated(x, w, (1, 1), ((0, 0), (1, 2)), lhs_dilation=(1, 2), dimension_numbers=layout),
    lax.conv_general_dilated(x.transpose(0, 3, 1, 2), w.transpose(3, 2, 0, 1), (1, 2), "SAME")), image, kernel, tolerance=4e-6)
# Sums of slices, without a product of one column: padded, with steps, dilated, along channels that are sharded.
few = np.random.default_rng(20)
images_of_6, kernel_to_1 = (few.normal(size=shape).astype(np.float32) for shape in ((4, 5, 6, 6), (3, 2, 6, 1)))
both("convolutions_to_one_channel", lambda x, w: (
    lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=layout),
    lax.conv_general_dilated(x, w, (2, 1), ((1, 1), (0, 2)), lhs_dilation=(1, 2), dimension_numbers=layout),
    lax.conv_general_dilated(x, w, (1, 2), "VALID", rhs_dilation=(2, 1), dimension_numbers=layout),
    lax.conv_general_dilated(x.astype(jnp.bfloat16), w.astype(jnp.bfloat16), (1, 1), "SAME", dimension_numbers=layout),
    jax.grad(lambda x, w: jnp.sum(jnp.sin(lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=layout))),
             argnums=(0, 1))(x, w)), images_of_6, kernel_to_1, shardings=(P("a", None, None, "b"), P(None, None, "b")), tolerance=8e-6)
# Over arrays with zeros between their elements: phases without a tap, and beyond the array, results of other sizes than
# whole phases, and as many phases as there are elements.
phases = np.random.default_rng(21)
small = lambda *shape: phases.integers(-4, 5, shape).astype(np.float32)
both("dilated_convolutions", lambda x, w, v: (
    lax.conv_general_dilated(x, w, (1, 1), ((3, -1), (-4, 6)), lhs_dilation=(2, 3), dimension_numbers=layout),
    lax.conv_general_dilated(x, w[:1, :1], (1, 1), ((0, 1), (2, 0)), lhs_dilation=(2, 2), dimension_numbers=layout),
    lax.conv_general_dilated(x, w, (1, 2), ((2, 2), (9, 0)), lhs_dilation=(3, 1), rhs_dilation=(1, 2), dimension_numbers=layout),
    lax.conv_general_dilated(x, w, (1, 1), ((9, 7), (1, 1)), lhs_dilation=(4, 4), dimension_numbers=layout),
    lax.conv_general_dilated(x, v, (1, 1), ((1, 2), (3, 0)), lhs_dilation=(3, 2), feature_group_count=2, dimension_numbers=layout),
    lax.conv_general_dilated(x, w, (1, 1), ((1, 1), (1, 1)), lhs_dilation=(2, 2), batch_group_count=2, dimension_numbers=layout)),
    small(4, 6, 5, 4), small(3, 2, 4, 6), small(3, 4, 2, 4), shardings=(P("a", "b"), P(None, None, "b"), P()))
case("grouped_convolutions", lambda x, w, v: (
    lax.conv_general_dilated(x, w, (1, 1), "SAME", feature_group_count=2, dimension_numbers=layout),
    lax.conv_general_dilated(x, v, (1, 1), "VALID", feature_group_count=4, dimension_numbers=layout),
    lax.conv_general_dilated(x, normalized(w), (1, 1), "VALID", batch_group_count=2, dimension_numbers=layout)),
    image, normal(3, 3, 2, 6), normal(2, 2, 1, 8), tolerance=4e-6)


def normalized(w):
    return jnp.concatenate([w, -w], 2)


case("transposed_convolution", lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME", dimension_numbers=layout), image, kernel, tolerance=4e-6)
case("convolution_1d", lambda x, w: (jnp.convolve(x, w), lax.conv_general_dilated(x[None, None], w[None, None], (1,), "SAME")),
     normal(20), normal(5), tolerance=4e-6)
case("convolution_gradients", lambda x, w: jax.grad(lambda x, w: jnp.sum(jnp.tanh(
    lax.conv_general_dilated(x, w, (2, 1), "SAME", dimension_numbers=layout))), argnums=(0, 1))(x, w), image, kernel, tolerance=1e-5)


def gradients(convolution):
    return lambda x, w: jax.grad(lambda x, w: jnp.sum(jnp.sin(convolution(x, w))), argnums=(0, 1))(x, w)


case("grouped_convolution_gradients", lambda x, w, v: (
    gradients(lambda x, w: lax.conv_general_dilated(x, w, (1, 2), "SAME", feature_group_count=2, dimension_numbers=layout))(x, w),
    gradients(lambda x, v: lax.conv_general_dilated(x, v, (1, 1), "VALID", rhs_dilation=(2, 1), feature_group_count=4,
                                                    dimension_numbers=layout))(x, v),
    gradients(lambda x, v: lax.conv_general_dilated(x, v, (2, 1), "SAME", feature_group_count=4, dimension_numbers=layout))(x, v[..., :4]),
    gradients(lambda x, v: lax.conv_general_dilated(x.transpose(0, 3, 1, 2), v.transpose(3, 2, 0, 1), (1, 1), "SAME",
                                                    feature_group_count=4))(x, v[..., :4])),
    image, normal(3, 3, 2, 6), normal(2, 2, 1, 8), tolerance=1e-5)
# The gradient by the kernel has a kernel of 5,000 taps and a result of 7 places.
case("long_convolution_gradients", lambda w: gradients(
    lambda x, w: lax.conv_general_dilated(x, w, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC")))(
        jnp.sin(jnp.arange(5000.0).reshape(1, 5000, 1)), w)[1], normal(7, 1, 2), tolerance=1e-4)
case("depthwise_bf16", lambda x, v: lax.conv_general_dilated(x, v, (1, 1), "SAME", feature_group_count=4, dimension_numbers=layout),
     image.astype(jnp.bfloat16), normal(2, 2, 1, 4).astype(jnp.bfloat16), tolerance=1e-2)


def pool(x, init, op, window, strides, padding):
    return lax.reduce_window(x, init, op, window, strides, padding)


case("pooling", lambda x: (
    pool(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"), pool(x, 0.0, lax.add, (1, 3, 3, 1), (1, 2, 1, 1), "SAME"),
    pool(x, jnp.inf, lax.min, (1, 5, 1, 1), (1, 1, 1, 1), "SAME"), pool(x, 0.0, lax.add, (1, 4, 2, 1), (1, 4, 2, 1), "VALID"),
    lax.reduce_window(x, 0.0, lax.add, (1, 2, 3, 1), (1, 1, 1, 1), "VALID", window_dilation=(1, 2, 2, 1))), image)
case("pooling_gradients", lambda x: (
    jax.grad(lambda x: jnp.sum(pool(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") ** 2))(x),
    jax.grad(lambda x: jnp.sum(pool(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 1, 1), "SAME") ** 2))(x)), image)

case("sorts", lambda x, i: (jnp.sort(x), jnp.sort(x, 0), jnp.argsort(x), jnp.argsort(-x, 0), jnp.sort(i, descending=True), jnp.argsort(i)),
     np.where(integers(0, 9, 6, 5) == 0, np.nan, x).astype(np.float32), integers(-3, 4, 6, 5))
case("sorts_of_several", lambda x, i: (lax.sort((i, x), num_keys=1), lax.sort((i, x), num_keys=2), lax.sort((x, i), dimension=0)),
     x, integers(0, 3, 6, 5))
case("top", lambda x: (lax.top_k(x, 3), jnp.median(x), jnp.unique(jnp.round(x), size=8)), x)

i, j = integers(-6, 6, 7), integers(0, 5, 7)
case("gathers", lambda x, i, j: (x[i], x[:, j], x[i, j], jnp.take(x, i, 0, mode="clip"), jnp.take(x, i + 4, 0), x[i][:, 1:3],
                                 jnp.take_along_axis(x, jnp.abs(i[:6, None]) % 5, 1), x[2], x[jnp.array([1, 3])], x[i[:, None], j]), x, i, j)
case("gathers_of_windows", lambda x, i: (lax.dynamic_slice(x, (i[0], i[1]), (2, 3)), jax.vmap(lambda k: lax.dynamic_slice(x, (k, 1), (2, 3)))(i),
                                         jax.vmap(lambda row, k: row[k])(x, i[:6])), x, i)
case("scatters", lambda x, i, j: (x.at[i].add(1.5), x.at[i, j].add(2.0), x.at[:, j].add(x[:, j]), x.at[i].set(7.0), x.at[i, j].set(jnp.arange(7.0)),
                                  x.at[2].set(0), x.at[i].max(0.5), x.at[i].min(-0.1), x.at[1:3].set(4.0), x.at[i + 4].add(1.0)), x, i, j)
case("scatters_of_windows", lambda x, i: (lax.dynamic_update_slice(x, jnp.ones((2, 2)), (i[0], i[1])),
                                          jax.vmap(lambda row, k: row.at[k].set(9.0))(x, i[:6]), jnp.zeros(8).at[i].add(x[0, 0])), x, i)
case("counts", lambda i: (jnp.bincount(i, length=6), jax.nn.one_hot(i, 6), jnp.searchsorted(jnp.arange(5), i)), j)
case("index_gradients", lambda x, i: (jax.grad(lambda x: jnp.sum(x[i] ** 2))(x), jax.grad(lambda x: jnp.sum(jnp.sort(x, 0) * jnp.arange(5.0)))(x)), x, i)
