//===- Elements.h - element types as C++ types ------------------*- C++ -*-===//
//
// For code that is generic over element types: each type defines its format in memory (`Stored`), its type in
// computations (`Value`), and the conversions between them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/support/DType.h"
#include "runtime/support/Float16.h"

#include <cassert>

namespace spmd {

/// C++ types; integers wrap as C++ conversions do.
template <typename T> struct PlainElement {
  using Stored = T;
  using Value = T;
  static Value load(Stored stored) { return stored; }
  template <typename Number> static Stored store(Number number) { return static_cast<T>(number); }
};

template <float (*Widen)(uint16_t), uint16_t (*Narrow)(float)> struct HalfElement {
  using Stored = uint16_t;
  using Value = float;
  static Value load(Stored stored) { return Widen(stored); }
  template <typename Number> static Stored store(Number number) { return Narrow(static_cast<float>(number)); }
};
using Bf16Element = HalfElement<bf16ToFloat, floatToBf16>;
using F16Element = HalfElement<f16ToFloat, floatToF16>;

struct BoolElement {
  using Stored = uint8_t;
  using Value = bool;
  static Value load(Stored stored) { return stored != 0; }
  template <typename Number> static Stored store(Number number) { return number != 0; }
};

/// Calls `body` with a value of the type above that represents the dtype, and returns its result. `dtype` must not be
/// Key: random keys are not computed with.
template <typename Body> auto visitElement(DType dtype, const Body &body) {
  switch (dtype) {
  case DType::F64:
    return body(PlainElement<double>());
  case DType::F32:
    return body(PlainElement<float>());
  case DType::BF16:
    return body(Bf16Element());
  case DType::F16:
    return body(F16Element());
  case DType::I64:
    return body(PlainElement<int64_t>());
  case DType::I32:
    return body(PlainElement<int32_t>());
  case DType::I16:
    return body(PlainElement<int16_t>());
  case DType::I8:
    return body(PlainElement<int8_t>());
  case DType::U64:
    return body(PlainElement<uint64_t>());
  case DType::U32:
    return body(PlainElement<uint32_t>());
  case DType::U16:
    return body(PlainElement<uint16_t>());
  case DType::U8:
    return body(PlainElement<uint8_t>());
  case DType::Bool:
    return body(BoolElement());
  case DType::Key:
    break;
  }
  assert(false && "a random key is no element");
  return body(PlainElement<uint8_t>());
}

} // namespace spmd
