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
  std::vector<int64_t> later; ///< Ranks of what must come after it, where that stands before a part of it now.
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
  /// `traits`: what kernels keep on the machine that runs them.
  ClusterBuilder(mlir::Block &block, const ScheduleTraits &traits) : block(block), traits(traits) {}
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
  /// Fills in what must come after a cluster that replaces these; false if a path leads from it out and back in.
  bool findLater(Cluster &cluster, llvm::ArrayRef<Id> replaced) const;
  int64_t makeRank(const Cluster &cluster, int64_t last);
  Id add(Cluster cluster, int64_t rank);
  Id replace(llvm::ArrayRef<Id> ids, Cluster cluster);
  void remove(Id id);
  bool reads(const Cluster &cluster, mlir::Value value) const;
  /// The clusters that read the value without computing it, in the order of their numbers.
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
  /// An order in which everything comes after what it reads: the search for a path back ends where the order does
  /// (Pearce and Kelly, "A dynamic topological sort algorithm for directed acyclic graphs", 2006).
  std::map<int64_t, Node> order;
  llvm::DenseMap<mlir::Operation *, int64_t> ranksOfOps;
  /// Operations whose order is part of what the program does, in that order.
  std::vector<mlir::Operation *> ordered;
  std::map<Id, int64_t> ranks;
  Id nextId = 0;
};

} // namespace spmdc
