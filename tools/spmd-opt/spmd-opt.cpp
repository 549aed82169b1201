//===- spmd-opt.cpp - every pass and pipeline on .mlir --------------------===//

#include "ir/spmd/DebugTrace.h"
#include "passes/pipeline/Registration.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/CommandLine.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  spmdc::registerDialects(registry);
  // The dialects to which kernels are lowered, so that passes on their code can run alone.
  registry.insert<mlir::arith::ArithDialect, mlir::gpu::GPUDialect, mlir::LLVM::LLVMDialect, mlir::math::MathDialect,
                  mlir::NVVM::NVVMDialect>();
  spmdc::registerPasses();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  mlir::registerLoopInvariantCodeMotionPass();
  llvm::cl::opt<std::string> debugOnly(
      "debug-only", llvm::cl::value_desc("names"),
      llvm::cl::desc("Print on stderr why these passes leave operations as they are; help lists their names"));
  auto [input, output] = mlir::registerAndParseCLIOptions(argc, argv, "spmdc pass driver\n", registry);
  if (debugOnly == "help") {
    llvm::outs() << spmdc::DebugTrace::helpText();
    return 0;
  }
  if (debugOnly.getNumOccurrences() > 0)
    if (std::string error = spmdc::DebugTrace::turnOn(debugOnly.getValue()); !error.empty()) {
      llvm::errs() << "spmd-opt: error: --debug-only: " << error << "\n";
      return 2;
    }
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, input, output, registry));
}
