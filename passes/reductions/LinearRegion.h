//===- LinearRegion.h - linear operations on partial sums -------*- C++ -*-===//
//
// A linear region is the set of linear operations between reductions (a spmd.reshard of partial sums) and one value,
// whose results have no uses outside of it. The rewrite removes the reductions, makes each value in the region
// unreduced, and the caller reduces the one value. If the reductions also resharded (a reduce_scatter), the values of
// the region get the shardings of the partial sums. A replicated value that is added to partial sums (a bias) becomes a
// partial sum without a collective: the first device has the value, the others have zeros.
//
// Example: add(reshard(p), reshard(q)) with p and q unreduced becomes add(p, q), unreduced, with one reduction after
// it.
//
// An `array.if` is linear in the values that its branches yield, and operations in the branches may belong to the
// region. A branch that needs a value of the region for another purpose reduces it (an escape). An entry is a reshard
// of a value of the region to the unreduced type that the value gets, for example the init of a loop in a branch or the
// operand of an update at indices. The rewrite removes it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"
#include "ir/spmd/SpmdOps.h"
#include "passes/cost/RunCounts.h"
#include "passes/reductions/Linearity.h"
#include "passes/sharding/Rematerialization.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <optional>
#include <string>

namespace spmdc {

/// A linear region: `collect` finds it from its last value, `isClosed` checks the uses, `rewrite` changes the program.
class LinearRegion {
public:
  /// The region takes operations of `block` and of branches in it. `carry`: an argument of the loop around, which may
  /// become unreduced, too.
  LinearRegion(const spmd::MeshShape &mesh, RunCounts &runs, mlir::Block *block, mlir::Value carry = {})
      : mesh(mesh), runs(runs), block(block), carry(carry) {}

  /// Adds the operations that lead to the value to the region; false if the value cannot be unreduced. The last
  /// operation may be a sum along sharded dimensions: its result is unreduced already, and becomes so over more axes.
  bool collect(mlir::Value value);

  /// Whether the inner values, and the carry, have no uses outside of the region except in branches. With a loop's
  /// yield as `end`, this must hold for the last value, too, except for its use by `end`.
  bool isClosed(mlir::Operation *end = nullptr);

  /// Why `collect` or `isClosed` has returned false, for traces: the operation in the way (null: none), and the reason.
  struct Obstacle {
    mlir::Operation *op = nullptr;
    const char *reason = "its operands have other shardings than the partial sums need";
  };
  const Obstacle &getObstacle() const { return obstacle; }

  llvm::ArrayRef<mlir::Operation *> getOps() const { return ops.getArrayRef(); }
  llvm::ArrayRef<mlir::Operation *> getReductions() const { return reductions.getArrayRef(); }
  mlir::Value getValue(mlir::Operation *op) const { return op->getResult(members.at(op).result); }
  /// The operands in which an operation of the region is linear; for an if, the operands of its branches' yields.
  llvm::ArrayRef<mlir::OpOperand *> getTerms(mlir::Operation *op) const { return members.at(op).terms; }
  /// Whether all users of the value are in the region, or are the loop's `end`.
  bool isUsedInside(mlir::Value value, mlir::Operation *end = nullptr) const {
    return llvm::all_of(value.getUses(), [&](mlir::OpOperand &use) { return use.getOwner() == end || isInside(use); });
  }
  /// How often a block runs for each run of the region's block. If that is unknown, a branch counts half.
  double getShare(mlir::Block *inner) const;

  /// A term that is not a partial sum, the block that uses it, and the type that it gets.
  struct ReplicatedTerm {
    mlir::Value value;
    mlir::Block *block;
    ArrayType type;
    bool operator==(const ReplicatedTerm &) const = default;
  };
  llvm::SmallVector<ReplicatedTerm> listReplicatedTerms() const;

  /// A reshard that is needed to rematerialize another operand in the sharding of the partial sums.
  struct RematReshard {
    mlir::Block *block;
    ShardingPair move;
  };
  llvm::SmallVector<RematReshard> listRematReshards() const;

  /// A value of the region that a branch needs for another purpose, and so has to reduce.
  struct Escape {
    mlir::Value value;
    mlir::Block *ifBranch;
    bool operator==(const Escape &) const = default;
  };
  llvm::ArrayRef<Escape> getEscapes() const { return escapes; }
  /// The entries that `isClosed` has found.
  llvm::ArrayRef<mlir::Operation *> getEntries() const { return entries.getArrayRef(); }

  /// The unreduced type that a value of the region, or the carry, gets; null for any other value.
  ArrayType getPartialType(mlir::Value value) const;
  /// The reason of the first reduction, followed by `end`.
  std::string why(llvm::StringRef end) const;

  /// Makes all values of the region unreduced; a loop's yield, `end`, takes the last one.
  void rewrite(mlir::Operation *end = nullptr);

  /// Emits a reduced value as a partial sum of this type, before the operation `before`; starts from `getOrigin`.
  static mlir::Value createPartial(mlir::Operation *before, mlir::Value value, ArrayType type);
  /// The operand of a reshard that has no other use; the value itself if it is not such a reshard.
  static mlir::Value getOrigin(mlir::Value value);
  /// Erases the reshard that defines a value, if it has no uses any more.
  static void eraseUnused(mlir::Value value);

private:
  /// An operation of the region, with the types that its values get.
  struct Member {
    unsigned result = 0;                                               ///< The index of the result in the region.
    llvm::SmallVector<mlir::OpOperand *> terms;                        ///< The operands in which it is linear.
    llvm::SmallVector<ArrayType> termTypes;                            ///< Their types.
    llvm::SmallVector<std::pair<mlir::OpOperand *, ArrayType>> others; ///< The other operands (not of an if).
    ArrayType type;                                                    ///< The type of the result.
  };

  /// A reshard that reduces all of its partial sums; null for any other value.
  static ReshardOp getReduction(mlir::Value value);
  bool collectOps(mlir::Value value);
  /// Sets the obstacle. Returns false.
  bool refuse(mlir::Operation *op, const char *reason) {
    obstacle = {op, reason};
    return false;
  }
  /// Whether the region is unreduced over exactly these axes. The first call sets the axes of the region.
  bool agrees(llvm::ArrayRef<AxisRefAttr> others);
  /// Whether the operation is in the block, or in a branch in it.
  bool isWithin(mlir::Operation *op) const;
  llvm::SmallVector<mlir::OpOperand *> listTerms(mlir::Value value) const;
  /// Whether partial sums lead to the value, and its users can be in the region.
  bool mayBePartial(mlir::Value value) const;
  /// Whether the value is reduced and stays a term from outside of the region (not a zero).
  bool isReplicatedTerm(mlir::Value value) const;
  /// Whether an operation uses the value that cannot be in a region and is not in a branch.
  bool isUsedOutside(mlir::Value value) const;
  /// The outermost branch around a use of a value that is defined outside of it. Null if the use is not in a branch, or
  /// also in another kind of region.
  static mlir::Block *getIfBranch(mlir::OpOperand &use);
  bool isInside(mlir::OpOperand &use) const;
  bool isEntry(mlir::OpOperand &use) const;
  /// Whether all uses but that of `end` are in the region or in branches.
  bool isClosedAt(mlir::Value value, mlir::Operation *end);
  /// Whether the operation may sum along sharded dimensions itself.
  bool maySum(mlir::Operation *op) const { return op == last && mlir::isa<ReduceOp>(op); }
  /// The types that the carry may get, the most likely first: its sharding without the axes of the partial sums; the
  /// type of the terms that it is added to (null); the type of one of the partial sums.
  llvm::SmallVector<ArrayType> listCarryTypes() const;
  /// Computes the types of all operations for this type of the carry; false if they do not agree.
  bool findAllTypes(mlir::Value value, ArrayType ofCarry);
  /// Computes the unreduced types of an operation from those of its terms; false if there are none.
  bool findTypes(mlir::Operation *op);
  bool findBranchTypes(mlir::Operation *op);
  bool findRuledTypes(mlir::Operation *op);
  bool canBePartial(ArrayType type) const;
  ArrayType toPartial(ArrayType type) const;
  /// The type with the element type that its partial sums have in the region.
  ArrayType widened(ArrayType type) const;
  /// Whether the region, or a reduction before it, adds elements that would be rounded (ReducePrecision.h).
  bool addsUp() const;
  /// Converts a value to the element type of `type`.
  static mlir::Value toElementType(mlir::Operation *before, mlir::Value value, ArrayType type);
  void reduceInBranches();

  const spmd::MeshShape &mesh;
  RunCounts &runs;
  mlir::Block *block;
  mlir::Value carry;
  mlir::Operation *last = nullptr;
  ArrayType carryType;
  bool isWide = false;                    ///< Whether partial sums of 16-bit floats have a wider element type.
  llvm::SmallVector<AxisRefAttr> axes;    ///< The axes over which the region is unreduced.
  llvm::SetVector<mlir::Operation *> ops; ///< Operands before users.
  llvm::DenseMap<mlir::Operation *, Member> members;
  llvm::SetVector<mlir::Operation *> reductions, entries;
  llvm::SmallVector<Escape> escapes;
  Obstacle obstacle;
  mutable llvm::DenseMap<mlir::Value, bool> known; ///< The results of mayBePartial.
};

} // namespace spmdc
