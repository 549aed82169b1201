//===- RootOfUnity.cpp - constants of Fourier transforms ------------------===//

#include "runtime/support/RootOfUnity.h"

#include <cmath>
#include <numbers>

namespace spmd {

std::complex<double> rootOfUnity(int64_t numerator, int64_t denominator) {
  int64_t rest = numerator % denominator;
  rest += rest < 0 ? denominator : 0;
  // Within an eighth of the circle, where sine and cosine are exact to the last place; the others are its reflections.
  bool isLower = 2 * rest > denominator;
  if (isLower)
    rest = denominator - rest;
  bool isLeft = 4 * rest > denominator;
  int64_t twice = isLeft ? denominator - 2 * rest : 2 * rest; // Of the angle over pi.
  bool isSteep = 4 * twice > denominator;
  double angle = isSteep ? std::numbers::pi * static_cast<double>(denominator - 2 * twice) /
                               (2.0 * static_cast<double>(denominator))
                         : std::numbers::pi * static_cast<double>(twice) / static_cast<double>(denominator);
  double x = std::cos(angle), y = std::sin(angle);
  if (isSteep)
    std::swap(x, y);
  return {isLeft ? -x : x, isLower ? -y : y};
}

bool isFourierLength(int64_t length) {
  if (length < 1)
    return false;
  for (int64_t factor = 2; factor <= kMaxFourierPrime; ++factor)
    while (length % factor == 0)
      length /= factor;
  return length == 1;
}

} // namespace spmd
