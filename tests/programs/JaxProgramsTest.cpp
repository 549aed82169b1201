//===- JaxProgramsTest.cpp - whole programs give JAX's values -------------===//
//
// Each file jax/*.json contains programs with arguments and the values that JAX computes (jax/make_*.py write it).
// Every program goes through every stage and runs on the devices of its mesh; padding is poison.
//
//===----------------------------------------------------------------------===//

#include "tests/programs/support/Case.h"
#include "tests/programs/support/CompiledRun.h"
#include "tests/programs/support/JaxValues.h"

#include "gtest/gtest.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

using namespace spmdc;

namespace {

/// Returns where two results differ by more than `tolerance` times the largest expected element; otherwise "".
std::string compare(const Tensor &expected, const Tensor &actual, double tolerance) {
  if (expected.shape != actual.shape || expected.elementType != actual.elementType)
    return "another type";
  double largest = 0;
  for (const Scalar &element : expected.elements)
    if (std::isfinite(element.f))
      largest = std::max(largest, std::fabs(element.f));
  for (size_t i = 0; i < expected.elements.size(); ++i) {
    Scalar want = expected.elements[i], have = actual.elements[i];
    bool isSame = want.i == have.i && (want.f == have.f || (std::isnan(want.f) && std::isnan(have.f)) ||
                                       std::fabs(want.f - have.f) <= tolerance * largest);
    if (!isSame)
      return "element " + std::to_string(i) + " is " + std::to_string(have.f) + " or " + std::to_string(have.i) +
             ", JAX has " + std::to_string(want.f) + " or " + std::to_string(want.i);
  }
  return "";
}

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
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    loadDialects(context);
    std::vector<Tensor> arguments;
    for (const nlohmann::json &argument : test["arguments"])
      arguments.push_back(readTensor(argument, context));
    std::string error;
    auto artifact = compileText(GetParam() + ".spmd", test["program"], /*optimizationLevel=*/2, error);
    if (!artifact) {
      ADD_FAILURE() << error;
      continue;
    }
    auto results = CompiledProgram(artifact).run(context, arguments, Poison::Nan, error);
    if (mlir::failed(results)) {
      ADD_FAILURE() << error;
      continue;
    }
    ASSERT_EQ(results->size(), test["results"].size());
    for (auto [index, result] : llvm::enumerate(*results))
      EXPECT_EQ(compare(readTensor(test["results"][index], context), result, test["tolerance"]), "")
          << "result " << index;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, JaxPrograms, ::testing::ValuesIn(listFiles()),
                         [](const auto &info) { return info.param; });

} // namespace
