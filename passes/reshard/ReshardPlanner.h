//===- ReshardPlanner.h - plans the cheapest reshard ------------*- C++ -*-===//
//
// A reshard is a path through shardings. Each step is one collective: it gathers the minor axes of a dimension, slices
// a dimension over more axes, moves minor axes from one dimension to another (all_to_all), reduces partial sums, or
// reduces and slices them (reduce_scatter). Or it is one exchange, in which each device sends each byte at most once
// directly to a device that needs it. Making partial sums of a reduced value needs no collective. The planner finds the
// cheapest path (bytes on the wire, where those along slow axes count for more; then steps, then memory) by Dijkstra's
// algorithm.
//
// Devices that hold the same data may each send a part of it along slow axes, and share the received parts along faster
// axes that neither sharding names: a slice at the beginning, an all_gather at the end (spread transfers).
//
// Axes are split into atoms, the coarsest parts in which both shardings can be written, so sub-axes need no special
// case.
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

#include <map>
#include <memory>

namespace spmdc {

/// Finds and caches plans for one mesh. It is an analysis of a module that all its passes share. Not thread-safe.
class ReshardPlanner {
public:
  explicit ReshardPlanner(mlir::Operation *module);
  /// `spreads`: values are replicated along axes that their shardings do not name, so that transfers may be spread.
  explicit ReshardPlanner(spmd::MeshShape mesh, CostModel model = {}, bool spreads = true)
      : mesh(std::move(mesh)), model(std::move(model)), spreads(spreads), spaces(this->mesh) {}

  /// The cheapest plan from the source's sharding to the target's; both have one shape.
  const ReshardPlan &plan(ArrayType source, ArrayType target);

  /// A lower bound on CollectiveCost::linkBytes of any plan, without a search.
  double getLeastBytes(ArrayType source, ArrayType target) const;

  /// The cost of one exchange that moves elements of `source` to places of `target`; without moves the target is the
  /// source in another sharding or shape. Cached.
  const CollectiveCost &getExchangeCost(ArrayType source, ArrayType target, const std::vector<spmd::DimMove> &moves);

  /// Builds the collectives of a plan on the local value; `why` goes on each of them.
  mlir::Value build(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value local, ArrayType source, ArrayType target,
                    llvm::StringRef why);

  const spmd::MeshShape &getMesh() const { return mesh; }
  const CostModel &getModel() const { return model; }

  /// The number of shardings that were explored for all plans together.
  int64_t getExplored() const { return explored; }

  /// Plans follow from the mesh and the cost model, which no pass changes.
  bool isInvalidated(const mlir::AnalysisManager::PreservedAnalyses &) const { return false; }

private:
  /// The key of the cached plan.
  static std::pair<ArrayType, ArrayType> keyOf(ArrayType source, ArrayType target);
  ReshardPlan search(ArrayType source, ArrayType target) const;
  double computeLeastBytes(ArrayType source, ArrayType target) const;

  const spmd::MeshShape mesh;
  const CostModel model;
  const bool spreads;
  mutable ReshardSpaces spaces;
  int64_t explored = 0;
  llvm::DenseMap<std::pair<mlir::Type, mlir::Type>, std::unique_ptr<ReshardPlan>> plans; ///< Not iterated.
  mutable llvm::DenseMap<std::pair<mlir::Type, mlir::Type>, double> least; ///< Bounds of pairs without plan.
  std::map<std::vector<int64_t>, CollectiveCost> exchanges;                ///< By types and moves. Not iterated.
};

} // namespace spmdc
