//===- Crc32Parts.cpp - a checksum computed in parts ----------------------===//
//
// A CRC is a remainder of polynomials over GF(2): appending n zero bits to a part multiplies its remainder by x^n. The
// remainders of parts are added by exclusive or. The CRC-32 of zip starts with a register of ones and inverts the
// result; `finish` accounts for that, because it is the same for all sequences of one length.
//
//===----------------------------------------------------------------------===//

#include "runtime/io/Crc32Parts.h"

#include <array>

#include <zlib.h>

namespace spmd {
namespace {

/// Bit 31 is the coefficient of x^0, as in the register.
constexpr uint32_t kOne = 0x80000000u, kPolynomial = 0xedb88320u;

/// Returns the product modulo the polynomial.
constexpr uint32_t multiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (uint32_t bit = kOne; bit != 0; bit >>= 1) {
    if (a & bit)
      product ^= b;
    b = b & 1 ? (b >> 1) ^ kPolynomial : b >> 1; // Times x.
  }
  return product;
}

/// Entry k is x^(8 * 2^k).
constexpr std::array<uint32_t, 64> makePowers() {
  std::array<uint32_t, 64> powers{};
  uint32_t power = kOne >> 8;
  for (uint32_t &each : powers) {
    each = power;
    power = multiply(power, power);
  }
  return powers;
}
constexpr std::array<uint32_t, 64> kPowers = makePowers();

/// Returns x^(8 * bytes): the factor of a remainder that is followed by so many bytes.
uint32_t factorOf(uint64_t bytes) {
  uint32_t factor = kOne;
  for (size_t k = 0; bytes != 0; ++k, bytes >>= 1)
    if (bytes & 1)
      factor = multiply(factor, kPowers[k]);
  return factor;
}

} // namespace

uint32_t crc32Of(std::string_view bytes, uint32_t before) {
  return static_cast<uint32_t>(crc32_z(before, reinterpret_cast<const Bytef *>(bytes.data()), bytes.size()));
}

void Crc32Parts::add(uint64_t offset, std::string_view bytes) {
  if (offset < position) {
    flushed = getContribution();
    current = 0;
  } else if (offset > position && current != 0) {
    uint64_t gap = offset - position;
    if (gap != lastGap) {
      lastGap = gap;
      lastFactor = factorOf(gap);
    }
    current = multiply(lastFactor, current);
  }
  current = ~crc32Of(bytes, ~current); // zlib inverts the register before and after the bytes.
  position = offset + bytes.size();
}

uint32_t Crc32Parts::getContribution() const { return flushed ^ multiply(factorOf(size - position), current); }

uint32_t Crc32Parts::finish(uint32_t contributions, uint64_t size) {
  return contributions ^ ~multiply(factorOf(size), ~uint32_t(0));
}

} // namespace spmd
