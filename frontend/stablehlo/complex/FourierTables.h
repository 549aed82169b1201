//===- FourierTables.h - constants of Fourier transforms --------*- C++ -*-===//
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

namespace spmdc::stablehlo {

using Numbers = std::vector<std::complex<double>>;

/// The transform of a list, in double precision: size times the sum of its primes multiplications.
Numbers transformed(const Numbers &numbers, int sign);

/// The length of the transforms that compute a convolution of at least `least` elements: the next multiple of 8 whose
/// primes are 2, 3 and 5, for which there are fast passes. At most an eighth longer than `least`, from 192 on.
int64_t convolutionLength(int64_t least);

} // namespace spmdc::stablehlo
