//===- Crc32PartsTest.cpp - a checksum computed in parts ------------------===//

#include "runtime/io/Crc32Parts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

using spmd::crc32Of;
using spmd::Crc32Parts;

namespace {

/// The definition, bit by bit.
uint32_t plainCrc32(std::string_view bytes) {
  uint32_t value = ~0u;
  for (char c : bytes) {
    value ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit)
      value = value & 1 ? (value >> 1) ^ 0xedb88320u : value >> 1;
  }
  return ~value;
}

TEST(Crc32Parts, is_that_of_zip) {
  EXPECT_EQ(plainCrc32("123456789"), 0xcbf43926u); // The check value of the standard's catalogue.
  EXPECT_EQ(crc32Of("123456789"), 0xcbf43926u);
  EXPECT_EQ(crc32Of("6789", crc32Of("12345")), 0xcbf43926u);
  EXPECT_EQ(Crc32Parts::finish(0, 0), 0u);
  EXPECT_EQ(Crc32Parts::finish(Crc32Parts(0).getContribution(), 0), plainCrc32(""));
}

TEST(Crc32Parts, parts_in_any_order_of_any_number_of_readers) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::string bytes(random() % 200, '\0');
    for (char &c : bytes)
      c = static_cast<char>(random() % 3 == 0 ? 0 : random());
    std::vector<std::pair<uint64_t, uint64_t>> parts; // (offset, size).
    for (uint64_t begin = 0; begin < bytes.size();) {
      uint64_t size = std::min<uint64_t>(random() % 9, bytes.size() - begin);
      parts.emplace_back(begin, size);
      begin += size;
    }
    if (round % 3 > 0)
      std::shuffle(parts.begin(), parts.end(), random);
    std::vector<Crc32Parts> readers(1 + random() % 4, Crc32Parts(bytes.size()));
    for (auto [begin, size] : parts)
      readers[random() % readers.size()].add(begin, std::string_view(bytes).substr(begin, size));
    uint32_t contributions = 0;
    for (const Crc32Parts &reader : readers)
      contributions ^= reader.getContribution();
    ASSERT_EQ(Crc32Parts::finish(contributions, bytes.size()), plainCrc32(bytes)) << round;
  }
}

TEST(Crc32Parts, columns_of_a_matrix) {
  constexpr size_t rows = 57, row = 40;
  std::string bytes(rows * row, '\0');
  std::mt19937 random(3);
  for (char &c : bytes)
    c = static_cast<char>(random());
  uint32_t contributions = 0;
  for (size_t begin = 0; begin < row; begin += 8) {
    Crc32Parts reader(bytes.size());
    for (size_t r = 0; r < rows; ++r)
      reader.add(r * row + begin, std::string_view(bytes).substr(r * row + begin, 8));
    contributions ^= reader.getContribution();
  }
  EXPECT_EQ(Crc32Parts::finish(contributions, bytes.size()), plainCrc32(bytes));
}

TEST(Crc32Parts, sizes_beyond_memory) {
  // Zeros do not change a remainder; x^(2^32 - 1) = 1 for a primitive polynomial, so 2^32 - 1 more bytes change
  // nothing.
  constexpr uint64_t period = (uint64_t(1) << 32) - 1;
  Crc32Parts parts(5 + 7 * period);
  parts.add(0, "spmdc");
  EXPECT_EQ(Crc32Parts::finish(parts.getContribution(), 5 + 7 * period), plainCrc32("spmdc"));
}

} // namespace
