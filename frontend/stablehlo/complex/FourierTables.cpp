//===- FourierTables.cpp - constants of Fourier transforms ----------------===//

#include "frontend/stablehlo/complex/FourierTables.h"

#include "runtime/support/RootOfUnity.h"

using spmd::rootOfUnity;

namespace spmdc::stablehlo {

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
