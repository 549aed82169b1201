#include "runtime/support/ByteHash.h"

#include <gtest/gtest.h>
#include <set>
#include <string>

using namespace spmd;

namespace {

// Of every length around the lanes' borders, each byte counts, and so does the length.
TEST(ByteHash, EveryByteCounts) {
  for (size_t size : {0u, 1u, 7u, 8u, 9u, 31u, 32u, 33u, 63u, 64u, 100u}) {
    std::string bytes(size, 'a');
    std::set<uint64_t> seen{hashBytes(bytes.data(), size)};
    EXPECT_EQ(seen.count(hashBytes(std::string(bytes).data(), size)), 1u);
    for (char &byte : bytes) {
      byte = 'b';
      seen.insert(hashBytes(bytes.data(), size));
      byte = 'a';
    }
    bytes += '\0';
    seen.insert(hashBytes(bytes.data(), size + 1));
    EXPECT_EQ(seen.size(), size + 2);
  }
}

// Beyond the limit blocks count that reach from the first byte to the last.
TEST(ByteHash, ASampleIsOfTheWholeLength) {
  constexpr size_t limit = 16 * 4096;
  std::string bytes(10 * limit, 'a');
  uint64_t whole = hashSample(bytes.data(), limit, limit);
  EXPECT_EQ(whole, hashBytes(bytes.data(), limit));
  uint64_t sample = hashSample(bytes.data(), bytes.size(), limit);
  EXPECT_NE(sample, hashSample(bytes.data(), bytes.size() - 1, limit));
  for (char *byte : {&bytes.front(), &bytes.back()}) {
    *byte = 'b';
    EXPECT_NE(sample, hashSample(bytes.data(), bytes.size(), limit));
    *byte = 'a';
  }
}

} // namespace
