//===- Promotion.h - type promotion -----------------------------*- C++ -*-===//
//
// JAX's type promotion lattice over the dtypes of the language. A value is weak if its dtype comes from literals alone;
// a weak integer or float takes the dtype of the other operand, if that can hold its kind:
//
//     bool -> int* -> { u8 -> u32, i8 -> i32 } -> i64 -> float* -> { bf16, f16 } -> f32 -> f64
//
// Signed and unsigned integers join at the next wider signed one (i8 and u8: i32, since the language has no i16).
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

/// The range of an integer dtype, both ends included.
struct IntegerRange {
  int64_t low = 0, high = 0;
  bool contains(int64_t value) const { return low <= value && value <= high; }
};
IntegerRange integerRange(spmd::DType dtype);

} // namespace spmdc
