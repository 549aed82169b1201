//===- PlannedProgram.h - a program planned for one backend -----*- C++ -*-===//
//
// Runs the passes from array operations to a plan, and interprets the plan's steps on one device (no collectives, no
// matrix products). A backend adds code generation and the execution of a launch.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/interfaces/Tensor.h"
#include "ir/plan/PlanOps.h"
#include "passes/pipeline/Pipeline.h"
#include "runtime/artifact/Plan.h"

#include "mlir/IR/OwningOpRef.h"

#include <functional>
#include <memory>
#include <optional>

namespace spmdc {

class PlannedProgram {
public:
  virtual ~PlannedProgram() = default;
  PlannedProgram(const PlannedProgram &) = delete;
  PlannedProgram &operator=(const PlannedProgram &) = delete;

  virtual bool isGood() const = 0;
  /// A fault of the code other than wrong results; empty if there is none.
  virtual std::string findFault() const { return ""; }
  /// The number of ways to split ranges or to order threads; all must give the same bits.
  virtual unsigned getVariantCount() const = 0;

  /// Runs @main on the device with the given mesh coordinates. Fails the running test on errors.
  std::vector<Tensor> run(llvm::ArrayRef<Tensor> arguments, unsigned way = 0,
                          const std::vector<int64_t> &coordinates = {});

  /// An output that has the memory of an input.
  struct Overwrite {
    unsigned input, output;
  };
  /// Runs one kernel alone.
  std::vector<Tensor> runKernel(plan::KernelOp kernel, llvm::ArrayRef<Tensor> inputs, unsigned way,
                                const std::vector<int64_t> &coordinates, std::optional<Overwrite> overwrite = {});

  mlir::ModuleOp getModule() { return *planned; }
  spmd::Artifact artifact;

protected:
  /// Takes the module from its stage to the plan; fails the running test on errors.
  PlannedProgram(mlir::ModuleOp module, const PipelineOptions &options);
  bool isPlanned() const { return succeeded; }

  /// Runs all of a kernel; `operands` are its inputs and outputs. Returns an error, or an empty string.
  virtual std::string launch(const spmd::KernelInfo &kernel, int64_t extent, const std::vector<void *> &operands,
                             const std::vector<int64_t> &coordinates, unsigned way) = 0;

private:
  mlir::OwningOpRef<mlir::ModuleOp> planned;
  bool succeeded = false;
};

/// Compiles for the tested backend.
using MakeProgram = std::function<std::unique_ptr<PlannedProgram>(mlir::ModuleOp)>;

} // namespace spmdc
