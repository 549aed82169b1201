//===- ProgramCases.h - programs for the tests of all backends --*- C++ -*-===//
#pragma once

#include "tests/passes/support/ReferenceCheck.h"

#include <string>

namespace spmdc {

/// tanh(x * y) + x.
std::string elementwiseProgram(const std::string &shape);
/// Along the rows of f32[rows, size], and along the columns.
std::string softmaxProgram(const std::string &rows, const std::string &size);
std::string softmaxOverFirstProgram(const std::string &rows, const std::string &size);
/// The `kind` and the maximum of each row of the type's [rows, size], and the row without its first element plus its
/// maximum.
std::string rowsProgram(const std::string &kind, const std::string &type, const std::string &rows, int64_t size);
/// The type's [batch, rows, size] times [batch, size], plus an array of the result's shape.
std::string vectorProductProgram(const std::string &type, int64_t batch, int64_t rows, int64_t size);
/// The `kind` of each column of the type's [rows, columns], and the array minus the kind of its column.
std::string columnsProgram(const std::string &kind, const std::string &type, const std::string &rows,
                           const std::string &columns);
/// The products of f32[5, inner] and f32[inner, 40], for each of `lanes` elements of the last dimension.
std::string laneProductsProgram(const std::string &inner, const std::string &lanes);
/// Combines windows of 2 x 3 elements of f32[3, 2, columns, 3, channels], and subtracts their maxima from the array.
std::string windowsProgram(const std::string &kind, const std::string &columns, const std::string &channels);
/// Sum of sines and maximum of f64[size].
std::string fullReductionProgram(const std::string &size, const std::string &dims = "0");
/// Transposes of two and of three dimensions, with remainders in all squares.
std::string transposeProgram();
/// Along both dimensions, over several rounds of a block of threads.
std::string scanProgram();
/// Sums of arrays that are padded, or sliced, on all sides, by much and by little, reversed, with gaps, and of values
/// computed from positions: elements in the middle of f32[rows, size] read no padding.
std::string paddedProgram(const std::string &rows, const std::string &size);
/// Arrays concatenated along the last dimension of f32[rows, size], nested, along the first dimension, padded and not,
/// with one element each, and more arrays than segments of a loop.
std::string joinedProgram(const std::string &rows, const std::string &size);
/// An argument, a result twice, and a constant.
std::string returnProgram();

/// all_slice, shard_start, shard_size and axis_index on every device of a mesh of 3 x 4, over one axis, two, and a part
/// of one, with sizes that do not divide, against the arithmetic of runtime/sharding/Sharding.h.
void checkShards(const MakeProgram &make);

/// Reductions over dimensions that do not divide, masked as by the partitioner, on every device.
void checkMasks(const MakeProgram &make);

/// Values share memory if one dies where the other is defined.
void checkDyingInputs(const MakeProgram &make);

/// A kernel whose outputs may, or just may not, overwrite its inputs.
struct OverwriteCase {
  std::string name, text;
  /// The number of pairs of input and output that may share memory if rows are computed one by one, and if threads run
  /// in any order.
  int inSequence = 0, inParallel = 0;
};
std::vector<OverwriteCase> getOverwriteCases();

/// Attention of 16-bit floats: rows of queries, columns of keys and values.
struct AttentionShape {
  /// The columns that a row sees: all, without a mask or with one that always holds; those up to it; the 20 before it;
  /// all after it (so the last row sees none); those up to it, where the mask says what is hidden.
  enum class Mask { None, All, Causal, Window, Behind, Hidden };
  int64_t batch, rows, columns, depth, width;
  std::string type = "bf16";
  Mask mask = Mask::None;
  bool transposesResult = false; ///< The result's rows come before its batch.
  double divisor = 2;            ///< Of the scores.
  std::string hidden = {};       ///< The number in place of a score that a row does not see; minus infinity if empty.
};
/// softmax(q k^T / divisor) v.
std::string attentionProgram(const AttentionShape &shape);
/// The same, and its gradients by q, k and v, for the cotangent w.
std::string attentionGradientProgram(const AttentionShape &shape);

} // namespace spmdc
