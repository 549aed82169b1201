//===- FourierTables.h - constants of Fourier transforms --------*- C++ -*-===//
//
// Computed in double precision, from angles that are reduced as integers.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

namespace spmdc::stablehlo {

using Numbers = std::vector<std::complex<double>>;

/// e^(2 pi i numerator / denominator).
std::complex<double> rootOfUnity(int64_t numerator, int64_t denominator);

/// The factors of a transform of `size` elements by mixed radices, each at most kMaxRadix: their product is the size.
/// They are few and of similar sizes, since each is a product over all elements. Empty if the size has a prime factor
/// that is larger.
std::vector<int64_t> radicesOf(int64_t size);

/// A larger radix is not faster: its product has more work than two smaller ones read and write memory. A prime one is,
/// since the alternative is three transforms of twice the size.
inline constexpr int64_t kMaxRadix = 64, kMaxPrime = 128;

/// The transform of a list whose size is a power of two.
Numbers transformed(Numbers numbers, int sign);

} // namespace spmdc::stablehlo
