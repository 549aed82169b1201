//===- StreamedProducts.h - products of products, tile by tile --*- C++ -*-===//
//
// Attention multiplies twice: scores are a product over features, weights are element-wise functions of the scores, and
// results are products of the weights with other arrays. In memory, the scores of T positions are T x T elements. A
// streamed kernel never stores them: a block holds a tile of rows, streams all columns, and for each tile of columns it
// multiplies scores, computes weights in registers, and adds their products and sums to its results. The gradients of
// attention have the same form, with rows and columns in either role.
//
//   scores   S[row, column] = sum of held[row, feature] * streamed[column, feature], for each of some pairs of arrays
//   weights  W[row, column] = an element-wise function of the scores, and of arrays that are read at (row, column)
//   results  products R[row, feature] = sum over columns of W[row, column] * streamed[column, feature],
//            sums and maxima of W along a row
//
// If a weight is a softmax over the columns, the kernel computes the softmax on the way: it keeps the maximum and the
// sum of each row, and scales what it has so far when the maximum grows ("online softmax": Milakov and Gimelshein,
// 2018; Dao et al., FlashAttention, 2022). Scores and weights stay in f32 between operations, so their values are not
// rounded to the element types that the operations in the kernel have; the factors of products are, and so are the
// results.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/plan/PlanOps.h"
#include "passes/kernel/IndexMaps.h"

#include "llvm/ADT/SetVector.h"

#include <map>
#include <memory>
#include <optional>

namespace spmdc {

/// The largest contracted or free size of a factor. Its tiles must fit the shared memory of a block of a GPU, or the
/// second-level cache of a CPU.
inline constexpr int64_t kMaxStreamedWidth = 256;
/// Factors for matrix units are copied 16 bytes at a time, which are this many elements of 16 bits.
inline constexpr int64_t kStreamedUnit = 8;

/// Rows of a block on a CPU: all lanes of two vectors of 64 bytes of f32. Tiles are the same for all vectors, so that
/// the results are.
inline constexpr int64_t kStreamedRows = 32;

/// The units that multiply the tiles of a streamed kernel.
enum class StreamUnit {
  Matrix, ///< Matrix units of a GPU: factors are 16-bit floats, in rows that are aligned to kStreamedUnit elements.
  Vector  ///< Vector units of a CPU: factors are floats.
};

struct StreamedProducts {
  /// A factor of a product: rows of `width` adjacent elements, in an array in memory.
  struct Factor {
    mlir::Value array;
    IndexExpr position; ///< Of an element in the array; linear in the variables, with coefficient 1 for the feature.
    int64_t width = 0;
    bool operator==(const Factor &other) const { return array == other.array && position == other.position; }
  };
  struct Score {
    DotGeneralOp op;
    Index index; ///< Of the score in the result of `op`.
    Factor held, streamed;
  };
  /// A result of the kernel: a product of weights with a factor, or a reduction of weights along a row.
  struct Result {
    mlir::Operation *op = nullptr; ///< A dot_general or a reduce.
    mlir::Value weight;            ///< The weight: an operand of `op`.
    std::optional<Factor> streamed;
    IndexExpr position; ///< Of an element in the array that the kernel returns.
    int64_t width = 0;  ///< Of a product: the size along the feature.
  };
  /// The weight of every product is exp(exponent - max) / sum.
  struct Softmax {
    mlir::Value exponent;
    ReduceOp max, sum;
  };

  StreamUnit unit = StreamUnit::Matrix;
  std::shared_ptr<KernelIndexing> indexing;
  llvm::SmallVector<int64_t> batchShape;
  Index batchVars;
  int64_t rows = 0, columns = 0;
  IndexExpr rowVar, columnVar;
  std::map<int64_t, IndexExpr> featureVars; ///< By width.
  /// The index of a weight, in the operand of any result.
  Index weightIndex;
  llvm::SmallVector<Score> scores;
  llvm::SmallVector<Result> results;
  std::optional<Softmax> softmax;
  /// The operations that compute the results, and the values that they read from memory.
  llvm::SetVector<mlir::Operation *> ops;
  llvm::SetVector<mlir::Value> inputs;

  /// The kernel that computes these values: each a dot_general, a transpose of one, or a reduce. `withSoftmax`: rows'
  /// maxima and sums that a softmax over the columns needs are computed on the way, not read. `isWeight` distinguishes
  /// the weights of a product from its other factor. Nullopt if the values have no such form.
  static std::optional<StreamedProducts> match(llvm::ArrayRef<mlir::Value> values, bool withSoftmax, StreamUnit unit,
                                               llvm::function_ref<bool(mlir::Value)> isWeight);
  /// The same of an outlined kernel, which has the attribute `streamed`. Emits an error if its body has another form.
  static mlir::FailureOr<StreamedProducts> of(plan::KernelOp kernel);
  /// The number of blocks of so many rows, over all batches.
  int64_t countRowBlocks(int64_t rowsOfBlock) const;
  std::string str() const;
};

/// Attribute of streamed kernels: the name of their unit, "matrix" or "vector".
inline constexpr llvm::StringLiteral kStreamedAttrName = "streamed";
llvm::StringRef stringifyStreamUnit(StreamUnit unit);

/// Whether arrays of this element type can be factors.
bool canStream(mlir::Type elementType, StreamUnit unit);

/// The array without dimension `dim` of which `value` is the broadcast along it, possibly converted; null if it is
/// none. Other dimensions of size 1 may be missing, or be there.
mlir::Value findRowValue(mlir::Value value, int64_t dim);
/// The same, if that is a reduce over the dimension.
ReduceOp findBroadcastReduce(mlir::Value value, int64_t dim);
/// The value behind conversions between float types.
mlir::Value skipConverts(mlir::Value value);

} // namespace spmdc
