//===- ByteTextTest.cpp - numbers of bytes as text ------------------------===//

#include "runtime/support/ByteText.h"

#include <gtest/gtest.h>

using spmd::bytesMistake;
using spmd::bytesText;
using spmd::comparedBytesTexts;
using spmd::parseBytes;

namespace {

TEST(ByteText, Written) {
  EXPECT_EQ(bytesText(0), "0 B");
  EXPECT_EQ(bytesText(1023), "1023 B");
  EXPECT_EQ(bytesText(1024), "1.0 KiB");
  EXPECT_EQ(bytesText(1.5 * 1024 * 1024 * 1024), "1.5 GiB");
  EXPECT_EQ(bytesText(4e18), "3552.7 PiB");
}

// Different sizes have different texts, even if they differ by less than the shown digits, or by part of a byte.
TEST(ByteText, Compared) {
  using Texts = std::pair<std::string, std::string>;
  EXPECT_EQ(comparedBytesTexts(1024, 2048), Texts("1.0 KiB", "2.0 KiB"));
  EXPECT_EQ(comparedBytesTexts(1024, 1024), Texts("1.0 KiB", "1.0 KiB"));
  EXPECT_EQ(comparedBytesTexts(31457284, 31457280), Texts("31457284 B", "31457280 B"));
  EXPECT_EQ(comparedBytesTexts(100.25, 100), Texts("101 B", "100 B"));
}

TEST(ByteText, Read) {
  EXPECT_EQ(parseBytes("100"), 100);
  EXPECT_EQ(parseBytes("100B"), 100);
  EXPECT_EQ(parseBytes("64MiB"), 67108864);
  EXPECT_EQ(parseBytes("1.5GiB"), 1610612736);
  EXPECT_EQ(parseBytes("2GB"), 2000000000);
  EXPECT_EQ(parseBytes("0"), 0);
  for (const char *wrong :
       {"", "MiB", "-1", "1.5", "0.3B", "64mib", "64 MiB", "1e3", "9e18B", "99999999TiB", "nan", "inf", "1MiBx"})
    EXPECT_EQ(parseBytes(wrong), std::nullopt) << wrong;
}

TEST(ByteText, Mistakes) {
  const std::string none = "is not a number of bytes such as 64MiB (B, KiB, MiB, GiB, TiB, KB, MB, GB, TB)";
  for (const char *wrong : {"", "MiB", "-1", "-99999999TiB", "1.5", "64mib", "nan", "inf", "99999999TiBx"})
    EXPECT_EQ(bytesMistake(wrong), none) << wrong;
  EXPECT_EQ(parseBytes("8388607TiB"), 9223370937343148032);
  const std::string many(400, '9');
  for (const std::string &large : {std::string("8388608TiB"), std::string("99999999999999GiB"), many, many + "GB"}) {
    EXPECT_EQ(parseBytes(large), std::nullopt) << large;
    EXPECT_EQ(bytesMistake(large), "is too large: a number of bytes is below 8388608TiB") << large;
  }
}

} // namespace
