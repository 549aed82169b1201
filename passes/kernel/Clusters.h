//===- Clusters.h - which operations share a kernel -------------*- C++ -*-===//
#pragma once

#include "passes/kernel/KernelSchedule.h"

#include "llvm/ADT/SetVector.h"

#include <map>
#include <set>
#include <vector>

namespace spmdc {

/// The operations of one kernel, before it is outlined.
struct Cluster {
  /// The operations computed here. A free operation (isFreeOp) is a member only if an operation outside kernels reads
  /// its result.
  llvm::SetVector<mlir::Operation *> members;
  KernelBody body; ///< The members and the free operations that they read; the outputs.
  double work = 0;
  /// While clusters are merged: the ranks of nodes that depend on this cluster, but are ordered before the last of the
  /// clusters that it replaces. makeRank moves these nodes after it.
  std::vector<int64_t> later;
};

/// True for operations cheap enough to compute at every read: splats, positions, and operations that only move data.
bool isFreeOp(mlir::Operation *op);
/// True for constants that the artifact stores, because operations outside kernels read them.
bool isStoredConstant(mlir::Operation *op);
/// True for operations that can run inside kernels.
bool isKernelOp(mlir::Operation *op);

/// Groups the operations of a block into clusters, by cost. Every value that an operation outside kernels reads is an
/// output of some cluster, or a constant.
class ClusterBuilder {
public:
  /// `traits`: what a kernel can keep of a row on the target.
  ClusterBuilder(mlir::Block &block, const ScheduleTraits &traits) : block(block), traits(traits) {}
  void run();
  /// Returns the clusters. Each comes after those whose values it reads.
  std::vector<Cluster> take();
  /// True if an operation outside kernels reads this value from memory, directly or through a reshape.
  bool isNeeded(mlir::Value value) const { return needed.contains(value); }

private:
  using Id = unsigned;

  /// Sets the reason why clusters cannot be united. Returns false.
  bool refuse(const char *reason) const {
    refusal = reason;
    return false;
  }

  void findNeeded();
  void place(mlir::Operation *op);
  /// Traces why an operation and the clusters that read it are not one kernel: `together`, the cost of that kernel (0:
  /// there is none), and `apart`, that of separate ones.
  void traceApart(mlir::Operation *op, llvm::ArrayRef<Id> users, double together, double apart) const;
  /// Returns the union of the clusters `ids` and `op` (if any), with the outputs that other operations need; nullopt if
  /// that is not a valid kernel.
  std::optional<Cluster> unite(llvm::ArrayRef<Id> ids, mlir::Operation *op) const;
  /// Returns the clusters `users`, each with `op` computed in it, in their order; none if one would not be a valid
  /// kernel.
  llvm::SmallVector<Cluster> repeat(mlir::Operation *op, llvm::ArrayRef<Id> users) const;
  /// Fills in body, outputs and cost. Returns false if the cluster is not a valid kernel, or would depend on itself.
  /// The cluster replaces the clusters `replaced`; each reader of `repeated` computes that operation again.
  bool complete(Cluster &cluster, llvm::ArrayRef<Id> replaced, mlir::Operation *repeated) const;
  /// Fills in `later` for a cluster that replaces these. Returns false if a path leads out of the cluster and back into
  /// it.
  bool findLater(Cluster &cluster, llvm::ArrayRef<Id> replaced) const;
  int64_t makeRank(const Cluster &cluster, int64_t last);
  Id add(Cluster cluster, int64_t rank);
  Id replace(llvm::ArrayRef<Id> ids, Cluster cluster);
  void remove(Id id);
  bool reads(const Cluster &cluster, mlir::Value value) const;
  /// The clusters that read the value without computing it, in ascending order of ids.
  llvm::SmallVector<Id> readersOf(mlir::Value value) const;
  bool areSiblings(const Cluster &first, const Cluster &second) const;
  /// Merges clusters that read the same memory, if that costs less.
  void mergeSiblings();

  /// A cluster, or an operation that runs in no kernel.
  struct Node {
    mlir::Operation *op = nullptr;
    Id cluster = 0;
  };

  mlir::Block &block;
  const ScheduleTraits traits;
  llvm::DenseSet<mlir::Value> needed;
  std::map<Id, Cluster> clusters;
  /// The clusters that contain an operation.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<Id, 1>> homes;
  llvm::DenseMap<mlir::Operation *, int64_t> positions;
  /// A topological order: each node comes after those that it reads, so the search for a path back ends at the last
  /// rank of interest (Pearce and Kelly, "A dynamic topological sort algorithm for directed acyclic graphs", 2006).
  std::map<int64_t, Node> order;
  llvm::DenseMap<mlir::Operation *, int64_t> ranksOfOps;
  /// Operations with ordered effects (prints), in program order.
  std::vector<mlir::Operation *> ordered;
  std::map<Id, int64_t> ranks;
  Id nextId = 0;
  mutable const char *refusal = ""; ///< Why `complete` or `unite` has returned nothing last, for traces.
};

} // namespace spmdc
