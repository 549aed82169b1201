//===- spmd-opt.cpp - every pass and pipeline on .mlir --------------------===//

#include "passes/pipeline/Registration.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  spmdc::registerDialects(registry);
  spmdc::registerPasses();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "spmdc pass driver\n", registry));
}
