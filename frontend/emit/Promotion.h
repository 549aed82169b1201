//===- Promotion.h - type promotion -----------------------------*- C++ -*-===//
//
// JAX's type promotion lattice over the dtypes of the language. A value is weak if its dtype comes from literals alone;
// a weak integer or float takes the dtype of the other operand, if that can hold its kind:
//
//     bool -> int* -> { u8 -> u16 -> u32 -> u64, i8 -> i16 -> i32 -> i64 } -> float* -> { bf16, f16 } -> f32 -> f64
//
// An unsigned integer and a signed one that is not wider join at the next wider signed type, or at float* for u64. One
// difference from JAX, which has been in the language since it had no i16: i8 and u8 join at i32.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/support/DType.h"

#include <cstdint>
#include <optional>

namespace spmdc {

struct DTypeClass {
  spmd::DType dtype = spmd::DType::F32;
  bool isWeak = false;
  bool operator==(const DTypeClass &) const = default;
};

/// The least class that both promote to; nullopt for keys, which are not numbers.
std::optional<DTypeClass> promote(DTypeClass a, DTypeClass b);

/// The class in which functions of real numbers compute: integers and bools become f32.
DTypeClass toInexact(DTypeClass a);

/// The range of an integer dtype, both ends included; of u64, the numbers up to 2^63 - 1, which integer literals hold.
struct IntegerRange {
  int64_t low = 0, high = 0;
  bool contains(int64_t value) const { return low <= value && value <= high; }
};
IntegerRange integerRange(spmd::DType dtype);

} // namespace spmdc
