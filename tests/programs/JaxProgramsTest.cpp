//===- JaxProgramsTest.cpp - whole programs give JAX's values -------------===//
//
// Each file jax/*.json contains programs with arguments and the values that JAX computes (jax/make_*.py write it).
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

std::vector<std::string> listFiles() {
  std::vector<std::string> files;
  for (const auto &entry : std::filesystem::directory_iterator(SPMDC_SOURCE_DIR "/tests/programs/jax"))
    if (entry.path().extension() == ".json")
      files.push_back(entry.path().stem());
  std::sort(files.begin(), files.end());
  return files;
}

class JaxPrograms : public ::testing::TestWithParam<std::string> {};

TEST_P(JaxPrograms, Agree) {
  std::ifstream file(SPMDC_SOURCE_DIR "/tests/programs/jax/" + GetParam() + ".json");
  nlohmann::json cases = nlohmann::json::parse(file);
  ASSERT_FALSE(cases.empty());
  for (const nlohmann::json &test : cases) {
    SCOPED_TRACE(test["name"].get<std::string>());
    EXPECT_EQ(runBesideJax(GetParam() + ".spmd", test["program"], test), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Files, JaxPrograms, ::testing::ValuesIn(listFiles()),
                         [](const auto &info) { return info.param; });

} // namespace
