//===- DivisionByConstant.cpp - quotients without a division --------------===//

#include "passes/kernel/DivisionByConstant.h"

#include <cmath>
#include <limits>

using llvm::APFloat;

namespace spmdc {
namespace {

__extension__ using Wide = __int128;

/// The inverse of an odd number modulo 2^64. Each step of Newton's iteration doubles the correct bits, of which there
/// are three at first.
uint64_t invert(uint64_t odd) {
  uint64_t inverse = odd;
  for (int step = 0; step < 5; ++step)
    inverse *= 2 - odd * inverse;
  return inverse;
}

/// The pair for an integer divisor of p bits, 2^(p - 1) < divisor < 2^p, where p is the precision of Float.
template <typename Float> class PairFinder {
public:
  explicit PairFinder(int64_t divisor) : divisor(divisor) {
    Wide one = Wide(1) << (2 * p - 1), whole = one / divisor;
    high = static_cast<Float>(std::ldexp(static_cast<Float>(whole), 1 - 2 * p));
    // The rest of 1 / divisor, one rounding away from it: a quotient of two numbers of p bits.
    low = static_cast<Float>(
        std::ldexp(static_cast<Float>(one - whole * divisor) / static_cast<Float>(divisor), 1 - 2 * p));
  }

  /// The errors of `low` and of x * low are together at most 2^(2 - 2 p) of the quotient. So its rounding can be wrong
  /// only if the exact quotient is that near to the middle w / 2^s between two numbers (w odd, of p + 1 bits): if |2^s
  /// x - w divisor| <= 8. There are few such x, and all are tried.
  bool isCorrect() const {
    for (int s : {p, p + 1}) // Quotients from 1 to 2, and from 1/2 to 1.
      for (int64_t distance = -8; distance <= 8; ++distance)
        if (distance != 0 && !isCorrectAt(s, distance))
          return false;
    return true;
  }

  Float high, low;

private:
  static constexpr int p = std::numeric_limits<Float>::digits;

  /// Tries all x with 2^s x = w divisor + distance: w is known modulo a power of two.
  bool isCorrectAt(int s, int64_t distance) const {
    int zeros = __builtin_ctzll(static_cast<uint64_t>(divisor));
    int64_t scale = int64_t(1) << zeros, step = int64_t(1) << (s - zeros);
    if (distance % scale != 0 || distance / scale % 2 == 0) // Then w would be even.
      return true;
    uint64_t residue = (uint64_t(-(distance / scale)) * invert(static_cast<uint64_t>(divisor / scale))) &
                       static_cast<uint64_t>(step - 1);
    int64_t least = int64_t(1) << p;
    int64_t first = least + ((static_cast<int64_t>(residue) - least) % step + step) % step;
    for (int64_t w = first; w < 2 * least; w += step) {
      auto x = static_cast<int64_t>((Wide(w) * divisor + distance) >> s);
      if (x >= least / 2 && x < least && !isCorrectFor(static_cast<Float>(x)))
        return false;
    }
    return true;
  }

  bool isCorrectFor(Float x) const {
    Float low = x * this->low;
    return std::fma(x, high, low) == x / static_cast<Float>(divisor);
  }

  const int64_t divisor;
};

template <typename Float> std::optional<ReciprocalPair> findPair(Float divisor) {
  constexpr int p = std::numeric_limits<Float>::digits;
  // Neither part of the pair may be subnormal, nor the quotient of a number that has no tiny quotient.
  constexpr int farthest = -std::numeric_limits<Float>::min_exponent / 2;
  if (!std::isfinite(divisor) || divisor == 0)
    return std::nullopt;
  int exponent;
  auto integer = static_cast<int64_t>(std::ldexp(std::abs(std::frexp(divisor, &exponent)), p));
  if (std::abs(exponent) > farthest || (integer & (integer - 1)) == 0)
    return std::nullopt;
  PairFinder<Float> finder(integer);
  if (!finder.isCorrect())
    return std::nullopt;
  auto scaled = [&](Float part) {
    return std::copysign(std::ldexp(static_cast<double>(part), p - exponent), static_cast<double>(divisor));
  };
  return ReciprocalPair{scaled(finder.high), scaled(finder.low)};
}

} // namespace

std::optional<ReciprocalPair> findReciprocalPair(const APFloat &divisor) {
  if (&divisor.getSemantics() == &APFloat::IEEEsingle())
    return findPair(divisor.convertToFloat());
  if (&divisor.getSemantics() == &APFloat::IEEEdouble())
    return findPair(divisor.convertToDouble());
  return std::nullopt;
}

} // namespace spmdc
