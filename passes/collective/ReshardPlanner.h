//===- ReshardPlanner.h - the cheapest way from one sharding to another ---*- C++ -*-===//
//
// A change of sharding is a path through shardings: each step is one collective that gathers axes off the minor end of
// a dimension, slices axes onto it, moves axes from the minor end of one dimension to that of another (all_to_all),
// reduces partial sums, or reduces them while slicing (reduce_scatter); or one exchange, in which each device sends
// each byte at most once straight to where it is needed. The planner finds the cheapest path (bytes on the wire, those
// along slow axes counting for more; then steps, then memory) by Dijkstra's algorithm.
//
// Axes are cut into atoms, the coarsest parts in which both shardings can be written, so sub-axes need no special case.
//
// Worked example, mesh (a=4): from [@a, _] to [_, @a], f32[8, 16]. Gathering and slicing sends 3/4 of 512 bytes, one
// all_to_all 3/4 of the 128 bytes that a device holds: the planner returns the all_to_all.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/spmd/SpmdOps.h"
#include "passes/analysis/CostModel.h"

#include <memory>
#include <vector>

namespace spmdc {

/// One collective of a plan, and the sharding after it.
struct ReshardStep {
  enum class Kind { AllGather, AllSlice, AllToAll, AllReduce, ReduceScatter, Exchange };
  Kind kind = Kind::AllGather;
  std::vector<spmd::AxisRef> axes; ///< Major to minor.
  int64_t dim = -1;                ///< Gathered, sliced or scattered dimension; the split one of an all_to_all.
  int64_t concatDim = -1;          ///< all_to_all only.
  spmd::Sharding after;
};

struct ReshardPlan {
  bool isPossible = true; ///< False only where the target has partial sums that the source has not.
  std::vector<ReshardStep> steps;
  CollectiveCost cost;
  int64_t explored = 1; ///< Shardings that were looked at to find it.
};

/// Finds and remembers plans for one mesh. Not thread-safe.
class ReshardPlanner {
public:
  explicit ReshardPlanner(spmd::MeshShape mesh, CostModel model = {})
      : mesh(std::move(mesh)), model(std::move(model)) {}

  /// The cheapest plan from the source's sharding to the target's; both have one shape.
  const ReshardPlan &plan(ArrayType source, ArrayType target);

  /// Builds the collectives of a plan that is possible on the local value; `why` goes on each of them.
  mlir::Value build(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value local, ArrayType source, ArrayType target,
                    llvm::StringRef why);

  /// How many shardings have been looked at, for all plans together.
  int64_t getExplored() const { return explored; }

private:
  spmd::MeshShape mesh;
  CostModel model;
  int64_t explored = 0;
  llvm::DenseMap<std::pair<mlir::Type, mlir::Type>, std::unique_ptr<ReshardPlan>> plans; ///< Only looked up.
};

} // namespace spmdc
