//===- ReverseSweep.h - cotangents from results to arguments ----*- C++ -*-===//
#pragma once

#include "ir/array/ArrayOps.h"
#include "ir/spmd/VaryingAxes.h"
#include "passes/differentiate/Activity.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

#include <map>

namespace spmdc {

/// What all sweeps of one derivative know together.
struct Derivative {
  explicit Derivative(MeshAttr mesh) : mesh(mesh) {}

  MeshAttr mesh;
  Activity activity;
  /// In a manual region: over which axes the values of the forward pass vary.
  std::optional<VaryingAxes> varying;
  /// Operations that others with more results have replaced. They live on until the derivative is complete, so that no
  /// new value takes the place of one of theirs in a map.
  llvm::SmallVector<mlir::Operation *> replaced;

  ~Derivative() {
    for (mlir::Operation *op : replaced)
      op->destroy();
  }

  /// The axes over which values of this kind vary and the other does not; its cotangents are summed over them.
  VaryingAxes::Axes missing(const VaryingAxes::Axes &axes, mlir::Value value) const;
  VaryingAxes::Axes missing(mlir::Value varied, mlir::Value value) const;
};

/// Goes backward over operations and builds the cotangents of all active values that they use.
///
/// Invariant: when an operation is reached, all its users have been, so that the cotangents of its results are
/// complete; each value's contributions are summed as they come. In a manual region a contribution may be what one
/// device knows of the cotangent of a value that is the same on several: such partial sums are kept apart by their
/// axes, and reduced once, when the value is reached. Those of values from outside of the swept region are handed out
/// as they are.
class ReverseSweep {
public:
  using Axes = VaryingAxes::Axes;
  /// Partial sums by the axes over which they are to be reduced.
  using Parts = std::map<Axes, mlir::Value>;

  explicit ReverseSweep(Derivative &derivative) : derivative(derivative) {}

  /// Adds to a value's cotangent; nothing happens to a value that is not active.
  void add(mlir::OpBuilder &builder, mlir::Value value, mlir::Value cotangent, const Axes &axes = {});

  /// Differentiates the operations of the block as they are now, or those behind one of them. What is built goes to the
  /// builder's insertion point, which lies behind all of them. Fails with a diagnostic at an operation that has no
  /// derivative.
  mlir::LogicalResult run(mlir::Block &block, mlir::OpBuilder &builder, mlir::Operation *behind = nullptr);

  bool isReached(mlir::Value value) const { return cotangents.count(value); }
  /// Reduced; null where nothing has reached the value.
  mlir::Value getCotangent(mlir::OpBuilder &builder, mlir::Value value);

private:
  struct Contribution {
    mlir::Value value;
    Axes axes;
    mlir::Value cotangent;
  };
  /// What reached values from outside of a region, in the order in which they were reached first.
  llvm::SmallVector<Contribution> listOutside(mlir::Region &region) const;
  /// A sweep over one arm of a branch.
  mlir::LogicalResult sweepArm(IfOp op, mlir::Region &arm, llvm::ArrayRef<mlir::Value> seeds, mlir::Block &backward,
                               llvm::SmallVector<Contribution> &found);

  mlir::LogicalResult differentiate(mlir::Operation *op, mlir::OpBuilder &builder);
  // RegionDerivatives.cpp
  mlir::LogicalResult differentiateCheckpoint(CheckpointOp op, mlir::OpBuilder &builder);
  mlir::LogicalResult differentiateIf(IfOp op, mlir::OpBuilder &builder);
  mlir::LogicalResult differentiateFor(ForOp op, mlir::OpBuilder &builder);
  // ManualDerivatives.cpp
  mlir::LogicalResult differentiateManual(ManualOp op, mlir::OpBuilder &builder);
  /// The sum over all devices along the axes.
  mlir::Value reduceOver(mlir::OpBuilder &builder, mlir::Value cotangent, const Axes &axes) const;
  /// Where devices go different ways in a branch, no sum over devices may be in it: all that the arms compute counts as
  /// varying over all axes that play a part, and the cotangent of a result that does not, as the first device's.
  void keepCollectivesOut(IfOp op, mlir::OpBuilder &builder, llvm::MutableArrayRef<mlir::Value> seeds);
  void differentiateGather(AllGatherOp op, mlir::OpBuilder &builder);
  bool differentiateSlice(AllSliceOp op, mlir::OpBuilder &builder);

  Derivative &derivative;
  llvm::MapVector<mlir::Value, Parts> cotangents;
};

/// The source place of an operation without the name that `let` gave to its value: for what its derivative computes.
mlir::Location getDerivativeLoc(mlir::Operation *op);

/// x + y of cotangents.
mlir::Value createSum(mlir::OpBuilder &builder, mlir::Value x, mlir::Value y);

/// Erases what has no user and no effect, users before what they use.
void eraseDead(mlir::Block &block);

} // namespace spmdc
