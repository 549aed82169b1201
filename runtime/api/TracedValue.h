//===- TracedValue.h - the value behind a symbolic Array --------*- C++ -*-===//
#pragma once

#include "runtime/api/include/spmd/array.h"
#include "runtime/support/Error.h"

#include <string>
#include <vector>

namespace spmd {

/// A value of a program that is being traced (runtime/jit/Trace.h). This interface has its type, and the error for a
/// misuse.
class TracedValue {
public:
  TracedValue(DType dtype, std::vector<int64_t> shape) : dtype(dtype), shape(std::move(shape)) {}
  virtual ~TracedValue() = default;
  TracedValue(const TracedValue &) = delete;
  TracedValue &operator=(const TracedValue &) = delete;

  /// Returns the error for a use of the value, which is not known yet, or not any more.
  virtual Error misuse() const = 0;

  const DType dtype;
  const std::vector<int64_t> shape;
};

} // namespace spmd
