//===- LlvmCode.h - kernels as LLVM IR --------------------------*- C++ -*-===//
//
// What the backends do alike from the llvm dialect on: translation without source positions (code does not depend on
// where its source lies), optimisation by LLVM's standard pipeline, and text or machine code.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Operation.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>
#include <string>

namespace spmdc {

class LlvmCode {
public:
  LlvmCode();

  /// `kernels` is a module of the llvm (and nvvm) dialect, whose positions are lost.
  mlir::LogicalResult translate(mlir::Operation *kernels, std::unique_ptr<llvm::TargetMachine> target);
  /// 0 to 3, LLVM's meaning.
  void optimize(unsigned level, const llvm::PipelineTuningOptions &tuning = {});

  /// Little more than vectors, of so many elements, where loops allow them: for code that is not worth more of LLVM's
  /// time.
  void optimizeLightly(const llvm::PipelineTuningOptions &tuning, unsigned vectorWidth);

  /// Takes in a copy of what `other` has; for the same target.
  mlir::LogicalResult link(const LlvmCode &other);

  llvm::Module &getModule() { return *module; }
  std::string getText() const;
  /// Fails where the target cannot, or where LLVM found an error on the way. `reducesStrength`: whether loop strength
  /// reduction is worth its time there.
  mlir::FailureOr<std::string> emit(llvm::CodeGenFileType type, bool reducesStrength);

  /// What LLVM found wrong, to stand behind a message of one's own (`: inline asm ...`); empty where it is nothing.
  const std::string &getErrors() const { return errors; }

private:
  void run(const llvm::PipelineTuningOptions &tuning,
           llvm::function_ref<llvm::ModulePassManager(llvm::PassBuilder &)> build);

  llvm::LLVMContext context;
  std::string errors;
  std::unique_ptr<llvm::Module> module;
  std::unique_ptr<llvm::TargetMachine> machine;
};

} // namespace spmdc
