//===- JaxCasesTest.cpp - every operation gives JAX's values --------------===//
//
// The files jax/cases/*.json contain groups of cases: expressions over the same parameters, with the values that JAX
// computes (jax/cases/make_*.py write them; see oracle.py). A group is one program with a result for each case,
// compiled and run on three meshes, one of which divides no sharded dimension. Padding is poison. A failure names its
// case.
//
//===----------------------------------------------------------------------===//

#include "tests/programs/support/Case.h"
#include "tests/programs/support/CompiledRun.h"
#include "tests/programs/support/JaxValues.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

#include "gtest/gtest.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

using namespace spmdc;
using nlohmann::json;

namespace {

constexpr int kBlocks = 4; ///< Parts of the groups of a file, so that they run in parallel.

std::vector<std::string> listFiles() {
  std::vector<std::string> files;
  for (const auto &entry : std::filesystem::directory_iterator(SPMDC_SOURCE_DIR "/tests/programs/jax/cases"))
    if (entry.path().extension() == ".json")
      files.push_back(entry.path().stem());
  std::sort(files.begin(), files.end());
  return files;
}

json readGroups(const std::string &file) {
  std::ifstream stream(SPMDC_SOURCE_DIR "/tests/programs/jax/cases/" + file + ".json");
  return json::parse(stream);
}

/// Returns the program with these cases, each as a tuple.
std::string programOf(const json &group, const json &run, llvm::ArrayRef<const json *> cases) {
  std::string text =
      "mesh m(" + run["mesh"].get<std::string>() + ")\n" + group["declare"].get<std::string>() + "\nfn main(";
  llvm::ListSeparator parameterComma;
  for (const json &parameter : group["parameters"]) {
    auto name = parameter["name"].get<std::string>();
    text += std::string(llvm::StringRef(parameterComma)) + name + ": " + parameter["dtype"].get<std::string>() + "[";
    llvm::ListSeparator dimComma;
    for (auto [size, mark] : llvm::zip_equal(parameter["shape"], run["marks"][name]))
      text += std::string(llvm::StringRef(dimComma)) + std::to_string(size.get<int64_t>()) + mark.get<std::string>();
    text += "]";
  }
  text += ") {\n  return (";
  llvm::ListSeparator caseComma(",\n    ");
  for (const json *test : cases)
    text += std::string(llvm::StringRef(caseComma)) + "(" + (*test)["text"].get<std::string>() + ")";
  return text + ");\n}\n";
}

double unitOf(const std::string &dtype) {
  // As ULPS in oracle.py.
  static const std::map<std::string, double> units = {
      {"f64", 0x1p-49}, {"f32", 0x1p-20}, {"bf16", 0x1p-7}, {"f16", 0x1p-10}};
  auto it = units.find(dtype);
  return it == units.end() ? 0 : it->second;
}

/// Returns how a result differs from JAX's by more than the case allows; otherwise "".
std::string compare(const json &test, const json &result, const Tensor &actual, mlir::MLIRContext &context) {
  Tensor expected = readTensor(result, context);
  std::string text;
  llvm::raw_string_ostream os(text);
  if (expected.shape != actual.shape || expected.elementType != actual.elementType) {
    os << "is " << actual.elementType << json(std::vector<int64_t>(actual.shape.begin(), actual.shape.end())).dump()
       << ", JAX has " << result["dtype"].get<std::string>() << result["shape"].dump();
    return text;
  }
  double relative = test.value("ulps", 0.0) * unitOf(result["dtype"]), absolute = test.value("absolute", 0.0),
         largest = 0;
  for (const Scalar &element : expected.elements)
    if (std::isfinite(element.f))
      largest = std::max(largest, std::fabs(element.f));
  for (size_t i = 0; i < expected.elements.size(); ++i) {
    Scalar want = expected.elements[i], have = actual.elements[i];
    bool isSameFloat = (std::isnan(want.f) && std::isnan(have.f)) ||
                       (want.f == have.f && (std::signbit(want.f) == std::signbit(have.f) || absolute > 0)) ||
                       (std::isfinite(want.f) && std::isfinite(have.f) && want.f != have.f &&
                        std::fabs(want.f - have.f) <= relative * std::fabs(want.f) + absolute * largest);
    if (want.i == have.i && isSameFloat)
      continue;
    os << "element " << i << " is ";
    if (mlir::isa<mlir::FloatType>(expected.elementType))
      os << llvm::format("%.17g", have.f) << ", JAX has " << llvm::format("%.17g", want.f);
    else
      os << have.i << ", JAX has " << want.i;
    return text;
  }
  return text;
}

/// Compiles and runs the cases as one program.
mlir::FailureOr<llvm::SmallVector<Tensor>> runCases(const json &group, const json &run,
                                                    llvm::ArrayRef<const json *> cases, unsigned optimizationLevel,
                                                    mlir::MLIRContext &context, std::string &error) {
  std::vector<Tensor> arguments;
  for (const json &parameter : group["parameters"])
    arguments.push_back(readTensor(parameter, context));
  auto artifact =
      compileText(group["group"].get<std::string>() + ".spmd", programOf(group, run, cases), optimizationLevel, error);
  if (!artifact)
    return mlir::failure();
  return CompiledProgram(artifact).run(context, arguments, Poison::Nan, error);
}

void checkGroup(const json &group, const json &run, unsigned optimizationLevel) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  loadDialects(context);
  std::vector<const json *> cases;
  for (const json &test : group["cases"])
    cases.push_back(&test);
  std::string error;
  auto results = runCases(group, run, cases, optimizationLevel, context, error);
  if (mlir::failed(results)) {
    // Finds the case that fails.
    bool isFound = false;
    for (const json *test : cases) {
      std::string own;
      if (mlir::succeeded(runCases(group, run, test, optimizationLevel, context, own)))
        continue;
      ADD_FAILURE() << "case " << (*test)["name"] << ":\n" << own;
      isFound = true;
    }
    EXPECT_TRUE(isFound) << "all cases together:\n" << error;
    return;
  }
  size_t next = 0;
  for (const json *test : cases)
    for (auto [index, expected] : llvm::enumerate((*test)["results"])) {
      ASSERT_LT(next, results->size());
      EXPECT_EQ(compare(*test, expected, (*results)[next++], context), "")
          << "case " << (*test)["name"] << ", result " << index;
    }
  EXPECT_EQ(next, results->size());
}

class JaxCases : public ::testing::TestWithParam<std::tuple<std::string, int>> {};

TEST_P(JaxCases, Agree) {
  auto [file, block] = GetParam();
  json groups = readGroups(file);
  for (size_t i = block; i < groups.size(); i += kBlocks)
    for (auto [index, run] : llvm::enumerate(groups[i]["meshes"])) {
      SCOPED_TRACE(file + ", group " + groups[i]["group"].get<std::string>() + ", mesh " + run.dump());
      // -O1 or -O2, by turns, on one of the meshes: LLVM takes most of the time of this test.
      checkGroup(groups[i], run, index == i % 3 ? 1 + i % 2 : 0);
    }
}

INSTANTIATE_TEST_SUITE_P(Files, JaxCases,
                         ::testing::Combine(::testing::ValuesIn(listFiles()), ::testing::Range(0, kBlocks)),
                         [](const auto &info) {
                           return std::get<0>(info.param) + "_" + std::to_string(std::get<1>(info.param));
                         });

/// Returns whether a run shards a dimension, and every dimension that it shards is padded.
bool isNothingDivided(const json &group, const json &run) {
  std::map<std::string, int64_t> sizes;
  for (auto axes = llvm::split(run["mesh"].get_ref<const std::string &>(), ", "); llvm::StringRef axis : axes)
    axis.split('=').second.getAsInteger(10, sizes[axis.split('=').first.str()]);
  bool isSharded = false;
  for (const json &parameter : group["parameters"])
    for (auto [size, mark] : llvm::zip_equal(parameter["shape"], run["marks"][parameter["name"].get<std::string>()])) {
      int64_t parts = 1;
      for (const auto &[axis, count] : sizes)
        parts *= llvm::StringRef(mark.get_ref<const std::string &>()).contains(axis) ? count : 1;
      isSharded |= parts > 1;
      if (parts > 1 && size.get<int64_t>() % parts == 0)
        return false;
    }
  return isSharded;
}

// At least 600 cases that differ in more than their name, each on three meshes, one of which divides no dimension.
TEST(JaxCasesFiles, HoldEnough) {
  std::set<std::string> distinct;
  for (const std::string &file : listFiles())
    for (const json &group : readGroups(file)) {
      EXPECT_GE(group["meshes"].size(), 3u) << group["group"];
      EXPECT_TRUE(llvm::any_of(group["meshes"], [&](const json &run) { return isNothingDivided(group, run); }))
          << group["group"];
      for (const json &test : group["cases"])
        distinct.insert(group["declare"].dump() + group["parameters"].dump() + test["text"].dump());
    }
  RecordProperty("cases", static_cast<int>(distinct.size()));
  std::cout << "JAX's value for " << distinct.size() << " cases\n";
  EXPECT_GE(distinct.size(), 600u);
}

} // namespace
