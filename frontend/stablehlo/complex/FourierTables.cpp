//===- FourierTables.cpp - constants of Fourier transforms ----------------===//

#include "frontend/stablehlo/complex/FourierTables.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace spmdc::stablehlo {

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

/// Whether `size` is a product of `count` factors of at most `largest`; they are added to `factors`, in falling order.
static bool factorize(int64_t size, int64_t count, int64_t largest, std::vector<int64_t> &factors) {
  if (count == 1) {
    if (size > largest)
      return false;
    factors.push_back(size);
    return true;
  }
  // The largest factor is at least the root, and best near it.
  auto least =
      static_cast<int64_t>(std::ceil(std::pow(static_cast<double>(size), 1.0 / static_cast<double>(count)) - 1e-9));
  for (int64_t factor = std::max<int64_t>(least, 2); factor <= std::min(largest, size); ++factor) {
    if (size % factor)
      continue;
    factors.push_back(factor);
    if (factorize(size / factor, count - 1, factor, factors))
      return true;
    factors.pop_back();
  }
  return false;
}

std::vector<int64_t> radicesOf(int64_t size) {
  std::vector<int64_t> primes, factors;
  int64_t rest = size;
  for (int64_t prime = 2; prime * prime <= rest; ++prime)
    for (; rest % prime == 0; rest /= prime)
      if (prime > kMaxRadix)
        primes.push_back(prime);
  if (rest > kMaxRadix)
    primes.push_back(rest);
  int64_t small = size;
  for (int64_t prime : primes) {
    if (prime > kMaxPrime)
      return {};
    small /= prime;
  }
  if (small > 1 || primes.empty())
    for (int64_t count = 1; !factorize(small, count, kMaxRadix, factors); ++count)
      factors.clear();
  factors.insert(factors.begin(), primes.begin(), primes.end());
  return factors;
}

Numbers transformed(Numbers numbers, int sign) {
  size_t size = numbers.size();
  Numbers roots(size);
  for (size_t i = 0; i < size; ++i)
    roots[i] = rootOfUnity(sign * static_cast<int64_t>(i), static_cast<int64_t>(size));
  // Decimation in frequency: sums and differences of halves, then the elements in the order of reversed bits.
  for (size_t half = size / 2; half > 0; half /= 2)
    for (size_t block = 0; block < size; block += 2 * half)
      for (size_t i = 0; i < half; ++i) {
        std::complex<double> x = numbers[block + i], y = numbers[block + half + i];
        numbers[block + i] = x + y;
        numbers[block + half + i] = (x - y) * roots[i * (size / 2 / half)];
      }
  for (size_t i = 0, reversed = 0; i < size; ++i) {
    if (i < reversed)
      std::swap(numbers[i], numbers[reversed]);
    size_t bit = size / 2;
    for (; bit > 0 && (reversed & bit); bit /= 2)
      reversed ^= bit;
    reversed |= bit;
  }
  return numbers;
}

} // namespace spmdc::stablehlo
