//===- ReshardPlanner.h - the cheapest way from one sharding to another ---*- C++ -*-===//
//
// A change of sharding is a path through shardings: each step is one collective that gathers axes off the minor end of
// a dimension, slices axes onto it, moves axes from the minor end of one dimension to that of another (all_to_all),
// reduces partial sums, or reduces them while slicing (reduce_scatter); or one exchange, in which each device sends
// each byte at most once straight to where it is needed. Devices make partial sums of whole values by themselves. The
// planner finds the cheapest path (bytes on the wire, those along slow axes counting for more; then steps, then memory)
// by Dijkstra's algorithm.
//
// Devices that hold the same may each send a part of it along slow axes, and share what comes along faster ones that
// neither side names: slices in the beginning, gathered in the end.
//
// Axes are cut into atoms, the coarsest parts in which both shardings can be written, so sub-axes need no special case.
//
// Worked example, mesh (a=4): from [@a, _] to [_, @a], f32[8, 16]. Gathering and slicing sends 3/4 of 512 bytes, one
// all_to_all 3/4 of the 128 bytes that a device holds: the planner returns the all_to_all.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/spmd/SpmdOps.h"
#include "passes/reshard/ReshardPlan.h"
#include "passes/reshard/ReshardSpaces.h"

#include "mlir/Pass/AnalysisManager.h"

#include <memory>

namespace spmdc {

/// Finds and remembers plans for one mesh. An analysis of a module: all its passes ask one planner. Not thread-safe.
class ReshardPlanner {
public:
  explicit ReshardPlanner(mlir::Operation *module);
  /// `spreads`: values lie as their shardings say, so along axes that these do not name all devices have the same.
  explicit ReshardPlanner(spmd::MeshShape mesh, CostModel model = {}, bool spreads = true)
      : mesh(std::move(mesh)), model(std::move(model)), spreads(spreads), spaces(this->mesh) {}

  /// The cheapest plan from the source's sharding to the target's; both have one shape.
  const ReshardPlan &plan(ArrayType source, ArrayType target);

  /// What no plan sends less than, as CollectiveCost::linkBytes, without a search for one.
  double getLeastBytes(ArrayType source, ArrayType target) const;

  /// Builds the collectives of a plan on the local value; `why` goes on each of them.
  mlir::Value build(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value local, ArrayType source, ArrayType target,
                    llvm::StringRef why);

  const spmd::MeshShape &getMesh() const { return mesh; }
  const CostModel &getModel() const { return model; }

  /// How many shardings have been looked at, for all plans together.
  int64_t getExplored() const { return explored; }

  /// Plans follow from the mesh and the cost model, which no pass changes.
  bool isInvalidated(const mlir::AnalysisManager::PreservedAnalyses &) const { return false; }

private:
  /// By what plans are remembered.
  static std::pair<ArrayType, ArrayType> keyOf(ArrayType source, ArrayType target);
  ReshardPlan search(ArrayType source, ArrayType target) const;
  double computeLeastBytes(ArrayType source, ArrayType target) const;

  const spmd::MeshShape mesh;
  const CostModel model;
  const bool spreads;
  mutable ReshardSpaces spaces;
  int64_t explored = 0;
  llvm::DenseMap<std::pair<mlir::Type, mlir::Type>, std::unique_ptr<ReshardPlan>> plans; ///< Only looked up.
  mutable llvm::DenseMap<std::pair<mlir::Type, mlir::Type>, double> least; ///< Of what has no plan; only looked up.
};

} // namespace spmdc
