//===- Clusters.h - which operations share a kernel -------------*- C++ -*-===//
#pragma once

#include "passes/kernel/KernelSchedule.h"

#include "llvm/ADT/SetVector.h"

#include <map>
#include <set>
#include <vector>

namespace spmdc {

/// The operations of one future kernel.
struct Cluster {
  llvm::SetVector<mlir::Operation *> members; ///< Computed here; no member is free (see isFreeOp) but a root.
  KernelBody body;                            ///< The members and the free operations that they read; the outputs.
  double work = 0;
};

/// True for what is cheap enough to be computed wherever it is read: splats, positions, and all that moves data.
bool isFreeOp(mlir::Operation *op);
/// True for constants that lie in the artifact where something outside kernels reads them.
bool isStoredConstant(mlir::Operation *op);
/// True for what runs inside kernels at all.
bool isKernelOp(mlir::Operation *op);

/// Groups the operations of a block, by cost. Every value that something outside kernels reads is an output of some
/// cluster, or a constant.
class ClusterBuilder {
public:
  explicit ClusterBuilder(mlir::Block &block) : block(block) {}
  void run();
  /// In an order in which each comes after what it reads, as far as clusters read one another.
  std::vector<Cluster> take();
  /// True if something that is not in a kernel reads this value from memory, directly or as a reshape.
  bool isNeeded(mlir::Value value) const { return needed.contains(value); }

private:
  using Id = unsigned;

  void findNeeded();
  void place(mlir::Operation *op);
  /// `merged` united with `op` (if any), its outputs as its users make them; nothing where that is no kernel.
  std::optional<Cluster> unite(llvm::ArrayRef<Id> ids, mlir::Operation *op) const;
  /// Fills in body, outputs and cost; false where that is no kernel, or would wait for itself. Clusters `replaced` are
  /// about to go; `repeated` is computed by each of its readers.
  bool complete(Cluster &cluster, llvm::ArrayRef<Id> replaced, mlir::Operation *repeated) const;
  /// True if a path leads from the cluster out and back in.
  bool hasCycle(const Cluster &cluster, llvm::ArrayRef<Id> replaced) const;
  Id add(Cluster cluster);
  void remove(Id id);
  bool reads(const Cluster &cluster, mlir::Value value) const;
  /// Merges two clusters that read the same memory, if that costs less; false where there are none.
  bool mergeOnePair();
  void mergeSiblings();

  mlir::Block &block;
  llvm::DenseSet<mlir::Value> needed;
  /// Pairs that mergeOnePair has looked at.
  std::set<std::pair<Id, Id>> tried;
  std::map<Id, Cluster> clusters;
  Id nextId = 0;
};

} // namespace spmdc
