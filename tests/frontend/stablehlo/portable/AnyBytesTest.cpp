//===- AnyBytesTest.cpp - exports in bytes with random changes ------------===//
//
// Any bytes give a text or a cause, and the text a module or errors: never a crash, a hang, or an assertion. The bytes
// are those of JAX's exports in which a few are replaced, doubled, left out, or taken from another export.
//
//===----------------------------------------------------------------------===//

#include "tests/frontend/stablehlo/portable/PortableHelper.h"

#include "frontend/stablehlo/portable/Flatbuffer.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <fstream>
#include <random>

using namespace spmdc;

namespace {

std::string changed(std::string bytes, const std::string &other, std::mt19937 &random) {
  const unsigned char values[] = {0, 1, 2, 3, 5, 7, 9, 127, 128, 255};
  for (unsigned count = 1 + random() % 3; count > 0 && bytes.size() > 8; --count) {
    size_t at = random() % bytes.size(), length = 1 + random() % 8;
    switch (random() % 8) {
    case 0:
      bytes.insert(at, other.substr(random() % other.size(), length));
      break;
    case 1:
      bytes.erase(at, length);
      break;
    case 2:
      bytes.insert(at, bytes.substr(at, length));
      break;
    case 3:
      bytes[at] = static_cast<char>(values[random() % std::size(values)]);
      break;
    case 4: // The next number of one byte: these name other elements.
      bytes[at] = static_cast<char>(bytes[at] + 2);
      break;
    case 5:
      bytes[at] = static_cast<char>(bytes[at] - 2);
      break;
    case 6:
      bytes[at] = static_cast<char>(bytes[at] ^ 1 << random() % 8);
      break;
    default:
      bytes[at] = other[random() % other.size()];
    }
  }
  return bytes;
}

unsigned numberOf(const char *variable, unsigned otherwise) {
  const char *text = std::getenv(variable);
  return text ? static_cast<unsigned>(std::stoul(text)) : otherwise;
}

TEST(AnyBytes, GiveATextOrACause) {
  std::vector<std::string> programs;
  for (const std::string &name : listExports()) {
    programs.push_back(readBytes(portableFolder() + name + ".bin"));
    programs.push_back(stablehlo::portable::readSerializedExport(programs.back())->artifact.str());
  }
  unsigned first = numberOf("SPMD_SEED", 1), count = numberOf("SPMD_CASES", 4000), read = 0, imported = 0;
  for (unsigned seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::string bytes = changed(programs[random() % programs.size()], programs[random() % programs.size()], random);
    if (std::getenv("SPMD_SEED"))
      std::ofstream(testing::TempDir() + "any-bytes.bin", std::ios::binary)
          << bytes; // The last one is the one that crashed.
    std::string text = textOrCause(bytes);
    ASSERT_NE(text, "");
    if (text.starts_with("error: "))
      continue;
    ++read;
    std::string ir = importedIr(text);
    ASSERT_NE(ir, "");
    imported += ir.find("error: ") == std::string::npos;
  }
  EXPECT_GT(read, count / 20); // Changes of names, constants and locations leave a program.
  EXPECT_GT(imported, count / 40);
}

} // namespace
