//===- random.h - random numbers --------------------------------*- C++ -*-===//
//
// jax.random by its names, in a namespace of its own. A key is an array of u32 whose last dimension is 2 (JAX's
// PRNGKey); the numbers are JAX's bit by bit (`normal` within a unit of the last place), on every mesh and number of
// processes. As all operations (numpy.h) they become a part of the traced program, or are programs of their own. A
// sharding sets the sharding of the numbers; each device then generates only its own.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "numpy.h"

namespace spmd::random {

namespace detail {
inline Operand asKey(const Operand &key) { return Operand("wrap_key_data($)", {key}, key.get_location()); }
} // namespace detail

/// u32[2], from a number that is known at compile time or from a computed one; `jax.random.PRNGKey`.
inline Array key(const Operand &seed) { return call("key", {seed}, {}, seed.get_location()); }
/// u32[count, 2].
inline Array split(const Operand &key, int64_t count = 2) {
  return call("split", {detail::asKey(key), count}, {}, key.get_location());
}
/// u32[2]: a key derived for a number, such as a step.
inline Array fold_in(const Operand &key, const Operand &data) {
  return call("fold_in", {detail::asKey(key), data}, {}, key.get_location());
}
/// Bits of u64, u32, u16 or u8.
inline Array bits(const Operand &key, const Shape &shape, DType dtype = DType::U32,
                  const std::optional<NamedSharding> &sharding = {}) {
  return call("bits", {detail::asKey(key), Operand::type(dtype, shape, sharding, key.get_location())}, {},
              key.get_location());
}
/// Floats of [minval, maxval).
inline Array uniform(const Operand &key, const Shape &shape, DType dtype = DType::F32, const Operand &minval = 0.0,
                     const Operand &maxval = 1.0, const std::optional<NamedSharding> &sharding = {}) {
  return call("uniform", {detail::asKey(key), Operand::type(dtype, shape, sharding, key.get_location())},
              {{"minval", minval}, {"maxval", maxval}}, key.get_location());
}
/// Floats of the standard normal distribution.
inline Array normal(const Operand &key, const Shape &shape, DType dtype = DType::F32,
                    const std::optional<NamedSharding> &sharding = {}) {
  return call("normal", {detail::asKey(key), Operand::type(dtype, shape, sharding, key.get_location())}, {},
              key.get_location());
}
/// Bools, true with probability `p`, which may be an array.
inline Array bernoulli(const Operand &key, const Operand &p, const Shape &shape) {
  return call("bernoulli", {detail::asKey(key), p}, {{"type", Operand(shape, key.get_location())}}, key.get_location());
}
/// Integers of [minval, maxval).
inline Array randint(const Operand &key, const Shape &shape, const Operand &minval, const Operand &maxval,
                     DType dtype = DType::I32, const std::optional<NamedSharding> &sharding = {}) {
  return call("randint",
              {detail::asKey(key), Operand::type(dtype, shape, sharding, key.get_location()), minval, maxval}, {},
              key.get_location());
}
/// Class indices, from the logarithms of their weights along an axis.
inline Array categorical(const Operand &key, const Operand &logits, int64_t axis = -1) {
  return call("categorical", {detail::asKey(key), logits}, {{"axis", axis}}, key.get_location());
}

} // namespace spmd::random
