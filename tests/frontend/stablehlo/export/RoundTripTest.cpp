//===- RoundTripTest.cpp - programs to StableHLO and back -----------------===//
//
// The importer reads each text that the exporter writes: the same parameters, results and values. The programs are
// those that are compared with JAX's values elsewhere, the cases of single operations, the examples, and random
// programs. run_in_jax.py beside this folder compares JAX's values of the exported texts; a developer runs it.
//
//===----------------------------------------------------------------------===//

#include "tests/frontend/stablehlo/export/RoundTripHelper.h"

#include "ir/spmd/SpmdOps.h"
#include "tests/ir/support/ReferenceCases.h"
#include "tests/programs/support/JaxValues.h"

#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

using namespace spmdc;
using nlohmann::json;

namespace {

const std::string kTests = SPMDC_SOURCE_DIR "/tests/";

std::string readText(const std::filesystem::path &path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> listStems(const std::string &folder, const std::string &extension) {
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == extension)
      names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<Tensor> readTensors(const json &list, mlir::MLIRContext &context) {
  std::vector<Tensor> tensors;
  for (const json &tensor : list)
    tensors.push_back(readTensor(tensor, context));
  return tensors;
}

class RoundTrip : public ::testing::Test {
protected:
  RoundTrip() { loadDialects(context); }
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
};

//===- Exports of JAX -----------------------------------------------------===//

class ExportsRoundTrip : public RoundTrip, public ::testing::WithParamInterface<std::string> {};

TEST_P(ExportsRoundTrip, HasTheValues) {
  std::string path = kTests + "frontend/stablehlo/data/" + GetParam();
  json test = json::parse(readText(path + ".json"));
  EXPECT_EQ(describeRoundTrip(context, GetParam() + ".mlir", readText(path + ".mlir"),
                              readTensors(test["arguments"], context)),
            "");
}

INSTANTIATE_TEST_SUITE_P(Programs, ExportsRoundTrip,
                         ::testing::ValuesIn(listStems(kTests + "frontend/stablehlo/data/", ".mlir")),
                         [](const auto &info) { return info.param; });

//===- Programs of the language -------------------------------------------===//

constexpr size_t kParts = 8; ///< Parts of the programs of a file, so that they run in parallel.

class ProgramsRoundTrip : public RoundTrip, public ::testing::WithParamInterface<std::tuple<std::string, size_t>> {};

TEST_P(ProgramsRoundTrip, HaveTheValues) {
  auto [file, part] = GetParam();
  json tests = json::parse(readText(kTests + "programs/jax/" + file + ".json"));
  for (size_t i = part; i < tests.size(); i += kParts)
    EXPECT_EQ(
        describeRoundTrip(context, file + ".spmd", tests[i]["program"], readTensors(tests[i]["arguments"], context)),
        "")
        << tests[i]["name"] << "\n"
        << tests[i]["program"].get<std::string>();
}

INSTANTIATE_TEST_SUITE_P(Files, ProgramsRoundTrip,
                         ::testing::Combine(::testing::ValuesIn(listStems(kTests + "programs/jax/", ".json")),
                                            ::testing::Range<size_t>(0, kParts)),
                         [](const auto &info) {
                           return std::get<0>(info.param) + "_" + std::to_string(std::get<1>(info.param));
                         });

/// Expressions of each function of the language, as JaxCasesTest.cpp makes programs of them, on a mesh of each group.
class CasesRoundTrip : public RoundTrip, public ::testing::WithParamInterface<std::string> {};

TEST_P(CasesRoundTrip, HaveTheValues) {
  for (const json &group : json::parse(readText(kTests + "programs/jax/cases/" + GetParam() + ".json"))) {
    const json &run = group["meshes"][0];
    std::string head =
        "mesh m(" + run["mesh"].get<std::string>() + ")\n" + group["declare"].get<std::string>() + "\nfn main(";
    llvm::ListSeparator parameterComma;
    for (const json &parameter : group["parameters"]) {
      auto name = parameter["name"].get<std::string>();
      head += std::string(llvm::StringRef(parameterComma)) + name + ": " + parameter["dtype"].get<std::string>() + "[";
      llvm::ListSeparator dimComma;
      for (auto [size, mark] : llvm::zip_equal(parameter["shape"], run["marks"][name]))
        head += std::string(llvm::StringRef(dimComma)) + std::to_string(size.get<int64_t>()) + mark.get<std::string>();
      head += "]";
    }
    for (const json &test : group["cases"]) {
      std::string text = head + ") { return (" + test["text"].get<std::string>() + "); }\n";
      EXPECT_EQ(describeRoundTrip(context, GetParam() + ".spmd", text, readTensors(group["parameters"], context)), "")
          << group["group"] << ", " << test["name"] << "\n"
          << text;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Files, CasesRoundTrip, ::testing::ValuesIn(listStems(kTests + "programs/jax/cases/", ".json")),
                         [](const auto &info) { return info.param; });

TEST_F(RoundTrip, OfRandomPrograms) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    GeneratorOptions generator;
    generator.seed = seed;
    std::string error;
    auto subject = makeSubject(context, generateCase(context, generator, Mode::Text), error);
    ASSERT_TRUE(mlir::succeeded(subject)) << error;
    EXPECT_EQ(describeRoundTrip(*subject->module, subject->arguments), "") << "seed " << seed << "\n" << subject->text;
  }
}

/// The arrays of these are too large for the reference evaluator.
TEST_F(RoundTrip, OfExamples) {
  int exported = 0;
  for (std::string folder : {"/examples/", "/benchmarks/programs/"})
    for (const std::string &name : listStems(SPMDC_SOURCE_DIR + folder, ".spmd")) {
      std::string difference = describeRoundTrip(context, name + ".spmd",
                                                 readText(SPMDC_SOURCE_DIR + folder + name + ".spmd"), std::nullopt);
      bool isRefused = difference.starts_with("not exported: StableHLO cannot print");
      EXPECT_TRUE(difference.empty() || isRefused) << name << ": " << difference;
      exported += isRefused ? 0 : 1;
    }
  EXPECT_GE(exported, 20);
}

//===- Single operations --------------------------------------------------===//

TEST_F(RoundTrip, OfEachOperation) {
  for (const ReferenceCase &reference : readReferenceCases(context)) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(reference.ir, &context);
    ASSERT_TRUE(module) << reference.ir;
    EXPECT_EQ(describeRoundTrip(*module, reference.inputs), "") << reference.name << "\n" << reference.ir;
  }
}

} // namespace
