//===- IntegerFunctions.h - operations on known integers --------*- C++ -*-===//
//
// Each function takes arrays whose elements are affine functions of positions in parts (KnownIntegers.h). It returns
// such an array, or nothing if the result is not one. Element types do not matter here: results are mathematical
// integers.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/simplify/KnownIntegers.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace spmdc {

using MaybeKnown = std::optional<KnownIntegers>;

/// The largest number of parts of an array. Lookups with more parts do not become slices; intermediate arrays may have
/// one part for each multiple of a divisor.
inline constexpr size_t kMostKnownParts = 4096;

/// The constant function of an array of that shape.
inline AffineIndex constantOf(const KnownIntegers &array, int64_t value) {
  return {value, llvm::SmallVector<int64_t>(array.shape.size(), 0)};
}

/// An array of the shape of `like` with all elements equal.
KnownIntegers splat(const KnownIntegers &like, int64_t value);

//===- Element-wise -------------------------------------------------------===//

/// a * x + b * y for a and b that are 1 or -1.
MaybeKnown combineArrays(KnownIntegers x, int64_t a, KnownIntegers y, int64_t b);
MaybeKnown multiply(KnownIntegers x, KnownIntegers y);
/// The quotient, or the remainder, of a division that rounds towards zero.
MaybeKnown divide(KnownIntegers x, KnownIntegers y, bool isRemainder);
/// 1 where the comparison holds, else 0.
MaybeKnown compare(ComparisonDirection direction, const KnownIntegers &x, const KnownIntegers &y);
/// The maximum or the minimum of both.
MaybeKnown pick(const KnownIntegers &x, const KnownIntegers &y, bool isGreater);
/// Selects `below`, `zero` or `above` by the sign of the first array.
MaybeKnown chooseBySign(const KnownIntegers &sign, KnownIntegers below, KnownIntegers zero, KnownIntegers above);
/// Applies a function to elements that are constant in each part.
MaybeKnown combineConstants(KnownIntegers x, KnownIntegers y, llvm::function_ref<int64_t(int64_t, int64_t)> function);

//===- Positions ----------------------------------------------------------===//

MaybeKnown broadcast(const KnownIntegers &array, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dims);
/// Adds or removes dimensions of size 1, and splits or merges dimensions if the function stays affine.
MaybeKnown reshape(const KnownIntegers &array, llvm::ArrayRef<int64_t> shape);
MaybeKnown transpose(const KnownIntegers &array, llvm::ArrayRef<int64_t> perm);
/// Concatenates arrays along `dim`.
MaybeKnown concatenate(llvm::ArrayRef<const KnownIntegers *> operands, int64_t dim);
/// An array of that shape whose element i along dimension d is the other's element first[d] + step[d] * i.
KnownIntegers slice(const KnownIntegers &array, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> first,
                    llvm::ArrayRef<int64_t> step);

} // namespace spmdc
