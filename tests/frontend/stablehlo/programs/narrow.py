"""Floats of 8 bits, and integers of 4 and 2 bits."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import PartitionSpec as S

from cases import MESH, P, both, case

rng = np.random.default_rng(23)  # Of its own, so that the other programs keep their arguments.
F8 = jnp.float8_e4m3fn
GRADIENT = jnp.float8_e5m2
FLOATS = {"e4m3fn": F8, "e5m2": GRADIENT, "e4m3": jnp.float8_e4m3, "e4m3fnuz": jnp.float8_e4m3fnuz,
          "e5m2fnuz": jnp.float8_e5m2fnuz, "e4m3b11fnuz": jnp.float8_e4m3b11fnuz}


def normal(*shape, dtype=np.float32):
    return rng.normal(size=shape).astype(dtype)


def integers(low, high, *shape, dtype=np.int32):
    return rng.integers(low, high, size=shape).astype(dtype)


def codes(dtype):
    return np.arange(256, dtype=np.uint8).view(dtype)


def edges(dtype):
    """All numbers, the middles between two of them, their neighbours, and what is too large or too small."""
    numbers = codes(dtype).astype(np.float64)
    numbers = np.unique(numbers[np.isfinite(numbers) & (numbers >= 0)])
    largest = numbers[-1]
    end = largest + (largest - numbers[-2])  # The next number, if there were one.
    middles = (numbers + np.append(numbers[1:], end)) / 2
    near = np.concatenate([middles * (1 + 2.0**-23), middles * (1 - 2.0**-23)])
    more = np.array([end, 2 * largest, 1e30, 1e-30, 1e-42, np.inf, np.nan])
    numbers = np.concatenate([numbers, middles, near, more]).astype(np.float32)
    return np.concatenate([numbers, -numbers])


# The number that a code is does not depend on the bits of NaN, which XLA's conversions of e5m2 choose by the other type.
for name, dtype in FLOATS.items():
    case(f"codes_{name}",
         lambda x: (x.astype(np.float64), x.astype(np.float32), x.astype(np.float16), x.astype(jnp.bfloat16), x.astype(np.int32),
                    x.astype(np.uint8), x.astype(np.bool_), jnp.isnan(x), lax.bitcast_convert_type(x, np.int8),
                    *(x.astype(t).astype(np.float32) for t in FLOATS.values())), codes(dtype), wide=True)
    case(f"rounding_{name}",
         lambda x, n, t=dtype: (x.astype(t).astype(np.float32), x.astype(np.float16).astype(t).astype(np.float32),
                                x.astype(jnp.bfloat16).astype(t).astype(np.float16), n.astype(t), (n > 3).astype(t),
                                (x.astype(np.float64) * (1 + 2.0**-40)).astype(t).astype(np.float32)),
         edges(dtype), np.array([0, 1, -1, 17, 100, 247, 249, 465, 70000, -2**31, 2**31 - 1], np.int32), wide=True)

x, y = normal(8, 16).astype(F8), normal(8, 16).astype(F8)
both("narrow_arithmetic",
     lambda x, y: (x + y, x - y, x * y, x / y, -x, abs(x), jnp.maximum(x, y), jnp.minimum(x, y), x < y, x == y, jnp.sqrt(abs(x)),
                   jnp.exp(x), jnp.tanh(x), jnp.floor(x), jnp.round(x), jnp.sign(x), jnp.clip(x, -0.5, 0.75), jnp.where(x > y, x, 1),
                   jnp.isfinite(x / y), x * 3 + 1, lax.pow(abs(x), y), jnp.sin(x).astype(GRADIENT) * y.astype(GRADIENT)),
     x, np.where(integers(0, 4, 8, 16) > 0, y, x), shardings=(P("a", "b"), P(None, "b")))
both("narrow_movement",
     lambda x, y, i, k: (x.T, x.reshape(4, 32), jnp.broadcast_to(x[0], (3, 16)), x[1:5:2, ::3], x[::-1, ::-1],
                         lax.dynamic_slice(x, (k, 2), (2, 3)), lax.dynamic_update_slice(x, y[:2, :3], (k, 1)),
                         jnp.concatenate([x, y]), lax.pad(x, np.array(2.5, F8), ((1, 0, 1), (0, 2, 0))), x[i], x[i, i],
                         x.at[i].set(y[:4]), x.at[i, 2].set(y[:4, 0]), jnp.take_along_axis(x, i[None, :] % 6, 1),
                         jnp.roll(x, 2, 1), jnp.repeat(x, 2, 0), jnp.stack([x, y], 1), jnp.tril(x), jnp.where(x > 0, x, 0)),
     x, y, np.array([5, 1, 0, 3], np.int32), np.int32(3), shardings=(P("b", "a"), P(None, "a"), P("a"), P()))
# Sums are rounded once here, and after each addition in XLA: these have few bits.
few = (integers(-3, 4, 6, 8) / 4).astype(np.float32).astype(GRADIENT)
both("narrow_reductions",
     lambda x, f: (x.max(1), x.min(), x.argmax(1), x.argmin(0), jnp.sort(x, 1), jnp.argsort(x, 0), *lax.top_k(x, 3), lax.cummax(x, 1),
                   lax.sort((x, f), num_keys=2), f[:2].sum(0), lax.reduce(f[:, :2], np.array(0, f.dtype), lax.add, (1,)),
                   lax.reduce_window(x, np.array(-448, F8), lax.max, (2, 2), (2, 2), "VALID"), jnp.any(x > 1, 1)),
     x[:6, :8], few, shardings=(P("b", "a"), P()))
# XLA adds wrong elements where the rows are sharded.
both("narrow_scatter", lambda f, i: (f.at[i].add(f[:3]), f.at[i].max(f[3:]), f.at[i].multiply(f[:3], unique_indices=True), f.at[i].set(f[1:4])), few, np.array([0, 1, 5], np.int32),
     shardings=(P(None, ("a", "b")), P()))
case("narrow_not_numbers", lambda x, y: (jnp.sort(x), jnp.argsort(x), jnp.argmax(x), jnp.isnan(jnp.max(y)), jnp.sort(y)[:-6], x == x, jnp.nan_to_num(x)),
     np.array([1, -0.0, np.nan, 0.0, -3, -np.nan, 448, 0.0], np.float32).astype(F8), rng.permutation(codes(GRADIENT)))
case("narrow_constants",
     lambda x: (x * jnp.array([1, 2.5, -0.0, 448], F8), jnp.full(3, jnp.nan, F8), jnp.full((2, 2), -jnp.inf, GRADIENT), jnp.array([1, -8, 7], jnp.int4),
                jnp.full(3, 11, jnp.uint4), lax.iota(F8, 20), jnp.zeros(2, jnp.uint4), jnp.asarray(np.arange(-8, 8).astype(jnp.int4).reshape(4, 4)),
                lax.iota(jnp.int4, 8), jnp.asarray(codes(jnp.float8_e4m3b11fnuz)), jnp.finfo(F8).max.astype(F8)), x[0, :4])


def fake(x, dtype, scale):
    """Quantized and dequantized."""
    return (x / scale).astype(dtype).astype(x.dtype) * scale


both("fake_quantization",
     lambda x, h, b: (fake(x, F8, x.max() / 448), fake(x, GRADIENT, np.float32(2.0**-4)), fake(h, F8, np.float16(0.125)), fake(b, GRADIENT, jnp.bfloat16(0.5)),
                      jnp.round(jnp.clip(x * 4, -8, 7)).astype(jnp.int4).astype(np.float32) / 4, fake(x, jnp.int4, np.float32(0.25))),
     normal(16, 24), normal(16, 24, dtype=np.float16), normal(16, 24, dtype=jnp.bfloat16) * 100, shardings=(P("a", "b"), P("b"), P(None, "a")))


# As in training with f8: activations and weights in e4m3, gradients in e5m2, scales of the current tensors.
def quantize(x, dtype, largest):
    scale = jnp.maximum(jnp.max(jnp.abs(x)), 1e-12) / largest
    return jnp.clip(x / scale, -largest, largest).astype(dtype), scale


def product(x, y, dims):
    return lax.dot_general(x, y, (dims, ((), ())), preferred_element_type=np.float32)


@jax.custom_vjp
def linear(x, w):
    return linear_forward(x, w)[0]


def linear_forward(x, w):
    (qx, sx), (qw, sw) = quantize(x, F8, 448), quantize(w, F8, 448)
    return product(qx, qw, ((1,), (0,))) * (sx * sw), (qx, sx, qw, sw)


def linear_backward(kept, g):
    qx, sx, qw, sw = kept
    qg, sg = quantize(g, GRADIENT, 57344)
    return product(qg, qw, ((1,), (1,))) * (sg * sw), product(qx, qg, ((0,), (0,))) * (sx * sg)


linear.defvjp(linear_forward, linear_backward)


def loss(p, x, y):
    return ((linear(jax.nn.relu(linear(x, p["w1"]) + p["b"]), p["w2"]) - y)**2).mean()


def step(p, x, y):
    value, gradient = jax.value_and_grad(loss)(p, x, y)
    return value, jax.tree.map(lambda w, g: w - 0.1 * g, p, gradient)


parameters = {"w1": normal(16, 32) / 4, "b": normal(32), "w2": normal(32, 8) / 6}
# A sum in another order may round to the next f8, a sixteenth away; few elements do.
case("f8_training_step", step, parameters, normal(24, 16), normal(24, 8), tolerance=1e-3)
case("f8_training_step_sharded", step, parameters, normal(24, 16), normal(24, 8), tolerance=1e-3,
     in_shardings=({"w1": P(None, "b"), "b": P("b"), "w2": P("b")}, P("a"), P("a")))
both("f8_products",
     lambda x, y, g, h: (product(x, y, ((1,), (1,))), product(x, g, ((1,), (1,))),
                         lax.dot_general(x, y, (((1,), (1,)), ((0,), (0,))), preferred_element_type=np.float32),
                         lax.dot_general(g, g, (((1,), (1,)), ((), ())), preferred_element_type=jnp.bfloat16), x.astype(np.float32) @ h, jnp.einsum("ij,kj->ik", x, y).shape[0] + product(x[:2], y[:2], ((0,), (0,))),
                         lax.conv_general_dilated(x[None, None].astype(np.float32), y[None, None, :3, :3].astype(np.float32), (1, 1), "SAME")),
     x, y, normal(8, 16).astype(GRADIENT), normal(16, 4), shardings=(P("a", "b"), P(None, "b"), P("a", "b"), P("b")))
# Exact in f16, so that the order of the sum has no effect on the rounding. XLA's devices add partial sums of f8.
both("f8_product_in_f8", lambda x, y: (x @ y, x.T @ x), (integers(-3, 4, 8, 16) / 2).astype(np.float32).astype(F8),
     (integers(-3, 4, 16, 8) / 2).astype(np.float32).astype(F8), on_one_device=True, shardings=(P("a", "b"), P("b")))


# A layer with weights of 4 bits, a scale and a zero point for each group of 8 rows.
def quantized_layer(w, scale, zero, x):
    groups = w.reshape(4, 8, -1).astype(x.dtype)
    return x @ ((groups - zero[:, None, :]) * scale[:, None, :]).reshape(32, -1)


both("int4_layer", quantized_layer, integers(0, 16, 32, 24).astype(jnp.uint4), abs(normal(4, 24)) / 8, integers(4, 12, 4, 24).astype(np.float32),
     normal(6, 32), shardings=(P("a", "b"), P("a", "b"), P("a", "b"), P(None, "a")))
both("int4_symmetric_bf16", lambda w, s, x: lax.dot_general(x, w.astype(jnp.bfloat16), (((1,), (0,)), ((), ())), preferred_element_type=np.float32) * s,
     integers(-8, 8, 32, 24).astype(jnp.int4), abs(normal(24)), normal(6, 32, dtype=jnp.bfloat16), shardings=(P("b", "a"), P("a"), P(None, "b")))
# Weights of a file of bytes, two in each.
both("int4_unpacked", lambda p, x: x @ lax.bitcast_convert_type(p, jnp.int4).transpose(0, 2, 1).reshape(32, 8).astype(np.float32),
     integers(0, 256, 16, 8, dtype=np.uint8), normal(5, 32), shardings=(P("a", "b"), P()))


# Attention of one token at a time over a cache of f8, with a scale for each row.
def decode(cache_k, cache_v, q, k, v):
    def body(carry, token):
        keys, values, position = carry
        q, k, v = token
        keys = lax.dynamic_update_slice(keys, (k * 64).astype(F8)[None], (position, 0, 0))
        values = lax.dynamic_update_slice(values, (v * 64).astype(F8)[None], (position, 0, 0))
        scores = jnp.einsum("hd,thd->ht", q, keys.astype(np.float32) / 64)
        scores = jnp.where(jnp.arange(keys.shape[0]) <= position, scores, -1e30)
        return (keys, values, position + 1), jnp.einsum("ht,thd->hd", jax.nn.softmax(scores), values.astype(np.float32) / 64)

    (keys, values, _), out = lax.scan(body, (cache_k, cache_v, 3), (q, k, v))
    return keys, values, out


cache = (normal(3, 4, 8) * 64).astype(F8)
cache = np.concatenate([cache, np.zeros((9, 4, 8), F8)])
both("f8_cache", decode, cache, cache[:, ::-1], normal(6, 4, 8), normal(6, 4, 8), normal(6, 4, 8), tolerance=4e-6,
     shardings=(P(None, "a"), P(None, "a"), P(None, "a"), P(None, "a"), P(None, "a")))
both("f8_branches",
     lambda x, n: (lax.cond(n > 2, lambda x: (x * 2, x.astype(GRADIENT)), lambda x: (x, x.astype(GRADIENT) * 3), x), lax.switch(n % 3, [abs, lambda x: -x, jnp.tanh], x),
                   lax.while_loop(lambda s: s[1] < n, lambda s: (s[0] + s[0], s[1] + 1), (x, 0))[0],
                   lax.fori_loop(0, 3, lambda i, s: s * 0.5, x), jax.jit(lambda x, y: (x, y))(x, n)[0], lax.optimization_barrier((x, n))[0]),
     x, np.int32(4), shardings=(P("a", "b"), P()))

i, j = np.repeat(np.arange(-8, 8), 16).astype(jnp.int4), np.tile(np.arange(-8, 8), 16).astype(jnp.int4)
u, v = np.repeat(np.arange(16), 16).astype(jnp.uint4), np.tile(np.arange(16), 16).astype(jnp.uint4)


def integer_arithmetic(x, y):
    return (x + y, x - y, x * y, lax.div(x, y), lax.rem(x, y), -x, lax.sign(x), lax.max(x, y), lax.min(x, y), x < y, x >= y, x == y, x & y, x | y, x ^ y,
            ~x, lax.shift_left(x, y), lax.shift_right_arithmetic(x, y), lax.clz(x), x * x + y, jnp.where(x > y, x, y))


both("int4_arithmetic", integer_arithmetic, i, j, shardings=(P(("a", "b")), P("a")))
both("uint4_arithmetic", lambda x, y: (*integer_arithmetic(x, y), lax.shift_right_logical(x, y), lax.population_count(x)), u, v, shardings=(P(("a", "b")), P("a")))
case("int2_arithmetic", integer_arithmetic, np.repeat(np.arange(-2, 2), 4).astype(jnp.int2), np.tile(np.arange(-2, 2), 4).astype(jnp.int2))
case("int4_conversions",
     lambda x, i, u, n, f: ([x.astype(t) for t in (jnp.int4, jnp.uint4, jnp.int2, jnp.uint2)], [f.astype(t) for t in (jnp.int4, jnp.uint4)], [n.astype(t) for t in (jnp.int4, jnp.uint4, jnp.int2)],
                            [i.astype(t) for t in (np.float32, jnp.bfloat16, np.int8, np.uint8, np.int32, np.bool_, jnp.uint4, F8, jnp.int2)],
                            [u.astype(t) for t in (np.float32, np.int8, np.int32, jnp.int4, GRADIENT)]),
     np.array([0.5, 1.5, 7.6, 8, 100, -8.5, -9, -100, np.nan, np.inf, -np.inf, 15.7, 16, 255], np.float32), np.arange(-8, 8).astype(jnp.int4),
     np.arange(16).astype(jnp.uint4), np.array([0, 7, 8, -8, -9, 15, 16, 100, -1, 2**31 - 1], np.int32), normal(20).astype(F8))
case("int4_bits",
     lambda b, w, i: (lax.bitcast_convert_type(b, jnp.int4), lax.bitcast_convert_type(b, jnp.uint4), lax.bitcast_convert_type(w, jnp.int4), lax.bitcast_convert_type(i.reshape(-1, 2), np.int8),
                         lax.bitcast_convert_type(i.reshape(-1, 8), np.float32).shape[0] + lax.bitcast_convert_type(i.reshape(-1, 8), np.int32),
                         lax.bitcast_convert_type(i, jnp.uint4)),
     integers(0, 256, 3, 4, dtype=np.uint8), integers(-2**31, 2**31 - 1, 5), i[:64])
both("int4_movement_and_order",
     lambda x, k: (x.T, x[k], x[::-1, 1:5], jnp.concatenate([x, x[:2]]), jnp.sort(x, 1), jnp.argmax(x, 1), x.at[k].set(x[:3]), x.max(0), x.min(1), jnp.where(x > 0, x, 0),
                   lax.reduce(x, np.array(0, x.dtype), lax.add, (0,)), lax.dot_general(x, x, (((1,), (1,)), ((), ())), preferred_element_type=jnp.int4), lax.pad(x, np.array(-3, x.dtype), ((1, 0, 1), (0, 2, 0)))),
     integers(-8, 8, 8, 6).astype(jnp.int4), np.array([3, 1, 7], np.int32), shardings=(P("a"), P()))


def mapped(f, in_specs, out_specs, **options):
    return jax.shard_map(f, mesh=MESH, in_specs=in_specs, out_specs=out_specs, **options)


case("narrow_collectives",
     mapped(lambda x, i: (lax.all_gather(x, "b", axis=1, tiled=True) * (1 + lax.axis_index("b")).astype(F8), lax.ppermute(x, "a", [(i, (i + 1) % 4) for i in range(4)]),
                          lax.all_to_all(x, "b", 1, 0, tiled=True), lax.pmax(x, "a"), lax.ppermute(i, "b", [(0, 1), (1, 0)]), lax.psum(x.astype(np.float32), "a").astype(F8)),
            (S("a", "b"), S(("a", "b"))), (S("a", "b"), S("a", "b"), S(("a", "b")), S(None, "b"), S(("a", "b")), S(None, "b"))), x, i)
case("narrow_annotations", lambda x, i: (lax.with_sharding_constraint(lax.with_sharding_constraint(x * 2, P("a", "b")).T, P(None, "a")), lax.with_sharding_constraint(i, P(("a", "b")))),
     x, i, in_shardings=(P("a", "b"), P("a")), out_shardings=(P("b"), P()))
case("narrow_uneven",
     lambda x, i: [lax.with_sharding_constraint(y, P("a")) for y in (x + x[::-1], jnp.sort(x, 0), i[1:] + i[:-1], x.astype(np.float32).sum(1))],
     abs(normal(13, 3)).astype(F8), i[:13], in_shardings=(P(), P()))
case("narrow_empty", lambda x, i, s: (x + x, x.astype(np.float32).sum(0), jnp.concatenate([i, i]), s * s, s.astype(jnp.int4), x.T), np.zeros((0, 3), F8), np.zeros(0, jnp.int4), np.array(2.5, np.float32).astype(GRADIENT))

sizes = rng.normal(size=60) * 10.0**rng.integers(-9, 7, 60)
sizes = np.concatenate([sizes, [0, -0.0, np.inf, -np.inf, np.nan, 448, 464, 465, 57344, 61440, 65504, 65520, 3e38, 1e-45, -1e-45]])
with np.errstate(over="ignore"):
    case("reduced_formats", lambda *xs: [lax.reduce_precision(x, e, m) for x in xs for e, m in [(4, 3), (5, 2), (5, 10), (8, 7), (2, 1), (8, 3), (1, 5), (6, 0), (11, 52)]],
         *(sizes.astype(t) for t in (np.float32, np.float16, jnp.bfloat16, np.float64)), wide=True)
# Weights that are sharded along rows are gathered as bytes.
case("narrow_gathered_weights",
     lambda x, w, v, s: (product(x.astype(F8), w, ((1,), (0,))), x @ (v.astype(np.float32) * s), product(x.astype(GRADIENT), w.astype(GRADIENT), ((1,), (0,)))),
     normal(128, 16), normal(16, 16).astype(F8), integers(-8, 8, 16, 16).astype(jnp.int4), abs(normal(16)),
     in_shardings=(P("a"), P("a"), P("a"), P()), out_shardings=P("a"))

# Types that MLIR 19 has no name for: their constants are codes, and an element of four bits is half of a byte.
MORE = {"e3m4": jnp.float8_e3m4, "e8m0fnu": jnp.float8_e8m0fnu, "e2m1fn": jnp.float4_e2m1fn}
for name, dtype in MORE.items():
    # XLA on a CPU computes the least two powers, 2^-127 and 2^-126, as zero in some operations.
    own = codes(dtype)[2 if name == "e8m0fnu" else 0:16 if name == "e2m1fn" else 256]
    finite = own.astype(np.float32)[np.isfinite(own.astype(np.float32))]
    case(f"codes_{name}",
         lambda x, c=own, t=dtype: (x.astype(np.float64), x.astype(np.float32), x.astype(np.float16), x.astype(jnp.bfloat16), x.astype(np.bool_), jnp.isnan(x),
                                    x + jnp.asarray(c), x[::-1], jnp.ones(3, t), jnp.where(x == x, x, jnp.asarray(2, t)), x.astype(F8).astype(np.float32), x.astype(np.float32).astype(jnp.int8),
                                    lax.bitcast_convert_type(x.reshape(-1, 2) if t == MORE["e2m1fn"] else x, np.int8),
                                    lax.bitcast_convert_type(lax.bitcast_convert_type(x[:x.size // 8 * 8].reshape(-1, 8 if t == MORE["e2m1fn"] else 4), np.uint32), t)), own, wide=True)
    sizes = edges(dtype)[~(abs(edges(dtype)) < 2.0**-124)] if name == "e8m0fnu" else edges(dtype) if name != "e2m1fn" else np.concatenate([finite, finite * 1.25, finite * 1.5, np.float32([0.2, 0.25, 0.26, 5, 5.1, 7, 1e30, -1e30, np.inf, -np.inf, 1e-42])])
    case(f"rounding_{name}",
         lambda x, n, t=dtype: (x.astype(t).astype(np.float32), x.astype(np.float16).astype(t).astype(np.float32), x.astype(jnp.bfloat16).astype(t).astype(np.float16), n.astype(t),
                                (n > 3).astype(t), (x.astype(np.float64) * (1 + 2.0**-40)).astype(t).astype(np.float32)),
         sizes.astype(np.float32), np.array([0, 1, -1, 17, 100, 247, 249, 465, 70000, -2**31, 2**31 - 1], np.int32), wide=True)
both("scaled_products",
     lambda x, s, w, t: ((x.astype(np.float32).reshape(16, 4, 8) * s.astype(np.float32)[:, :, None]).reshape(16, 32) @ (w.astype(np.float32) * t.astype(np.float32)), jnp.max(x), jnp.sort(x, axis=1), x.T),
     normal(16, 32).astype(MORE["e2m1fn"]), (2.0**integers(-3, 4, 16, 4)).astype(np.float32).astype(MORE["e8m0fnu"]), normal(32, 8).astype(MORE["e3m4"]), np.float32([0.5]).astype(MORE["e8m0fnu"]),
     shardings=(P("a"), P("a"), P(), P()))
