//===- FewThreadsTest.cpp - compiling with few threads --------------------===//

#include "tests/support/FewThreads.h"
#include "tests/passes/cpu/CompiledProgramHelper.h"
#include "tests/passes/support/ReferenceCheck.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace spmdc;

namespace {

/// A program with this many kernels, each with a different loop.
std::string textWithKernels(int count) {
  std::string parameters, body, results, types;
  for (int i = 0; i < count; ++i) {
    std::string n = std::to_string(i), shape = "<f32[" + std::to_string(i + 5) + "]>", comma = i ? ", " : "";
    parameters += comma + "%x" + n + ": !spmd.array" + shape;
    body += "  %c" + n + " = array.constant dense<" + n + ".5> : tensor<" + std::to_string(i + 5) + "xf32> -> " +
            shape + "\n  %r" + n + " = array.subtract %x" + n + ", %c" + n + " : " + shape + "\n";
    results += comma + "%r" + n;
    types += comma + "!spmd.array" + shape;
  }
  return "func.func @main(" + parameters + ") -> (" + types + ") {\n" + body + "  return " + results + " : " + types +
         "\n}";
}

class FewThreads : public ::testing::Test {
protected:
  void SetUp() override {
    context = makeTestContext();
    module = parseSourceString<ModuleOp>(textWithKernels(20), context.get());
    ASSERT_TRUE(module);
    program = std::make_unique<CompiledKernels>(*module);
  }
  FailureOr<std::string> emit() {
    return emitSharedObject(program->getModule(), program->artifact.plan, CpuTarget::host());
  }

  std::unique_ptr<MLIRContext> context;
  OwningOpRef<ModuleOp> module;
  std::unique_ptr<CompiledKernels> program;
};

TEST_F(FewThreads, TheCodeIsTheSame) {
  FailureOr<std::string> expected = emit();
  ASSERT_TRUE(succeeded(expected));
  spmd::test::FewThreads one(1); // The linker uses this thread after the compile.
  FailureOr<std::string> code = emit();
  ASSERT_TRUE(succeeded(code));
  EXPECT_EQ(*code, *expected);
}

TEST_F(FewThreads, WithoutAnyTheErrorSaysSo) {
  std::string message;
  ScopedDiagnosticHandler handler(context.get(), [&](Diagnostic &diagnostic) { message += diagnostic.str(); });
  spmd::test::FewThreads none(0);
  EXPECT_TRUE(failed(emit()));
  EXPECT_EQ(
      message,
      "cannot link the kernels: cannot start the thread spmd-link: Resource temporarily unavailable; `ulimit -u`, "
      "the container's limit of processes, or memory may be used up");
}

} // namespace
