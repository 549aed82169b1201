//===- RootOfUnity.h - constants of Fourier transforms ----------*- C++ -*-===//
#pragma once

#include <complex>
#include <cstdint>

namespace spmd {

/// e^(2 pi i numerator / denominator), from an angle that is reduced as integers. The denominator is positive and at
/// most 2^61.
std::complex<double> rootOfUnity(int64_t numerator, int64_t denominator);

/// The largest prime by which a transform's passes divide a length; others are computed as convolutions.
inline constexpr int64_t kMaxFourierPrime = 127;
/// Whether passes can transform this many elements: the length is positive, and its primes are at most
/// kMaxFourierPrime.
bool isFourierLength(int64_t length);

} // namespace spmd
