//===- FourierTables.h - the constants of one Fourier transform -*- C++ -*-===//
//
// A line of n complex numbers is transformed in place, one pass for each radix r, n = r m: sums over j1 of the numbers
// at j1 m + j2, times twiddle factors w_n^(j2 k1), then m numbers alike (decimation in frequency; Gentleman and Sande,
// 1966). The results are then in the order of reversed digits, which costs nothing, since they are read once more.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <vector>

namespace spmd {

/// Numbers of type T, real and imaginary parts by turns.
template <typename T> struct FourierPass {
  int64_t radix = 1, rest = 1; ///< r and m.
  std::vector<T> twiddles;     ///< For each j2 < m: w_n^(j2 k1) for 0 < k1 < r.
  std::vector<T> roots;        ///< w_r^k for k < r, if the radix has no formulas of its own.
};

/// The passes of a line.
template <typename T> struct FourierLine {
  int64_t size = 1;
  std::vector<FourierPass<T>> passes;
  std::vector<int64_t> places; ///< Where each frequency is after the passes.

  explicit FourierLine(int64_t size);
  FourierLine() = default;
};

/// A transform of n = rows * columns numbers as columns of one line and rows of another, with twiddle factors
/// w_n^(row column) between: the product of w_n^(row first) for the first column of a block of `lanes` columns, and of
/// w_n^(row lane).
template <typename T> struct FourierMatrix {
  FourierLine<T> column, row;
  std::vector<T> blocks; ///< [row, block]
  std::vector<T> lanes;  ///< [row, part, lane]

  FourierMatrix(int64_t size, int64_t lanes);
  FourierMatrix() = default;
};

/// w_n^k for k <= n / 4, for a transform of n real numbers, n even, by one of n / 2 complex ones: it has a factor for
/// each pair of frequencies k, n / 2 - k.
template <typename T> std::vector<T> pairTable(int64_t size);

} // namespace spmd
