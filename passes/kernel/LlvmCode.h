//===- LlvmCode.h - kernels as LLVM IR --------------------------*- C++ -*-===//
//
// The steps from the llvm dialect on, common to all backends: translation without source locations (code does not
// depend on where its source is), optimisation, and text or machine code.
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

  /// `kernels` is a module of the llvm (and nvvm) dialect; its locations are dropped.
  mlir::LogicalResult translate(mlir::Operation *kernels, std::unique_ptr<llvm::TargetMachine> target);
  /// LLVM's standard pipeline; `level` is 0 to 3.
  void optimize(unsigned level, const llvm::PipelineTuningOptions &tuning = {});
  /// Other passes in its place.
  void run(llvm::ModulePassManager passes, const llvm::PipelineTuningOptions &tuning);

  /// Links a copy of the code of `other`, which has the same target.
  mlir::LogicalResult link(const LlvmCode &other);

  llvm::Module &getModule() { return *module; }
  std::string getText() const;
  /// Returns text or machine code. Fails if the target cannot emit this type, or LLVM reported an error.
  /// `reducesStrength`: loop strength reduction runs.
  mlir::FailureOr<std::string> emit(llvm::CodeGenFileType type, bool reducesStrength);

  /// The errors that LLVM reported, to append to a message (`: inline asm ...`); empty if there are none.
  const std::string &getErrors() const { return errors; }

private:
  llvm::LLVMContext context;
  std::string errors;
  std::unique_ptr<llvm::Module> module;
  std::unique_ptr<llvm::TargetMachine> machine;
};

} // namespace spmdc
