//===- Random.cpp - random inputs -----------------------------------------===//

#include "runtime/io/Random.h"

#include <array>
#include <bit>
#include <cmath>

namespace spmd {
namespace {

/// erf_inv as XLA computes it in f32: Giles' two polynomials in w = -log1p(-x^2).
float erfInv(float x) {
  constexpr std::array<float, 9> central = {2.81022636e-08f,  3.43273939e-07f, -3.5233877e-06f,
                                            -4.39150654e-06f, 0.00021858087f,  -0.00125372503f,
                                            -0.00417768164f,  0.246640727f,    1.50140941f};
  constexpr std::array<float, 9> tail = {-0.000200214257f, 0.000100950558f, 0.00134934322f,
                                         -0.00367342844f,  0.00573950773f,  -0.0076224613f,
                                         0.00943887047f,   1.00167406f,     2.83297682f};
  float w = -std::log1p(-x * x);
  bool isCentral = w < 5;
  w = isCentral ? w - 2.5f : std::sqrt(w) - 3;
  float p = 0;
  for (float c : isCentral ? central : tail)
    p = c + p * w;
  return p * x;
}

} // namespace

std::pair<uint32_t, uint32_t> threefry2x32(std::pair<uint32_t, uint32_t> key, std::pair<uint32_t, uint32_t> counter) {
  constexpr std::array<std::array<int, 4>, 2> rotations = {{{13, 15, 26, 6}, {17, 29, 16, 24}}};
  std::array<uint32_t, 3> keys = {key.first, key.second, key.first ^ key.second ^ 0x1BD11BDA};
  uint32_t x0 = counter.first + keys[0], x1 = counter.second + keys[1];
  for (uint32_t round = 0; round < 5; ++round) {
    for (int rotation : rotations[round % 2]) {
      x0 += x1;
      x1 = std::rotl(x1, rotation) ^ x0;
    }
    x0 += keys[(round + 1) % 3];
    x1 += keys[(round + 2) % 3] + round + 1;
  }
  return {x0, x1};
}

float normalElement(uint64_t seed, uint64_t index) {
  auto split = [](uint64_t value) {
    return std::pair(static_cast<uint32_t>(value >> 32), static_cast<uint32_t>(value));
  };
  auto [high, low] = threefry2x32(split(seed), split(index));
  float unit = std::bit_cast<float>((high ^ low) >> 9 | 0x3f800000) - 1;
  // Uniform in (-1, 1): the lower end is the float after -1, as erf_inv(-1) is infinite.
  float lowest = std::nextafter(-1.0f, 0.0f);
  float uniform = std::fmax(lowest, unit * (1 - lowest) + lowest);
  return std::sqrt(2.0f) * erfInv(uniform);
}

} // namespace spmd
