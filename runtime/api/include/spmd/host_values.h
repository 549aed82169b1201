//===- host_values.h - values on the host -----------------------*- C++ -*-===//
#pragma once

#include "runtime/support/DType.h"

#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace spmd {

/// The 16-bit floats, as bits.
struct bfloat16 {
  uint16_t bits = 0;
  bool operator==(const bfloat16 &) const = default;
};
struct float16 {
  uint16_t bits = 0;
  bool operator==(const float16 &) const = default;
};

/// The element type of a C++ type.
template <typename T> struct dtype_of;
template <> struct dtype_of<double> : std::integral_constant<DType, DType::F64> {};
template <> struct dtype_of<float> : std::integral_constant<DType, DType::F32> {};
template <> struct dtype_of<bfloat16> : std::integral_constant<DType, DType::BF16> {};
template <> struct dtype_of<float16> : std::integral_constant<DType, DType::F16> {};
template <> struct dtype_of<int64_t> : std::integral_constant<DType, DType::I64> {};
template <> struct dtype_of<int32_t> : std::integral_constant<DType, DType::I32> {};
template <> struct dtype_of<int16_t> : std::integral_constant<DType, DType::I16> {};
template <> struct dtype_of<int8_t> : std::integral_constant<DType, DType::I8> {};
template <> struct dtype_of<uint64_t> : std::integral_constant<DType, DType::U64> {};
template <> struct dtype_of<uint32_t> : std::integral_constant<DType, DType::U32> {};
template <> struct dtype_of<uint16_t> : std::integral_constant<DType, DType::U16> {};
template <> struct dtype_of<uint8_t> : std::integral_constant<DType, DType::U8> {};
template <> struct dtype_of<bool> : std::integral_constant<DType, DType::Bool> {};

/// A view of row-major values on the host; the caller owns them.
struct ArrayView {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  const void *data = nullptr;
};

namespace detail {
void checkElementCount(size_t elements, const std::vector<int64_t> &shape);
} // namespace detail

/// Returns a view of contiguous elements; throws an error if the shape has another number of elements. Without a shape:
/// one dimension.
template <typename T> ArrayView view(std::span<const T> elements, std::vector<int64_t> shape) {
  detail::checkElementCount(elements.size(), shape);
  return {dtype_of<T>::value, std::move(shape), elements.data()};
}
template <typename T> ArrayView view(const std::vector<T> &elements, std::vector<int64_t> shape) {
  return view(std::span<const T>(elements), std::move(shape));
}
template <typename T> ArrayView view(const std::vector<T> &elements) {
  return view(elements, {static_cast<int64_t>(elements.size())});
}

/// Half-open range [start, stop) of one dimension.
struct Slice {
  int64_t start = 0, stop = 0;
  bool operator==(const Slice &) const = default;
};
/// A part of an array: one slice per dimension.
using Index = std::vector<Slice>;

} // namespace spmd
