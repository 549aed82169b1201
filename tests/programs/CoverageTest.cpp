//===- CoverageTest.cpp - random programs have every operation ------------===//
//
// Fails for an operation of the language, of the dialects, or of the generator's own tables that none of some hundred
// random programs has. To add an operation, add it to the generator (generator/Operations.h), or here with the reason.
//
//===----------------------------------------------------------------------===//

#include "frontend/Prelude.h"
#include "frontend/builtins/Builtins.h"
#include "passes/pipeline/Pipeline.h"
#include "tests/programs/generator/Operations.h"
#include "tests/programs/support/Case.h"

#include "tests/support/ElementTypes.h"
#include "gtest/gtest.h"

#include <cctype>
#include <map>
#include <regex>
#include <set>

using namespace spmdc;

namespace {

/// Enough for the rarest pair of an operation and a type, `power` of u16.
constexpr uint64_t kPrograms = 3600;

/// Operations that the language cannot express yet.
const std::map<std::string, std::string> kElsewhere = {
    {"array.print", "has no value to compare; tests/tools/control.test reads the printed text"},
    {"array.scatter", "for programs of StableHLO; the cases of tests/ir/array/reference.json have it"},
    {"array.fft", "for programs of StableHLO; the cases of tests/ir/array/reference.json have it"},
    {"array.scatter_add_along",
     "for derivatives of take_along_axis; the cases of tests/ir/array/reference.json have it"},
};

std::set<std::string> operationsOfTheDialects() {
  mlir::MLIRContext context;
  loadDialects(context);
  std::set<std::string> names;
  for (mlir::RegisteredOperationName name : context.getRegisteredOperations())
    if (name.getDialectNamespace() == "array" || name.getDialectNamespace() == "spmd")
      names.insert(name.getStringRef().str());
  return names;
}

/// The operations that the random programs of fixed seeds have.
struct Census {
  std::set<std::string> words;      ///< Names and operators in the texts.
  std::set<std::string> made;       ///< Entries of the generator's tables.
  std::set<std::string> operations; ///< Operations of the dialects, at all stages up to the partitioned program.
  std::map<std::string, std::set<spmd::DType>> dtypes; ///< The types of the first operand of each operation.

  void addText(const std::string &text) {
    for (size_t i = 0; i < text.size(); ++i) {
      if (std::isspace(static_cast<unsigned char>(text[i])))
        continue;
      size_t end = i;
      auto isWord = [&](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
      auto isOperator = [](char c) { return std::string("=!<>&|^*/%+-@").find(c) != std::string::npos; };
      if (isWord(text[i]))
        while (end < text.size() && isWord(text[end]))
          ++end;
      else
        while (end < text.size() && isOperator(text[end]))
          ++end;
      words.insert(text.substr(i, std::max(end - i, size_t(1))));
      i = std::max(end, i + 1) - 1;
    }
  }

  void addModule(mlir::ModuleOp module) {
    module.walk([&](mlir::Operation *op) {
      std::string name = op->getName().getStringRef().str();
      operations.insert(name);
      if (op->getNumOperands() > 0)
        if (auto type = llvm::dyn_cast<ArrayType>(op->getOperand(0).getType()))
          dtypes[name].insert(type.getDType());
    });
  }
};

/// Returns the program of a seed as IR, or null with a failed expectation.
mlir::FailureOr<Subject> subjectOf(uint64_t seed, mlir::MLIRContext &context, Census &census) {
  loadDialects(context);
  GeneratorOptions options;
  options.seed = seed;
  std::string error;
  Case test = generateCase(context, options, seed % 3 ? Mode::Text : Mode::Everything, &census.made);
  auto subject = makeSubject(context, test, error);
  if (mlir::failed(subject))
    ADD_FAILURE() << "seed " << seed << ": " << error;
  else
    census.addText(test.program.str());
  return subject;
}

Census takeCensus() {
  Census census;
  for (uint64_t seed = 1; seed <= kPrograms; ++seed) {
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    if (auto subject = subjectOf(seed, context, census); mlir::succeeded(subject))
      census.addModule(*subject->module);
  }
  // The partitioner creates the remaining operations, which costs more time: only until all have been seen.
  // RandomProgramsTest partitions all programs.
  std::set<std::string> missing = operationsOfTheDialects();
  for (uint64_t seed = 1; seed <= kPrograms; ++seed) {
    std::erase_if(missing,
                  [&](const std::string &name) { return census.operations.count(name) || kElsewhere.count(name); });
    if (missing.empty())
      break;
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    auto subject = subjectOf(seed, context, census);
    if (mlir::failed(subject))
      continue;
    // The propagated stage, too: optimization barriers around recomputed values exist only between differentiation and
    // partitioning.
    for (Stage stage : {Stage::Propagated, Stage::Partitioned}) {
      Stage reached = getStage(*subject->module);
      if (reached < stage && mlir::failed(runPipeline(*subject->module, reached, stage, {})))
        ADD_FAILURE() << "seed " << seed << " cannot be "
                      << (stage == Stage::Propagated ? "propagated" : "partitioned");
      census.addModule(*subject->module);
    }
  }
  return census;
}

/// `print` has no result; tests/tools/control.test tests it. Other operations that random programs cannot have are
/// added here with the reason.
const std::set<std::string_view> kNotInRandomPrograms = {"print"};

void expectEveryOperationOfTheLanguage(const Census &census) {
  for (std::string_view name : builtinNames())
    if (!kNotInRandomPrograms.count(name))
      EXPECT_TRUE(census.words.count(std::string(name))) << "no random program calls " << name;
}

void expectEveryFunctionOfThePrelude(const Census &census) {
  std::string text(preludeText());
  std::regex function("\\nfn ([a-z0-9_]+)");
  int count = 0;
  for (std::sregex_iterator match(text.begin(), text.end(), function), end; match != end; ++match, ++count)
    EXPECT_TRUE(census.words.count((*match)[1]) || kNotInRandomPrograms.count(match->str(1)))
        << "no random program calls " << (*match)[1];
  EXPECT_GE(count, 9);
}

void expectEveryOperator(const Census &census) {
  for (const char *text : {"+", "-",  "*",  "/",  "%", "@", "**", "==", "!=", "<", "<=",
                           ">", ">=", "&&", "||", "!", "&", "|",  "^",  "<<", ">>"})
    EXPECT_TRUE(census.words.count(text)) << "no random program has " << text;
}

void expectEveryDType(const Census &census) {
  for (spmd::DType dtype : spmd::test::elementTypes())
    EXPECT_TRUE(census.words.count(std::string(spmd::dtypeName(dtype))))
        << "no random program has " << spmd::dtypeName(dtype);
}

void expectEveryOperationOfTheGenerator(const Census &census) {
  for (const Operation &operation : allOperations())
    EXPECT_TRUE(census.made.count(operation.name)) << operation.name << " of the generator is never made";
}

void expectEveryOperationOfTheDialects(const Census &census) {
  for (const std::string &text : operationsOfTheDialects())
    EXPECT_NE(census.operations.count(text) > 0, kElsewhere.count(text) > 0)
        << text << (kElsewhere.count(text) ? " is made now: take it off the list" : " is in no random program");
}

// Each function of one float, and each operator, is used with every type that it takes.
void expectEveryTypeOfElementwiseOperations(const Census &census) {
  using spmd::DType;
  std::set<DType> floats, integers;
  for (DType dtype : spmd::test::elementTypes())
    if (dtype != DType::Bool)
      (spmd::isFloat(dtype) ? floats : integers).insert(dtype);
  auto expect = [&](const std::string &name, const std::set<DType> &types) {
    auto found = census.dtypes.find("array." + name);
    ASSERT_NE(found, census.dtypes.end()) << name;
    for (DType type : types)
      EXPECT_TRUE(found->second.count(type)) << "no random program has " << name << " of " << spmd::dtypeName(type);
  };
  for (const char *name : {"exp", "log", "sqrt", "sin", "tanh", "erf", "logistic", "atan2", "power", "divide"})
    expect(name, floats);
  for (const char *name : {"add", "multiply", "subtract", "maximum", "minimum", "reduce", "dot_general", "compare"}) {
    expect(name, floats);
    expect(name, integers);
  }
  for (const char *name : {"and", "or", "xor", "shift_left", "shift_right_arithmetic", "power", "remainder"})
    expect(name, integers);
}

// One test, so that the programs are generated once.
TEST(Coverage, RandomProgramsHaveEverything) {
  Census census = takeCensus();
  expectEveryOperationOfTheLanguage(census);
  expectEveryFunctionOfThePrelude(census);
  expectEveryOperator(census);
  expectEveryDType(census);
  expectEveryOperationOfTheGenerator(census);
  expectEveryOperationOfTheDialects(census);
  expectEveryTypeOfElementwiseOperations(census);
}

} // namespace
