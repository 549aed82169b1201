//===- DumpInstrumentation.h - dumps after every pass -----------*- C++ -*-===//
#pragma once

#include "passes/pipeline/Pipeline.h"

#include "mlir/Pass/PassInstrumentation.h"

#include <chrono>
#include <string>
#include <vector>

namespace spmdc {

/// Times every pass, writes the module after it to DIR/NN-pass.mlir (with locations, so that spmd-opt and spmdc can
/// read it), and links all files from DIR/index.html. Passes run one after another: not thread-safe.
class DumpInstrumentation : public mlir::PassInstrumentation {
public:
  struct Report {
    std::vector<PassTime> times;
    std::string error; ///< The first file that could not be written, with the reason.
  };

  /// `report`, and `dumps` if given, outlive the instrumentation. With an empty directory and no `dumps`, it only
  /// times.
  DumpInstrumentation(std::string directory, std::vector<PassDump> *dumps, Report &report);
  ~DumpInstrumentation() override;

  void runBeforePass(mlir::Pass *pass, mlir::Operation *op) override;
  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override;

private:
  void write(llvm::StringRef name, llvm::StringRef text);

  static PassDump dump(llvm::StringRef pass, mlir::Operation *op);

  std::string directory;
  std::vector<PassDump> *dumps;
  Report &report;
  std::chrono::steady_clock::time_point start;
  std::vector<std::string> files;
};

} // namespace spmdc
