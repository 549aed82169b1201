//===- KnownIntegers.h - integers that the compiler knows -------*- C++ -*-===//
//
// Compile-time formulas for arrays of integers and bools that depend only on constants and positions:
//
//   (arange(512) + 1) % 512      1 + i for 0 <= i < 511, and 0 for i = 511
//
// An array is a list of parts along one of its dimensions; in each part it is an affine function of all positions. So
// the cost depends on the number of parts, not on the number of elements.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"

#include "llvm/ADT/DenseMap.h"

#include <memory>
#include <optional>
#include <vector>

namespace spmdc {

/// base + strides[0] * i[0] + strides[1] * i[1] + ...
struct AffineIndex {
  int64_t base = 0;
  llvm::SmallVector<int64_t> strides;

  bool operator==(const AffineIndex &) const = default;
  bool isConstant() const {
    return llvm::all_of(strides, [](int64_t stride) { return stride == 0; });
  }
};

/// An array whose elements are known at compile time.
struct KnownIntegers {
  /// Elements `begin` to `end - 1` of the dimension `dim`, in full size along all others.
  struct Part {
    int64_t begin = 0, end = 0;
    AffineIndex value; ///< A function of positions in the array.
  };

  llvm::SmallVector<int64_t> shape;
  int64_t dim = 0; ///< The dimension that parts divide; a scalar has one part, from 0 to 1.
  std::vector<Part> parts;

  /// The least and the greatest element of a part.
  std::pair<int64_t, int64_t> getRange(const Part &part) const;
};

/// Finds and caches the known integers of values, following chains of up to kMostDepth operations.
class IntegerKnowledge {
public:
  /// Null if elements depend on arguments, are floats or not affine in positions, or if the array has no elements or
  /// very many parts.
  const KnownIntegers *find(mlir::Value value);

  /// The elements, limited to at least `low` and at most `high`.
  static std::optional<KnownIntegers> clamp(const KnownIntegers &array, int64_t low, int64_t high);

private:
  std::optional<KnownIntegers> evaluate(mlir::Operation *op);

  llvm::DenseMap<mlir::Value, std::unique_ptr<KnownIntegers>> known;
  int depth = 0; ///< The length of the chain of operands in progress.
};

} // namespace spmdc
