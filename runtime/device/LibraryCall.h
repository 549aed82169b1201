//===- LibraryCall.h - a step of the runtime library ------------*- C++ -*-===//
#pragma once

#include "runtime/artifact/Plan.h"

namespace spmd {

/// A sort, a scatter, or an update of a window at a run-time position, with the types of its arrays.
struct LibraryCall {
  LibraryFunction function = LibraryFunction::Argsort;
  DType dtype = DType::F32;   ///< Element type of the first input.
  std::vector<int64_t> sizes; ///< As in LibraryStep.
  /// I32 or I64: types of the positions that argsort returns, of a scatter's indices, or of each start of a window.
  std::vector<DType> indexTypes;
};

} // namespace spmd
