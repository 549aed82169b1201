//===- ExportedTest.cpp - exported programs give JAX's values -------------===//
//
// Each data/NAME.mlir is a program as JAX exports it; NAME.json has arguments and JAX's results (make_exported.py).
// Every program goes through every stage and runs on the devices of its mesh; padding is poison.
//
//===----------------------------------------------------------------------===//

#include "tests/programs/support/JaxValues.h"

#include "gtest/gtest.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

using namespace spmdc;

namespace {

const std::string kFolder = SPMDC_SOURCE_DIR "/tests/frontend/stablehlo/data/";

std::string readText(const std::string &path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> listPrograms() {
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(kFolder))
    if (entry.path().extension() == ".mlir")
      names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

class Exported : public ::testing::TestWithParam<std::string> {};

TEST_P(Exported, HasJaxValues) {
  nlohmann::json test = nlohmann::json::parse(readText(kFolder + GetParam() + ".json"));
  EXPECT_EQ(runBesideJax(GetParam() + ".mlir", readText(kFolder + GetParam() + ".mlir"), test), "");
}

/// The same programs as `exp.serialize()` writes them (portable/data).
/// A program of the sample that is kept serialized, too.
class ExportedInBytes : public ::testing::TestWithParam<std::string> {};

std::vector<std::string> listSerialized() {
  std::vector<std::string> names = listPrograms();
  std::erase_if(names, [](const std::string &name) {
    return readText(SPMDC_SOURCE_DIR "/tests/frontend/stablehlo/portable/data/" + name + ".bin").empty();
  });
  return names;
}

TEST_P(ExportedInBytes, HasJaxValues) {
  std::string bytes = readText(SPMDC_SOURCE_DIR "/tests/frontend/stablehlo/portable/data/" + GetParam() + ".bin");
  nlohmann::json test = nlohmann::json::parse(readText(kFolder + GetParam() + ".json"));
  EXPECT_EQ(runBesideJax(GetParam() + ".bin", bytes, test), "");
}

INSTANTIATE_TEST_SUITE_P(Programs, ExportedInBytes, ::testing::ValuesIn(listSerialized()),
                         [](const auto &info) { return info.param; });
INSTANTIATE_TEST_SUITE_P(Programs, Exported, ::testing::ValuesIn(listPrograms()),
                         [](const auto &info) { return info.param; });

} // namespace
