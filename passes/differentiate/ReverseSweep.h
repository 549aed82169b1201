//===- ReverseSweep.h - cotangents from results to arguments ----*- C++ -*-===//
#pragma once

#include "ir/array/ArrayOps.h"
#include "ir/spmd/VaryingAxes.h"
#include "passes/differentiate/Activity.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

#include <map>

namespace spmdc {

/// State shared by all sweeps of one derivative.
struct Derivative {
  explicit Derivative(MeshAttr mesh) : mesh(mesh) {}

  MeshAttr mesh;
  Activity activity;
  /// In a manual region: the axes over which the values of the forward pass vary.
  std::optional<VaryingAxes> varying;
  /// Operations of the forward pass that were replaced by ones with more results. They are destroyed with the
  /// derivative, so that no new value reuses an address that is a key of a map.
  llvm::SmallVector<mlir::Operation *> replaced;

  ~Derivative() {
    for (mlir::Operation *op : replaced)
      op->destroy();
  }

  /// The axes in `axes` (or over which `varied` varies) over which `value` does not vary: the cotangents of `value` are
  /// summed over them.
  VaryingAxes::Axes missing(const VaryingAxes::Axes &axes, mlir::Value value) const;
  VaryingAxes::Axes missing(mlir::Value varied, mlir::Value value) const;
};

/// Visits operations backward and builds the cotangents of all active values that they use.
///
/// Invariant: when the sweep reaches an operation, it has visited all users, so the cotangents of the results are
/// complete; contributions to one value are summed as they come. In a manual region a contribution may be one device's
/// partial sum of the cotangent of a value that does not vary over some axes. Partial sums are separate for each set of
/// axes, and are reduced once, when the sweep reaches the value. Those of values outside of the swept region become
/// results unreduced.
class ReverseSweep {
public:
  using Axes = VaryingAxes::Axes;
  /// Partial sums by the axes over which they have to be reduced.
  using Parts = std::map<Axes, mlir::Value>;

  explicit ReverseSweep(Derivative &derivative) : derivative(derivative) {}

  /// Adds to a value's cotangent; ignores a value that is not active. `axes`: over which `cotangent` has to be reduced.
  void add(mlir::OpBuilder &builder, mlir::Value value, mlir::Value cotangent, const Axes &axes = {});

  /// Differentiates the present operations of the block, or those after `behind`. Builds at the builder's insertion
  /// point, which is after all of them. Fails with a diagnostic at an operation that has no derivative.
  mlir::LogicalResult run(mlir::Block &block, mlir::OpBuilder &builder, mlir::Operation *behind = nullptr);

  bool isReached(mlir::Value value) const { return cotangents.count(value); }
  /// The reduced cotangent; null if none has reached the value.
  mlir::Value getCotangent(mlir::OpBuilder &builder, mlir::Value value);

private:
  /// A partial sum of the cotangent of `value`, which has to be reduced over `axes`.
  struct Contribution {
    mlir::Value value;
    Axes axes;
    mlir::Value cotangent;
  };
  /// The contributions to values outside of a region, in the sequence in which the sweep first reached the values.
  llvm::SmallVector<Contribution> listOutside(mlir::Region &region) const;
  /// Sweeps one region of a branch.
  mlir::LogicalResult sweepBranch(IfOp op, mlir::Region &branch, llvm::ArrayRef<mlir::Value> seeds,
                                  mlir::Block &backward, llvm::SmallVector<Contribution> &found);

  mlir::LogicalResult differentiate(mlir::Operation *op, mlir::OpBuilder &builder);
  // RegionDerivatives.cpp
  mlir::LogicalResult differentiateCheckpoint(CheckpointOp op, mlir::OpBuilder &builder);
  mlir::LogicalResult differentiateIf(IfOp op, mlir::OpBuilder &builder);
  mlir::LogicalResult differentiateFor(ForOp op, mlir::OpBuilder &builder);
  // ManualDerivatives.cpp
  mlir::LogicalResult differentiateManual(ManualOp op, mlir::OpBuilder &builder);
  /// The sum over all devices along the axes.
  mlir::Value reduceOver(mlir::OpBuilder &builder, mlir::Value cotangent, const Axes &axes) const;
  /// Devices may take different regions of this branch, so it must contain no reduction across devices. Marks all
  /// values of the regions as varying over all axes involved, and masks the cotangent of a result that does not vary,
  /// except on the first device.
  void keepCollectivesOut(IfOp op, mlir::OpBuilder &builder, llvm::MutableArrayRef<mlir::Value> seeds);
  void differentiateGather(AllGatherOp op, mlir::OpBuilder &builder);
  bool differentiateSlice(AllSliceOp op, mlir::OpBuilder &builder);

  Derivative &derivative;
  llvm::MapVector<mlir::Value, Parts> cotangents;
};

/// The location of an operation without the name that `let` gave to its value, for operations of its derivative.
mlir::Location getDerivativeLoc(mlir::Operation *op);

/// x + y of cotangents.
mlir::Value createSum(mlir::OpBuilder &builder, mlir::Value x, mlir::Value y);

/// Erases operations without users and effects, in reverse.
void eraseDead(mlir::Block &block);

} // namespace spmdc
