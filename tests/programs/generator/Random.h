//===- Random.h - repeatable random choices ---------------------*- C++ -*-===//
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace spmdc {

/// SplitMix64: the same numbers for a seed on every machine and with every standard library.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}

  uint64_t next() {
    state += 0x9E3779B97F4A7C15u;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  /// Returns an integer in [low, high].
  int64_t integer(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(next() % static_cast<uint64_t>(high - low + 1));
  }
  /// Returns true with a probability of `percent` %.
  bool chance(int percent) { return integer(0, 99) < percent; }
  /// Returns a number in [0, 1).
  double real() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  template <typename T> const T &pick(const std::vector<T> &values) {
    return values[static_cast<size_t>(integer(0, static_cast<int64_t>(values.size()) - 1))];
  }
  template <typename T> T pick(std::initializer_list<T> values) {
    return values.begin()[integer(0, static_cast<int64_t>(values.size()) - 1)];
  }

private:
  uint64_t state;
};

} // namespace spmdc
