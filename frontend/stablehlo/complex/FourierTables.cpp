//===- FourierTables.cpp - constants of Fourier transforms ----------------===//

#include "frontend/stablehlo/complex/FourierTables.h"

#include "runtime/support/RootOfUnity.h"

#include <algorithm>

using spmd::rootOfUnity;

namespace spmdc::stablehlo {

namespace {

size_t leastPrimeOf(size_t size) {
  for (size_t prime = 2; prime * prime <= size; ++prime)
    if (size % prime == 0)
      return prime;
  return size;
}

/// Writes the transform of the `size` numbers that are `step` apart to `result`. Of the total of the first call,
/// `roots` has the powers of a primitive root.
void transform(const std::complex<double> *numbers, size_t step, size_t size, const Numbers &roots,
               std::complex<double> *result) {
  if (size == 1) {
    *result = *numbers;
    return;
  }
  // Decimation in time: `prime` lists of every prime-th number, and sums of their transforms.
  size_t prime = leastPrimeOf(size), part = size / prime, stride = roots.size() / size;
  for (size_t i = 0; i < prime; ++i)
    transform(numbers + i * step, step * prime, part, roots, result + i * part);
  Numbers terms(prime);
  for (size_t k = 0; k < part; ++k) {
    for (size_t i = 0; i < prime; ++i)
      terms[i] = result[i * part + k];
    for (size_t at = k; at < size; at += part) {
      std::complex<double> sum = terms[0];
      for (size_t i = 1; i < prime; ++i)
        sum += terms[i] * roots[i * at % size * stride];
      result[at] = sum;
    }
  }
}

} // namespace

Numbers transformed(const Numbers &numbers, int sign) {
  size_t size = numbers.size();
  Numbers roots(size), result(size);
  for (size_t i = 0; i < size; ++i)
    roots[i] = rootOfUnity(sign * static_cast<int64_t>(i), static_cast<int64_t>(size));
  if (size > 0)
    transform(numbers.data(), 1, size, roots, result.data());
  return result;
}

int64_t convolutionLength(int64_t least) {
  constexpr int64_t unit = 8;
  int64_t best = INT64_MAX;
  for (int64_t fives = unit; fives < best; fives *= 5)
    for (int64_t threes = fives; threes < best; threes *= 3) {
      int64_t length = threes;
      while (length < least)
        length *= 2;
      best = std::min(best, length);
    }
  return best;
}

} // namespace spmdc::stablehlo
