//===- DumpInstrumentation.h - the module after every pass ------*- C++ -*-===//
#pragma once

#include "passes/pipeline/Pipeline.h"

#include "mlir/Pass/PassInstrumentation.h"

#include <chrono>
#include <string>
#include <vector>

namespace spmdc {

/// Times every pass, and writes the module after it to DIR/NN-pass.mlir (with locations, so that spmd-opt and spmdc
/// take it up again) and links all files from DIR/index.html. Passes run one after another: not thread-safe.
class DumpInstrumentation : public mlir::PassInstrumentation {
public:
  struct Report {
    std::vector<PassTime> times;
    std::string error; ///< The first file that could not be written, and why.
  };

  /// `report` outlives the instrumentation. An empty directory only times.
  DumpInstrumentation(std::string directory, Report &report);
  ~DumpInstrumentation() override;

  void runBeforePass(mlir::Pass *pass, mlir::Operation *op) override;
  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override;

private:
  void write(llvm::StringRef name, llvm::StringRef text);

  std::string directory;
  Report &report;
  std::chrono::steady_clock::time_point start;
  std::vector<std::string> files;
};

} // namespace spmdc
