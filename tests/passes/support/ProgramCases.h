//===- ProgramCases.h - programs that every backend has to run --*- C++ -*-===//
#pragma once

#include "tests/passes/support/ReferenceCheck.h"

#include <string>

namespace spmdc {

/// tanh(x * y) + x.
std::string elementwiseProgram(const std::string &shape);
/// Along the rows of f32[rows, size], and along the columns.
std::string softmaxProgram(const std::string &rows, const std::string &size);
std::string softmaxOverFirstProgram(const std::string &rows, const std::string &size);
/// Sum of sines and maximum of f64[size].
std::string fullReductionProgram(const std::string &size);
/// Of two and of three dimensions, with rests in all squares.
std::string transposeProgram();
/// Along both dimensions, over several rounds of a block of threads.
std::string scanProgram();
/// Sums of arrays that are padded, or cut, on all sides, by much and by little, reversed, with gaps, and of what is
/// computed from positions: elements in the middle of f32[rows, size] read no padding.
std::string paddedProgram(const std::string &rows, const std::string &size);
/// Arrays joined along the last dimension of f32[rows, size] and within one another, along the first, padded and not,
/// with one element each and in more pieces than a loop is cut into.
std::string joinedProgram(const std::string &rows, const std::string &size);
/// An argument, a result twice, and a constant.
std::string returnProgram();

/// all_slice, shard_start, shard_size and axis_index on every device of a mesh of 3 x 4, over one axis, two, and a part
/// of one, with sizes that do not divide, against the arithmetic of runtime/sharding/Sharding.h.
void checkPieces(const MakeProgram &make);

/// Reductions over dimensions that do not divide, masked as the partitioner masks them, on every device.
void checkMasks(const MakeProgram &make);

/// Values that die where others are made share memory.
void checkDyingInputs(const MakeProgram &make);

/// A kernel whose outputs may, or just may not, lie over its inputs.
struct OverwriteCase {
  std::string name, text;
  /// How many pairs of input and output there are where rows are computed one by one, and where threads run in any
  /// order.
  int inSequence = 0, inParallel = 0;
};
std::vector<OverwriteCase> getOverwriteCases();

} // namespace spmdc
