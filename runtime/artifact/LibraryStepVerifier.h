//===- LibraryStepVerifier.h - checks of one library step -------*- C++ -*-===//
#pragma once

#include "runtime/artifact/Plan.h"

#include <string>

namespace spmd {

/// Returns what is wrong with a step that has these buffers, as the end of a sentence about the call; empty if nothing
/// is. Takes any numbers.
std::string findProblem(const LibraryStep &step, const std::vector<BufferInfo> &inputs, const BufferInfo &result);

/// The same for the form that a matrix product's epilogue has for a library; `operands` are those of the epilogue.
std::string findProblem(const MatmulStep &step, const std::vector<BufferInfo> &operands);

} // namespace spmd
