//===- LibraryCall.h - a step that is no kernel of the program --*- C++ -*-===//
#pragma once

#include "runtime/artifact/Plan.h"

namespace spmd {

/// Sorting, adding at indices, or writing a window at a position known at run time, with the types of its arrays.
struct LibraryCall {
  LibraryFunction function = LibraryFunction::Argsort;
  DType dtype = DType::F32;   ///< Of the first input.
  std::vector<int64_t> sizes; ///< LibraryStep.
  /// I32 or I64: of the positions that a sort gives, of a scatter's indices, of each start of a window.
  std::vector<DType> indexTypes;
};

} // namespace spmd
