//===- PortableTest.cpp - exports in bytes are those in text --------------===//
//
// data/NAME.bin is what JAX serializes, data/NAME.mlir its text of the same export, and data/NAME.generic.mlir that
// text in MLIR's generic form (make_exported.py --portable).
//
//===----------------------------------------------------------------------===//

#include "tests/frontend/stablehlo/portable/PortableHelper.h"

#include "frontend/stablehlo/portable/Flatbuffer.h"
#include "frontend/stablehlo/portable/Portable.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <regex>

using namespace spmdc;

namespace {

class Portable : public ::testing::TestWithParam<std::string> {
protected:
  std::string bytes = readBytes(portableFolder() + GetParam() + ".bin");
  std::string text = readBytes(portableFolder() + GetParam() + ".mlir");
};

TEST_P(Portable, IsTheProgramOfTheText) {
  std::string fromBytes = textOrCause(bytes), expected = importedIr(text);
  ASSERT_FALSE(fromBytes.starts_with("error: ")) << fromBytes;
  ASSERT_EQ(expected.find("error: "), std::string::npos) << expected;
  ASSERT_THAT(expected, ::testing::HasSubstr("func.func @main"));
  EXPECT_EQ(importedIr(fromBytes), expected);
}

/// The numbers of lines and columns in f.mlir differ: this text is printed by another version of MLIR.
std::string withoutTextPlaces(const std::string &ir) {
  return std::regex_replace(ir, std::regex("\"f.mlir\":[0-9]+:[0-9]+"), "\"f.mlir\"");
}

TEST_P(Portable, HasThePlacesOfTheText) {
  EXPECT_EQ(withoutTextPlaces(importedIr(textOrCause(bytes), /*withLocations=*/true)),
            withoutTextPlaces(importedIr(text, /*withLocations=*/true)));
}

/// MLIR's generic form has no places of arguments in the text.
TEST_P(Portable, HasAGenericForm) {
  std::string generic = readBytes(portableFolder() + GetParam() + ".generic.mlir");
  if (!generic.empty())
    EXPECT_EQ(importedIr(generic), importedIr(text));
}

TEST_P(Portable, IsTheSameWithoutTheFlatbuffer) {
  std::optional<stablehlo::portable::SerializedExport> exported = stablehlo::portable::readSerializedExport(bytes);
  ASSERT_TRUE(exported);
  EXPECT_TRUE(stablehlo::isPortable(bytes) && stablehlo::isPortable(exported->artifact));
  EXPECT_EQ(textOrCause(exported->artifact.str()), textOrCause(bytes));
}

INSTANTIATE_TEST_SUITE_P(Exports, Portable, ::testing::ValuesIn(listExports()),
                         [](const auto &info) { return info.param; });

} // namespace
