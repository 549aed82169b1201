//===- LlvmMessagesTest.cpp - LLVM's messages about kernels ---------------===//

#include "passes/kernel/LlvmCode.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace spmdc;

namespace {

class LlvmMessagesTest : public ::testing::Test {
protected:
  void SetUp() override {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    context.loadDialect<LLVM::LLVMDialect>();
    module = parseSourceString<ModuleOp>("llvm.func @f() { llvm.return }", &context);
    constexpr const char *triple = "x86_64-unknown-linux-gnu";
    std::string error;
    const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
    ASSERT_TRUE(target) << error;
    std::unique_ptr<llvm::TargetMachine> machine(
        target->createTargetMachine(triple, "x86-64", "", llvm::TargetOptions(), llvm::Reloc::PIC_));
    ASSERT_TRUE(succeeded(code.translate(*module, std::move(machine))));
  }
  std::string printedBy(llvm::DiagnosticSeverity severity) {
    ::testing::internal::CaptureStderr();
    code.getModule().getContext().diagnose(llvm::DiagnosticInfoInlineAsm(0, "a message", severity));
    return ::testing::internal::GetCapturedStderr();
  }
  bool emits() { return succeeded(code.emit(llvm::CodeGenFileType::ObjectFile, /*reducesStrength=*/false)); }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  LlvmCode code;
};

// Messages about loops that are not vectorised or registers that are spilled are dropped: the code is correct.
TEST_F(LlvmMessagesTest, RemarksAndWarningsAreForNobody) {
  for (llvm::DiagnosticSeverity severity : {llvm::DS_Remark, llvm::DS_Note, llvm::DS_Warning})
    EXPECT_EQ(printedBy(severity), "");
  EXPECT_EQ(code.getErrors(), "");
  EXPECT_TRUE(emits());
}

// LLVM's own handler would end the process.
TEST_F(LlvmMessagesTest, AnErrorIsForWhoeverWantsTheCode) {
  EXPECT_EQ(printedBy(llvm::DS_Error), "");
  EXPECT_EQ(code.getErrors(), ": a message");
  EXPECT_FALSE(emits());
}

} // namespace
