//===- CompilerTest.cpp - the compiler as a library -----------------------===//

#include "compiler/Compiler.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <gtest/gtest.h>

using namespace spmdc;

namespace {

constexpr const char *program = "mesh m(a=2)\nfn main(x: f32[8@a]) { return sum(x); }";

} // namespace

// The module of a stage is computed on demand, and kept.
TEST(Compiler, ModulesOfStations) {
  Compiler compiler("t.spmd", program);
  mlir::ModuleOp propagated = compiler.module(Stage::Propagated);
  ASSERT_TRUE(propagated);
  EXPECT_EQ(getStage(propagated), Stage::Propagated);
  EXPECT_TRUE(compiler.module(Stage::Partitioned));
  EXPECT_EQ(compiler.module(Stage::Propagated), propagated);
  EXPECT_FALSE(compiler.errorList().hasErrors());
}

TEST(Compiler, ErrorsHaveTheirRanges) {
  Compiler compiler("t.spmd", "fn main(x: f32[8]) { return grad(slow)(x[0]); }\n"
                              "fn slow(x) { return while x < 9.0 carry (x = x) { yield x * x; }; }");
  EXPECT_FALSE(compiler.module(Stage::Propagated));
  ASSERT_EQ(compiler.errorList().getErrors().size(), 1u);
  EXPECT_EQ(compiler.errorList().getErrors()[0].where.text(), "while x < 9.0 carry (x = x) { yield x * x; }");
  EXPECT_TRUE(compiler.generalErrors().empty());
}

// After cancellation no further pass runs, at whatever stage the compile is.
TEST(Compiler, UnwantedPassesDoNotRun) {
  int asked = 0;
  CompileOptions options;
  options.pipeline.shouldContinue = [&] { return ++asked <= 3; };
  Compiler compiler("t.spmd", program, options);
  EXPECT_TRUE(compiler.module(Stage::Array));
  EXPECT_EQ(asked, 0);
  EXPECT_FALSE(compiler.module(Stage::Propagated));
  EXPECT_EQ(asked, 4);
  EXPECT_FALSE(compiler.module(Stage::Partitioned));
  EXPECT_FALSE(compiler.compile());
}
