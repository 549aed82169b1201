//===- KnownIntegers.h - integers that the compiler knows -------*- C++ -*-===//
//
// Arrays of integers and bools that depend on constants and on positions alone, as formulas:
//
//   (arange(512) + 1) % 512      1 + i for 0 <= i < 511, and 0 for i = 511
//
// An array is a list of parts along one of its dimensions, and in each part an affine function of all positions. So the
// cost of knowing it depends on the number of parts, not on the number of elements.
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

/// An array whose elements are known.
struct KnownIntegers {
  /// Elements from `begin` up to `end` of the dimension `dim`, in full size along all others.
  struct Part {
    int64_t begin = 0, end = 0;
    AffineIndex value; ///< Of positions in the array.
  };

  llvm::SmallVector<int64_t> shape;
  int64_t dim = 0; ///< Along which the parts follow one another; of a scalar there is one part, from 0 to 1.
  std::vector<Part> parts;

  /// The least and the greatest element of a part.
  std::pair<int64_t, int64_t> getRange(const Part &part) const;
};

/// Finds out which values are known. Looks at each value once, and not at operands of very many operations in a row.
class IntegerKnowledge {
public:
  /// Null where elements depend on arguments, are floats or other functions of positions, where the array has no
  /// elements, or where it has very many parts.
  const KnownIntegers *find(mlir::Value value);

  /// The same elements, none below `low` and none above `high`.
  static std::optional<KnownIntegers> clamp(const KnownIntegers &array, int64_t low, int64_t high);

private:
  std::optional<KnownIntegers> evaluate(mlir::Operation *op);

  llvm::DenseMap<mlir::Value, std::unique_ptr<KnownIntegers>> known;
  int depth = 0; ///< Of operands of operands that are looked at.
};

} // namespace spmdc
