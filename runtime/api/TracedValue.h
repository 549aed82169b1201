//===- TracedValue.h - what a symbolic Array stands for ---------*- C++ -*-===//
#pragma once

#include "runtime/api/include/spmd/array.h"
#include "runtime/support/Error.h"

#include <string>
#include <vector>

namespace spmd {

/// A value of a program that is being written down (runtime/jit/Trace.h); here are its type and what to say of misuse.
class TracedValue {
public:
  TracedValue(DType dtype, std::vector<int64_t> shape) : dtype(dtype), shape(std::move(shape)) {}
  virtual ~TracedValue() = default;
  TracedValue(const TracedValue &) = delete;
  TracedValue &operator=(const TracedValue &) = delete;

  /// Its value was asked for, which is not known yet, or not any more.
  virtual Error misuse() const = 0;

  const DType dtype;
  const std::vector<int64_t> shape;
};

} // namespace spmd
