//===- ProcessGridEvaluator.h - a partitioned program on all devices -*- C++ -*-===//
//
// The second oracle: runs a per-device program on every device of the mesh at once. All devices run the same program,
// so they run in lock step, operation by operation, and a collective reads the arrays of all of them; no threads are
// needed. It supports partitioned functions (array operations on local shapes, collectives, coordinates) and the steps
// of the plan dialect, whose kernels it evaluates in place: partitioning, collective optimisation, fusion and planning
// are all checked without generating code. All devices of a group must reach a collective.
//
// Time is not modelled: a collective is complete when it starts. `plan.print` prints nothing.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/evaluate/Shards.h"
#include "ir/spmd/SpmdOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

namespace spmdc {

class ProcessGridEvaluator {
public:
  explicit ProcessGridEvaluator(MeshAttr mesh, Poison poison = Poison::Nan) : mesh(mesh.toValue()), poison(poison) {}

  /// The function's results on every device, for arguments given on every device. Fails with a diagnostic.
  mlir::FailureOr<llvm::SmallVector<DeviceTensors>> evaluate(mlir::func::FuncOp function,
                                                             llvm::ArrayRef<DeviceTensors> arguments);

  /// The same on global values: arguments are sharded by the function's `spmd.global` types with poisoned padding,
  /// results are assembled by theirs, and devices that hold copies must agree in every bit.
  mlir::FailureOr<llvm::SmallVector<Tensor>> evaluateGlobalView(mlir::func::FuncOp function,
                                                                llvm::ArrayRef<Tensor> arguments);

  /// Evaluates a manual region on global values: each device runs the body on its shards. Devices that hold copies of a
  /// result must agree in every bit. The grid is that of the manual axes (ManualOp::getManualMesh): along the others
  /// the body's arrays are of full size, and their shardings do not affect values.
  mlir::FailureOr<llvm::SmallVector<Tensor>> evaluateManual(ManualOp op, llvm::ArrayRef<Tensor> operands);

private:
  using Values = llvm::SmallVector<DeviceTensors>;

  /// Runs a block; `yielded` receives the operands of its terminator.
  mlir::LogicalResult runBlock(mlir::Block &block, llvm::ArrayRef<DeviceTensors> arguments, Values &yielded);
  mlir::LogicalResult runOp(mlir::Operation *op, llvm::ArrayRef<DeviceTensors> operands, Values &results);
  /// Evaluates a manual region within the current one: its devices are those along the axes of both.
  mlir::LogicalResult runManual(ManualOp op, llvm::ArrayRef<DeviceTensors> operands, Values &results);
  mlir::LogicalResult runPlanOp(mlir::Operation *op, llvm::ArrayRef<DeviceTensors> operands, Values &results);
  mlir::LogicalResult runLibrary(mlir::Operation *op, llvm::ArrayRef<DeviceTensors> operands, Values &results);
  mlir::LogicalResult runMatmul(mlir::Operation *op, llvm::ArrayRef<DeviceTensors> operands, Values &results);
  mlir::LogicalResult runKernel(mlir::Operation *user, mlir::StringAttr name, llvm::ArrayRef<DeviceTensors> inputs,
                                Values &outputs);
  /// Loops and branches, of both the `array` and the `plan` dialect.
  mlir::LogicalResult runFor(mlir::Operation *op, int64_t lower, int64_t upper, Values carries, Values &results);
  mlir::LogicalResult runWhile(mlir::Operation *op, Values carries, Values &results);
  mlir::LogicalResult runIf(mlir::Operation *op, const DeviceTensors &predicate, Values &results);
  /// For each device, whether it takes a branch.
  using Decisions = llvm::SmallVector<char>;
  /// The devices that run this block and whose bool[] has this value.
  Decisions decide(const DeviceTensors &predicate, bool expected) const;
  /// Fails if devices of one group differ in whether they reach a collective in the operation.
  mlir::LogicalResult checkGroups(mlir::Operation *op, const Decisions &decisions);

  spmd::MeshShape mesh;
  Poison poison;
  Decisions here; ///< The devices that run the current block; empty: all.
  llvm::DenseMap<mlir::Value, DeviceTensors> values;
};

} // namespace spmdc
