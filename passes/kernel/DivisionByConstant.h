//===- DivisionByConstant.h - quotients without a division ------*- C++ -*-===//
//
// A division takes as long as a dozen multiplications. If the divisor c is known, x / c is x * high + x * low with one
// rounding at the end (a fused multiply-add), where high + low is 1 / c in twice the precision. This is the method of
// Brisebarre, Muller and Raina, "Accelerating correctly rounded floating-point division when the divisor is known in
// advance" (IEEE Transactions on Computers, 2004), with `high` rounded toward zero, so that zeros and infinities keep
// their sign.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/APFloat.h"

#include <optional>

namespace spmdc {

struct ReciprocalPair {
  double high = 0, low = 0; ///< Exact in the type of the divisor; of the same sign.
};

/// Returns the pair for a divisor of f32 or f64, if fma(x, high, x * low) is the correctly rounded x / divisor for each
/// x whose quotient is 0, infinite, NaN, or at least 2^48 (f32) or 2^106 (f64) times the least normal number, so that
/// x * low is no subnormal number; smaller quotients are off by at most one unit in the last place. Nullopt if there is
/// no such pair: the divisor is 0, infinite, NaN, a power of two (a multiplication alone is exact), far from 1, or one
/// of the few for which some x is rounded the other way.
std::optional<ReciprocalPair> findReciprocalPair(const llvm::APFloat &divisor);

} // namespace spmdc
