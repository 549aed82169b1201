//===- ScheduleBuilder.h - finds the loops of a kernel ----------*- C++ -*-===//
//
// Chooses the row space and the domains first (from the reductions, else from the first output). Then it walks from
// every reduction and output to the leaves with symbolic indices. The walk fails if another row than the current one
// would read a reduction of the group, and it counts the values that each stage evaluates. Expensive values that
// several stages evaluate get a stage-local cache.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/kernel/KernelSchedule.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <map>
#include <set>

namespace spmdc {

class ScheduleBuilder {
public:
  /// Fewer lanes than this are not worth a vector (but see ScheduleTraits::avoidsGathers).
  static constexpr int64_t kMinLanes = 16;

  ScheduleBuilder(const KernelBody &body, const ScheduleTraits &traits) : body(body), traits(traits) {}

  /// Counts of the walks.
  struct Counts {
    unsigned divisions = 0;
    double work = 0;
  };

  mlir::LogicalResult findRoots();
  /// Chooses rows and domain sizes before dimensions are merged.
  mlir::LogicalResult chooseShape(std::optional<int64_t> rows);
  /// Builds the stages for these row dimensions; the primary domain (that of the reduction or scan with the largest
  /// operand; without one, of the inner dimensions of the outputs) has the dimensions `inner`.
  mlir::FailureOr<KernelSchedule> build(llvm::ArrayRef<int64_t> rowShape, llvm::ArrayRef<int64_t> inner,
                                        Counts &counts);
  KernelSchedule::Lanes chooseLanes(bool hasFixedRows) const;

  /// The loops over an array: rows, and the inner dimensions of each row.
  struct Shape {
    llvm::SmallVector<int64_t> rows, inner;
  };
  const Shape &getShape() const { return shape; }
  /// True if vectors of the schedule that was built last are gathered from all arrays: each position has a division.
  bool gathersAll() const;
  /// A kernel without reductions, over rows alone: it may run in tiles.
  bool isMap() const { return !primary && shape.inner.empty(); }

private:
  /// An element of a value. Equal indices are one object, so that whole chains of element-wise operations share it.
  struct Visit {
    mlir::Value value;
    const Index *index;

    using Key = std::pair<const void *, const void *>;
    Key key() const { return {value.getAsOpaquePointer(), index}; }
  };
  /// Everything one root (a reduction's operand or an output) computes.
  struct Walk {
    int level = 0; ///< One more than the highest level of the reductions that it uses.
    std::vector<Visit> visits;
    llvm::DenseSet<Visit::Key> seen;
    std::optional<std::pair<int, unsigned>> stage; ///< Set once stage-local caches are chosen.
    bool failed = false;
  };

  const Index *intern(Index index) { return &*indices.insert(std::move(index)).first; }
  void visit(Walk &walk, mlir::Value value, const Index *index);
  /// Counts what a root computes in its stage.
  void addRoot(const Walk &walk, Visit root, int level, unsigned domain);
  unsigned domainOf(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> factors);
  /// Returns how many arrays an output joins element by element: with them in a last dimension, an iteration computes
  /// one element of each. Real and imaginary parts share most of what they are computed of, and vectors of
  /// each are stored by shuffles, where vectors over both would choose between them for each element. 1 if there is
  /// none.
  int64_t findParts();
  /// Enters an output of which an iteration computes `parts` elements.
  mlir::LogicalResult addParts(unsigned number);
  /// Returns the index of the operand of `op`: kept dimensions from the row, the others from the domain.
  Index operandIndexOf(mlir::Operation *op, unsigned domain);
  /// Returns the index at which an output is stored, and sets the domain and the walk that compute it.
  std::optional<Index> outputIndex(mlir::Value output, unsigned &domain, Walk &walk);
  KernelSchedule::Stage &stageOf(int level, unsigned domain);
  /// Cost of one element of this value, read or computed.
  double costOf(mlir::Value value) const;
  /// Returns the work of the kernel, scaled up if it has too few blocks to occupy the machine.
  double stretch(double work) const;
  void addWork(const Walk &walk, int level, unsigned domain);
  void chooseStageCaches();
  /// The row dimension in which a strided input is contiguous, or -1.
  int64_t findTiledRow() const;

  const KernelBody &body;
  const ScheduleTraits traits;
  llvm::SmallVector<ReduceOp> reductions; ///< Producers before users.
  llvm::SmallVector<CumulativeOp> scans;
  mlir::Operation *primary = nullptr;
  Shape shape;
  KernelSchedule::Lanes lanes = KernelSchedule::Lanes::Rows;
  /// Without reductions: the elements of each output that an iteration computes, beside one another (`findParts`).
  int64_t parts = 1;
  llvm::SmallVector<int64_t> innerFactors;
  unsigned visitCount = 0;

  // State of the schedule under construction.
  KernelSchedule schedule;
  IndexExpr row;
  Counts *counts = nullptr;
  std::map<mlir::Operation *, int> levels; ///< Keys are addresses: for lookups only.
  std::map<std::pair<int, unsigned>, KernelSchedule::Stage> stages;
  llvm::SmallVector<llvm::SmallVector<int64_t>> domainSizes;
  using StageKey = std::pair<int, unsigned>; ///< A level and a domain.
  struct Evaluation {
    Visit visit;
    std::vector<StageKey> stages;
    double count = 0;
  };
  /// True if it is worth keeping from the first stage that evaluates it for those that follow.
  bool isWorthKeeping(const Evaluation &evaluation) const;
  struct Root {
    Visit visit;
    StageKey stage;
  };
  std::vector<Root> roots;
  // Keys are addresses, so no code iterates over the map.
  llvm::DenseMap<Visit::Key, StageKey> cachedIn; ///< The stages that compute cached values.
  llvm::DenseSet<Visit::Key> cachesRead;
  /// Values computed only where some condition holds: elsewhere the index may be out of range.
  llvm::DenseSet<Visit::Key> guarded;
  std::vector<Evaluation> evaluations;
  llvm::DenseMap<Visit::Key, size_t> evaluationOf;
  std::set<Index> indices;
};

} // namespace spmdc
