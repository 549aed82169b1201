//===- FourierTables.h - constants of Fourier transforms --------*- C++ -*-===//
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

namespace spmdc::stablehlo {

using Numbers = std::vector<std::complex<double>>;

/// The transform of a list whose size is a power of two, in double precision.
Numbers transformed(Numbers numbers, int sign);

} // namespace spmdc::stablehlo
