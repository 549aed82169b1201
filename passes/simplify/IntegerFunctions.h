//===- IntegerFunctions.h - operations on known integers --------*- C++ -*-===//
//
// Each takes arrays whose elements are affine functions of positions in parts (KnownIntegers.h) and gives such an
// array, or nothing where the result is none. Element types do not matter here: results are mathematical integers.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/simplify/KnownIntegers.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace spmdc {

using MaybeKnown = std::optional<KnownIntegers>;

/// An array has no more parts. More are no slice of anything; on the way to few parts there may be one for each
/// multiple of a divisor.
inline constexpr size_t kMostKnownParts = 4096;

/// The function that is the same everywhere in an array like that.
inline AffineIndex constantOf(const KnownIntegers &array, int64_t value) {
  return {value, llvm::SmallVector<int64_t>(array.shape.size(), 0)};
}

/// An array of that shape with one element everywhere.
KnownIntegers splat(const KnownIntegers &like, int64_t value);

//===- Element by element -------------------------------------------------===//

/// a * x + b * y for a and b that are 1 or -1.
MaybeKnown combineArrays(KnownIntegers x, int64_t a, KnownIntegers y, int64_t b);
MaybeKnown multiply(KnownIntegers x, KnownIntegers y);
/// The quotient, or the remainder, of a division that rounds towards zero.
MaybeKnown divide(KnownIntegers x, KnownIntegers y, bool isRemainder);
/// 1 where the comparison holds, else 0.
MaybeKnown compare(ComparisonDirection direction, const KnownIntegers &x, const KnownIntegers &y);
/// The greater, or the lesser, of both.
MaybeKnown pick(const KnownIntegers &x, const KnownIntegers &y, bool isGreater);
/// `below`, `zero` or `above`, as the sign of the first array says.
MaybeKnown chooseBySign(const KnownIntegers &sign, KnownIntegers below, KnownIntegers zero, KnownIntegers above);
/// A function of elements that are constant in each part.
MaybeKnown combineConstants(KnownIntegers x, KnownIntegers y, llvm::function_ref<int64_t(int64_t, int64_t)> function);

//===- Positions ----------------------------------------------------------===//

MaybeKnown broadcast(const KnownIntegers &array, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dims);
/// Dimensions of size 1 come and go, and one dimension becomes several, or several one, where the function stays
/// affine.
MaybeKnown reshape(const KnownIntegers &array, llvm::ArrayRef<int64_t> shape);
MaybeKnown transpose(const KnownIntegers &array, llvm::ArrayRef<int64_t> perm);
/// One behind the other.
MaybeKnown concatenate(llvm::ArrayRef<const KnownIntegers *> operands, int64_t dim);
/// An array of that shape whose element i along dimension d is the other's element first[d] + step[d] * i.
KnownIntegers slice(const KnownIntegers &array, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> first,
                    llvm::ArrayRef<int64_t> step);

} // namespace spmdc
