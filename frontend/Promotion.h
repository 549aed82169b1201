//===- Promotion.h - which dtype an operation computes in -------*- C++ -*-===//
//
// JAX's type promotion lattice over the dtypes of the language. A value is weak where its dtype comes from literals
// alone; a weak integer or float takes the dtype of what it meets, as far as that can hold its kind:
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

/// The least class that both can become; none for keys, which are no numbers.
std::optional<DTypeClass> promote(DTypeClass a, DTypeClass b);

/// What functions of real numbers compute in: integers and bools become f32.
DTypeClass toInexact(DTypeClass a);

/// The integers that a dtype of integers holds, both ends included.
struct IntegerRange {
  int64_t low = 0, high = 0;
  bool contains(int64_t value) const { return low <= value && value <= high; }
};
IntegerRange integerRange(spmd::DType dtype);

} // namespace spmdc
