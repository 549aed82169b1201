//===- FourierTables.cpp - the constants of one Fourier transform ---------===//

#include "runtime/device/cpu/FourierTables.h"

#include "runtime/support/RootOfUnity.h"

#include <algorithm>
#include <cmath>

namespace spmd {
namespace {

template <typename T> void append(std::vector<T> &table, int64_t numerator, int64_t denominator) {
  std::complex<double> root = rootOfUnity(-numerator, denominator);
  table.push_back(static_cast<T>(root.real()));
  table.push_back(static_cast<T>(root.imag()));
}

/// The radices of the passes, the largest first: fewer passes then read more than a core's first cache holds. Powers of
/// two are taken by sixteens and eights, whose formulas need few products.
std::vector<int64_t> radicesOf(int64_t size) {
  std::vector<int64_t> radices;
  int64_t twos = 0;
  for (; size % 2 == 0; size /= 2)
    ++twos;
  for (int64_t prime = 3; size > 1; prime += 2) {
    if (prime * prime > size)
      prime = size;
    for (; size % prime == 0; size /= prime)
      radices.push_back(prime);
  }
  for (; twos > 4 || twos == 3; twos -= 3)
    radices.push_back(8);
  if (twos > 0)
    radices.push_back(int64_t(1) << twos);
  std::sort(radices.rbegin(), radices.rend());
  return radices;
}

} // namespace

template <typename T> FourierLine<T>::FourierLine(int64_t size) : size(size) {
  int64_t rest = size;
  for (int64_t radix : radicesOf(size)) {
    FourierPass<T> &pass = passes.emplace_back();
    int64_t length = rest;
    pass.radix = radix;
    pass.rest = rest /= radix;
    for (int64_t j = 0; j < rest; ++j)
      for (int64_t k = 1; k < radix; ++k)
        append(pass.twiddles, j * k, length);
    if (radix > 5 && radix % 2)
      for (int64_t k = 0; k < radix; ++k)
        append(pass.roots, k, radix);
  }
  for (int64_t k = 0; k < size; ++k) {
    int64_t place = 0, digits = k;
    for (const FourierPass<T> &pass : passes) {
      place += digits % pass.radix * pass.rest;
      digits /= pass.radix;
    }
    places.push_back(place);
  }
}

template <typename T> FourierMatrix<T>::FourierMatrix(int64_t size, int64_t laneCount) {
  // Near the root, and multiples of the lanes where there are such.
  int64_t rows = 1;
  double best = 0;
  for (int64_t factor = 1; factor * factor <= size; ++factor) {
    if (size % factor)
      continue;
    for (int64_t count : {factor, size / factor}) {
      auto used = [&](int64_t n) {
        return static_cast<double>(n) / static_cast<double>((n + laneCount - 1) / laneCount * laneCount);
      };
      double balance = static_cast<double>(factor * factor) / static_cast<double>(size);
      double value = used(count) * used(size / count) * std::pow(balance, 0.125);
      if (value > best) {
        best = value;
        rows = count;
      }
    }
  }
  int64_t columns = size / rows;
  column = FourierLine<T>(rows);
  row = FourierLine<T>(columns);
  for (int64_t k = 0; k < rows; ++k) {
    for (int64_t first = 0; first < columns; first += laneCount)
      append(blocks, k * first, size);
    std::vector<T> numbers;
    for (int64_t lane = 0; lane < laneCount; ++lane)
      append(numbers, k * lane, size);
    for (size_t part : {0, 1})
      for (size_t lane = 0; lane < static_cast<size_t>(laneCount); ++lane)
        lanes.push_back(numbers[2 * lane + part]);
  }
}

template <typename T> std::vector<T> pairTable(int64_t size) {
  std::vector<T> table;
  for (int64_t k = 0; k <= size / 4; ++k)
    append(table, k, size);
  return table;
}

template struct FourierLine<float>;
template struct FourierLine<double>;
template struct FourierMatrix<float>;
template struct FourierMatrix<double>;
template std::vector<float> pairTable(int64_t size);
template std::vector<double> pairTable(int64_t size);

} // namespace spmd
