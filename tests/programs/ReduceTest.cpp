//===- ReduceTest.cpp - tests of the printer and reducer of failures ------===//
//
// The printer writes the program that the data describes, the reducer keeps what a failure needs, and crashes and hangs
// of a check are failures.
//
//===----------------------------------------------------------------------===//

#include "tests/programs/support/Reduce.h"
#include "tests/programs/support/Differential.h"
#include "tests/programs/support/OwnProcess.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cstdlib>

#include <unistd.h>

using namespace spmdc;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

namespace {

Variable variable(spmd::DType dtype, Shape shape) { return {dtype, std::move(shape), {}}; }

// Constants, annotations, a function with generic sizes, a nested expression, and several results.
TEST(ProgramPrinter, WritesWhatAPersonWouldWrite) {
  Program program;
  program.mesh.axes = {{"a", 2}, {"b", 3}};
  program.constants = {{"N", 4}};
  program.variables = {variable(spmd::DType::F32, {8, 4}), variable(spmd::DType::F32, {8, 4}),
                       variable(spmd::DType::F32, {8, 4}), variable(spmd::DType::F32, {8}),
                       variable(spmd::DType::F32, {})};
  program.parameters = {{0, {DimAnnotation{{"a", "b"}, true, 1}, DimAnnotation{{}, false, -1}}, {}}};
  program.statements = {
      {.results = {1}, .expression = "sin($0)", .isInlined = true},
      {.results = {2}, .expression = "$1 * $0"},
      {.results = {3}, .expression = "sum($2, axis=1)", .isTyped = true, .annotations = {DimAnnotation{{"b"}}}},
      {.results = {4}, .expression = "max($3)"}};
  program.helpers = {{0, 2, HelperStyle::Generic}};
  program.results = {{4, true, {}}, {3, true, {DimAnnotation{{"b"}, false, -1}}}};
  EXPECT_EQ(program.str(), R"(mesh m(a=2, b=3)
const N = 4;

fn f0<A, B>(x0: f32[A, B]) {
  let v2 = (sin(x0)) * x0;
  return v2;
}

fn main(x0: f32[2 * N@(a, b)?!1, N@_]) -> (f32, f32[8@b]) {
  let v2 = f0(x0);
  let v3: f32[8@b?] = sum(v2, axis=1);
  let v4 = max(v3);
  return (v4, v3);
}
)");
}

// An artificial failure: running sums on a mesh of more than one device. Only they remain of a long program.
TEST(Reduce, KeepsWhatTheFailureNeeds) {
  CaseCheck check = [](const Case &test) -> std::string {
    // In a statement of its own, not in a function that is differentiated.
    bool hasOne = llvm::any_of(test.program.statements, [](const Statement &statement) {
      return llvm::StringRef(statement.expression).starts_with("cumsum(");
    });
    bool fails = hasOne && test.program.mesh.deviceCount() > 1;
    return fails ? "test: made up: details" : "";
  };
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  loadDialects(context);
  int found = 0;
  for (uint64_t seed = 1; found < 3; ++seed) {
    GeneratorOptions options;
    options.seed = seed;
    options.maxOperations = 20;
    Case test = generateCase(context, options, Mode::Everything);
    std::string failure = check(test);
    if (failure.empty())
      continue;
    ++found;
    ReducedCase reduced = reduceCase(options, test, failure, check);
    std::string text = reduced.test.program.str();
    SCOPED_TRACE(text);
    EXPECT_EQ(check(reduced.test), failure);
    EXPECT_EQ(checkCase(reduced.test, {}), ""); // The result is still a valid program.
    EXPECT_EQ(reduced.test.mode, Mode::Text);
    EXPECT_EQ(reduced.test.program.statements.size(), 1u);
    EXPECT_EQ(reduced.test.program.results.size(), 1u);
    EXPECT_EQ(reduced.test.program.parameters.size(), 1u);
    EXPECT_EQ(reduced.test.program.mesh.deviceCount(), 2);
    EXPECT_THAT(text, Not(HasSubstr("@")));
    EXPECT_THAT(text, Not(HasSubstr("fn f0")));
  }
}

// A change that causes another failure is rejected.
TEST(Reduce, KeepsTheKindOfFailure) {
  EXPECT_EQ(kindOfFailure("compiled: wrong result: element 3"), "compiled: wrong result");
  EXPECT_EQ(kindOfFailure("crash: signal 11: the compiler was ended\n..."), "crash: signal 11");
  EXPECT_EQ(kindOfFailure("partitioned: cannot be evaluated:\nmore"), "partitioned: cannot be evaluated");
}

TEST(Apart, CrashesAndHangsAreFailures) {
  EXPECT_EQ(runInOwnProcess([] { return std::string(); }), "");
  EXPECT_EQ(runInOwnProcess([] { return std::string("wrong"); }), "wrong");
  EXPECT_THAT(runInOwnProcess([]() -> std::string { std::abort(); }), StartsWith("crash: signal 6"));
  EXPECT_THAT(runInOwnProcess(
                  []() -> std::string {
                    for (;;)
                      pause();
                  },
                  /*timeoutSeconds=*/1),
              StartsWith("hang: no answer in 1 s"));
}

} // namespace
