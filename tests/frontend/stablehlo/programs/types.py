"""Integers of 16 and 64 bits, signed and unsigned, at the ends of their ranges; bits of one type as another one."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from cases import P, case, normal


def edges(dtype):
    """The ends and the middle of the range, and numbers that floats round once or twice."""
    info = np.iinfo(dtype)
    numbers = [0, 1, 2, 3, 7, 100, info.max, info.max - 1, info.max // 2, info.max // 2 + 1, info.max // 2 + 2,
               info.max // 3, info.min, info.min + 1]
    numbers += [2**63 + 2**39 + 1, 2**63 + 2**10 + 1] if info.max == 2**64 - 1 else [info.min // 3, info.max // 5]
    return np.array(numbers, dtype)


def arithmetic(x, y):
    d = jnp.where(y == 0, jnp.ones_like(y), y)
    return (x + y, x - y, x * y, lax.div(x, d), lax.rem(x, d), x // d, x % d, -x, jnp.abs(x), jnp.sign(x), jnp.maximum(x, y),
            jnp.minimum(x, y), jnp.clip(x, 3, 100), x == y, x < y, x >= y, x & y, x | y, x ^ y, ~x,
            lax.population_count(x), lax.clz(x), lax.integer_pow(x, 3))


def shifts(x, s):
    return x << s, x >> s, lax.shift_right_logical(x, s), lax.shift_right_arithmetic(x, s)


def reductions(x):
    return (jnp.sum(x, 1, dtype=x.dtype), jnp.prod(x, 0, dtype=x.dtype), x.max(1), x.min(), x.argmax(1), x.argmin(0),
            jnp.sort(x, 1), jnp.argsort(x, 0), *lax.top_k(x, 3), lax.cumsum(x, 1), lax.cummax(x, 0), jnp.any(x, 1), x @ x.T,
            x.at[jnp.array([1, 0, 1])].add(x[:3]), jnp.where(x > x[0], x, x[1]))


for name, dtype in [("i16", np.int16), ("u16", np.uint16), ("u64", np.uint64)]:
    x = edges(dtype)
    bits = np.iinfo(dtype).bits
    case(f"arithmetic_{name}", arithmetic, np.repeat(x, x.size), np.tile(x, x.size), wide=True)
    case(f"shifts_{name}", shifts, np.repeat(x, 4), np.tile(np.array([0, 1, bits // 2, bits - 1], dtype), x.size), wide=True)
    case(f"reductions_{name}", reductions, x.reshape(4, 4), wide=True)
    case(f"sharded_{name}", reductions, np.tile(x.reshape(4, 4), (2, 1)), wide=True, in_shardings=P("a", "b"))
    others = [np.float64, np.float32, jnp.bfloat16, np.float16, np.int64, np.int32, np.int16, np.int8, np.uint64, np.uint32,
              np.uint16, np.uint8, np.bool_]
    case(f"from_{name}", lambda x, others=tuple(others): [x.astype(t) for t in others], x, wide=True)
    floats = np.array([0, 1, 1.5, 254.9, 32767.5, 65535, 3e9, 2.0**62, 2.0**63, 1.5 * 2.0**63, 2.0**64, 1e30, np.inf, np.nan])
    signed = np.concatenate([floats, [-1.5, -7.0, -40000.0, -1e30, -np.inf]])
    case(f"to_{name}", lambda x, t=dtype: (x.astype(t), x.astype(np.float32).astype(t)), signed, wide=True)

case("as_positions", lambda x, i, j, k: (x[i], x[j], jnp.take(x, k, axis=0), lax.dynamic_slice(x, (k[0], k[1]), (2, 3)),
                                         x.at[i].add(1.0), jax.nn.one_hot(j, 6)),
     normal(6, 5), np.array([1, 5, 0], np.int16), np.array([5, 2, 2], np.uint16), np.array([3, 2**64 - 1, 1], np.uint64), wide=True)


def as_parts(x, wide, narrow):
    """The bits of `wide` as parts, and back."""
    parts = lax.bitcast_convert_type(x.view(wide) if isinstance(x, np.ndarray) else x, narrow)
    return parts, lax.bitcast_convert_type(parts, wide)


signed64 = np.array([[0, -1, 1], [2**62, -2**63, 0x0123456789abcdef]], np.int64)
floats = np.array([[1.5, -0.0, np.inf], [np.pi, -2.5e-39, 65504.0]], np.float32)
for wide, narrow, x in [("i64", "i32", signed64), ("i64", "u8", signed64), ("u64", "f32", floats.astype(np.uint64)),
                        ("f64", "u16", floats.astype(np.float64)), ("f32", "u8", floats), ("f32", "bf16", floats),
                        ("f32", "i16", floats), ("bf16", "u8", floats.astype(jnp.bfloat16)),
                        ("f16", "i8", np.nan_to_num(floats).astype(np.float16))]:
    types = {"i64": np.int64, "i32": np.int32, "i16": np.int16, "i8": np.int8, "u64": np.uint64, "u16": np.uint16, "u8": np.uint8,
             "f64": np.float64, "f32": np.float32, "bf16": jnp.bfloat16, "f16": np.float16}
    case(f"bits_{wide}_{narrow}", lambda x, w=types[wide], n=types[narrow]: as_parts(x, w, n), x, wide=True)
case("bits_same_width", lambda x: (lax.bitcast_convert_type(x, np.uint16), lax.bitcast_convert_type(x, np.int16),
                                   x.view(np.uint16).view(jnp.bfloat16)), floats.astype(jnp.bfloat16), wide=True)
case("bits_sharded", lambda x: as_parts(x, np.float32, np.uint8), normal(8, 6), in_shardings=P("a", "b"))
