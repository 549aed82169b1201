//===- ScatterColumn.h - columns of a scatter -------------------*- C++ -*-===//
//
// A flat column f = o * inner + i is a column of the result [outer, rows, inner] and of the updates [outer, count,
// inner] (ScatterRuns.cu), of elements of type SPMD_ELEMENT. One thread has one column, or several neighboring ones.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/kernels/Element.h"
#include "runtime/device/cuda/kernels/ScatterIndex.h"

namespace spmd::cuda {

using Element = SPMD_ELEMENT;
using Stored = Element::Stored;
using Value = Element::Value;

template <int width> struct alignas(width * sizeof(Stored)) Pack {
  Stored values[width];
};

/// `width` columns of the result and of the updates.
template <int width> struct Column {
  const Stored *updates; ///< Address of position 0.
  Stored *result;        ///< Address of row 0.
  int64_t inner;

  SPMD_DEVICE Column(const void *allUpdates, void *allResult, const Sizes &sizes, int64_t flat) : inner(sizes.inner) {
    Quotient at = divide(flat, inner);
    updates = static_cast<const Stored *>(allUpdates) + at.quotient * sizes.count * inner + at.remainder;
    result = static_cast<Stored *>(allResult) + at.quotient * sizes.rows * inner + at.remainder;
  }
  SPMD_DEVICE Pack<width> read(int64_t position) const {
    return *reinterpret_cast<const Pack<width> *>(updates + position * inner);
  }
  SPMD_DEVICE Pack<width> &at(int64_t row) const { return *reinterpret_cast<Pack<width> *>(result + row * inner); }
};

/// The sums of `width` columns.
template <int width> struct Sums {
  Value values[width];
  SPMD_DEVICE explicit Sums(const Pack<width> &first) {
#pragma unroll
    for (int i = 0; i < width; ++i)
      values[i] = Element::load(first.values[i]);
  }
  SPMD_DEVICE void add(const Pack<width> &update) {
#pragma unroll
    for (int i = 0; i < width; ++i)
      values[i] += Element::load(update.values[i]);
  }
  SPMD_DEVICE Pack<width> round() const {
    Pack<width> result;
#pragma unroll
    for (int i = 0; i < width; ++i)
      result.values[i] = Element::store(values[i]);
    return result;
  }
};

} // namespace spmd::cuda
