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

/// A program exported elsewhere: its lines of Python are in no file here.
static std::string exportedElsewhere(const std::string &call, const std::string &result) {
  return "#a = loc(\"x\")\n"
         "module @jit_f {\n"
         "  func.func public @main(%arg0: tensor<8xf32> loc(\"x\")) -> tensor<8xf32> {\n"
         "    %0 = stablehlo.sine %arg0 : tensor<8xf32> loc(#call)\n"
         "    " +
         call + " loc(#call)\n    return " + result +
         " : tensor<8xf32> loc(#call)\n  } loc(#call)\n} loc(#call)\n"
         "#line = loc(\"/nowhere/train.py\":105:4 to :39)\n"
         "#caller = loc(\"/nowhere/run.py\":7:1 to :9)\n"
         "#main = loc(\"<stdin>\":3:2 to :5)\n"
         "#callers = loc(callsite(#caller at #main))\n"
         "#call = loc(\"jit(f)/f\"(callsite(#line at #callers)))\n";
}

// A message about a line of Python that cannot be shown is at the operation in the export, and names the Python places.
TEST(Compiler, LinesOfPythonThatAreNotHere) {
  Compiler compiler("t.mlir", exportedElsewhere("%1 = stablehlo.custom_call @xla_ffi_python_cpu_callback(%0) : "
                                                "(tensor<8xf32>) -> tensor<8xf32>",
                                                "%1"));
  EXPECT_FALSE(compiler.module(Stage::Array));
  EXPECT_EQ(compiler.errorList().str(),
            "t.mlir:5:10: error: 'stablehlo.custom_call' calls back into Python ('xla_ffi_python_cpu_callback'), whose "
            "code an export does not contain; compute jax.pure_callback and io_callback outside of the exported "
            "function, and export checks of Equinox (eqx.error_if) as NaNs: EQX_ON_ERROR=nan (/nowhere/train.py:105:5, "
            "called at /nowhere/run.py:7:2, from <stdin>:3:3)\n"
            "    %1 = stablehlo.custom_call @xla_ffi_python_cpu_callback(%0) : (tensor<8xf32>) -> tens...\n"
            "         ^\n");
  EXPECT_TRUE(compiler.generalErrors().empty());
}

// jax.debug.print: the program is the same without it.
TEST(Compiler, CallsWithoutResultsAreLeftOut) {
  std::string call = "stablehlo.custom_call @xla_ffi_python_cpu_callback(%0) {has_side_effect = true, sdy.sharding = "
                     "#sdy.sharding_per_value<[<@one, []>]>} : (tensor<8xf32>) -> ()";
  Compiler compiler("t.mlir", exportedElsewhere(call, "%0"));
  mlir::ModuleOp module = compiler.module(Stage::Array);
  ASSERT_TRUE(module) << compiler.errorList().str();
  EXPECT_EQ(compiler.warnings().substr(0, compiler.warnings().find('\n')),
            "t.mlir:5:5: warning: 'stablehlo.custom_call' of 'xla_ffi_python_cpu_callback' is left out: its code, as "
            "that of jax.debug.print and jax.debug.callback, is not in the export, and no result depends on it "
            "(/nowhere/train.py:105:5, called at /nowhere/run.py:7:2, from <stdin>:3:3)");
  auto function = *module.getOps<mlir::func::FuncOp>().begin();
  EXPECT_EQ(std::distance(function.getBody().front().begin(), function.getBody().front().end()), 2); // sin, return.
}
