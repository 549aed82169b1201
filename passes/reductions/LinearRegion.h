//===- LinearRegion.h - what lies between partial sums and their sum -*- C++ -*-===//
//
// A linear cone is what leads from reductions (a spmd.reshard of partial sums) to one value, through linear operations
// that nobody else uses. It is rewritten as a whole: the reductions go, each value in it becomes a partial sum, and the
// one value is reduced. Where the reductions also moved what they reduced (a reduce_scatter), the values of the cone
// lie as the partial sums do. What is added to partial sums and is none (a bias) becomes one, which devices make by
// themselves: the first has the value, the others zeros.
//
// A branch is linear in what its arms yield, and what leads to that may be in the arms. What an arm needs of the cone
// for something else it reduces itself. Where a value of the cone is made a partial sum of the kind that it becomes (an
// entry), by an arm's loop or for an update at indices, that is not needed any more.
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

class LinearRegion {
public:
  /// Of values computed in this block, and in the arms of its branches. `carry`: an argument of the loop around, which
  /// may be a partial sum, too.
  LinearRegion(const spmd::MeshShape &mesh, RunCounts &runs, mlir::Block *block, mlir::Value carry = {})
      : mesh(mesh), runs(runs), block(block), carry(carry) {}

  /// Whether the value can be a partial sum; takes what leads to it into the cone. A sum along cut dimensions may be
  /// the last operation: then the value is a partial sum already, and becomes one over more axes.
  bool collect(mlir::Value value);

  /// Whether the values between, and the carry, are used in the cone alone, or by arms. Where there is a loop's `end`,
  /// which takes the last value, that too.
  bool isClosed(mlir::Operation *end = nullptr);

  llvm::ArrayRef<mlir::Operation *> getOps() const { return ops.getArrayRef(); }
  llvm::ArrayRef<mlir::Operation *> getReductions() const { return reductions.getArrayRef(); }
  mlir::Value getValue(mlir::Operation *op) const { return op->getResult(members.at(op).result); }
  /// The operands in which an operation of the cone is linear; those that arms yield, of a branch.
  llvm::ArrayRef<mlir::OpOperand *> getTerms(mlir::Operation *op) const { return members.at(op).terms; }
  /// Whether all that use the value are in the cone, or the loop's end.
  bool isUsedInside(mlir::Value value, mlir::Operation *end = nullptr) const {
    return llvm::all_of(value.getUses(), [&](mlir::OpOperand &use) { return use.getOwner() == end || isInside(use); });
  }
  /// How often a block runs where the cone's does. Where nobody knows it, every other time is as good as any.
  double getShare(mlir::Block *inner) const;

  /// What is added to partial sums as a whole value, in which block, and what it becomes.
  struct Whole {
    mlir::Value value;
    mlir::Block *block;
    ArrayType type;
    bool operator==(const Whole &) const = default;
  };
  llvm::SmallVector<Whole> listWholes() const;

  /// What has to be moved where another operand, which is made of little, is made again to lie as the partial sums do.
  struct Remake {
    mlir::Block *block;
    ShardingPair move;
  };
  llvm::SmallVector<Remake> listRemakes() const;

  /// What arms need for something else.
  struct Escape {
    mlir::Value value;
    mlir::Block *arm;
    bool operator==(const Escape &) const = default;
  };
  llvm::ArrayRef<Escape> getEscapes() const { return escapes; }
  /// Known when it is closed.
  llvm::ArrayRef<mlir::Operation *> getEntries() const { return entries.getArrayRef(); }

  /// What a value of the cone, or the carry, becomes.
  ArrayType getPartialType(mlir::Value value) const;
  /// The reason why there are partial sums, and how the sentence ends.
  std::string why(llvm::StringRef end) const;

  /// Makes all values partial sums; a loop's `end` takes the last one.
  void rewrite(mlir::Operation *end = nullptr);

  /// The value, which is none, as a partial sum for an operation: from before it was brought to where it lies, if
  /// nobody else needs it there.
  static mlir::Value createPartial(mlir::Operation *before, mlir::Value value, ArrayType type);
  static mlir::Value getOrigin(mlir::Value value);
  /// Removes what brought a value to where nobody needs it any more.
  static void eraseUnused(mlir::Value value);

private:
  /// An operation of the cone: which of its results is, the operands in which it is linear, and what they, what else it
  /// reads (of an operation without arms), and that result become.
  struct Member {
    unsigned result = 0;
    llvm::SmallVector<mlir::OpOperand *> terms;
    llvm::SmallVector<ArrayType> termTypes;
    llvm::SmallVector<std::pair<mlir::OpOperand *, ArrayType>> others;
    ArrayType type;
  };

  /// A reshard that reduces all of its partial sums; null for any other value.
  static ReshardOp getReduction(mlir::Value value);
  bool collectOps(mlir::Value value);
  bool agrees(llvm::ArrayRef<AxisRefAttr> others);
  /// Whether the operation is in the block, or in an arm in it.
  bool isWithin(mlir::Operation *op) const;
  llvm::SmallVector<mlir::OpOperand *> listTerms(mlir::Value value) const;
  /// Whether partial sums lead to the value, and what uses it can be in the cone.
  bool mayBePartial(mlir::Value value) const;
  bool isWhole(mlir::Value value) const;
  /// Whether an operation that cannot be in a cone needs the value, and is in no arm.
  bool isUsedOutside(mlir::Value value) const;
  /// The arm around a use of a value that is defined outside of it; the outermost one. Null where something else than
  /// arms is around it, or nothing.
  static mlir::Block *getArm(mlir::OpOperand &use);
  bool isInside(mlir::OpOperand &use) const;
  bool isEntry(mlir::OpOperand &use) const;
  /// Whether all uses but that of `end` are in the cone or in arms.
  bool isClosedAt(mlir::Value value, mlir::Operation *end);
  /// Whether the operation may add up along cut dimensions itself.
  bool maySum(mlir::Operation *op) const { return op == last && mlir::isa<ReduceOp>(op); }
  /// What the carry may become, the most likely first: lying as it does, but for axes of the sums, which cut no partial
  /// sum; as what it is added to (null); as one of the partial sums.
  llvm::SmallVector<ArrayType> listCarryTypes() const;
  /// The types of all operations, where the carry becomes this; whether all agree.
  bool findAllTypes(mlir::Value value, ArrayType ofCarry);
  /// The types of the operation as one of partial sums, from those of its terms.
  bool findTypes(mlir::Operation *op);
  bool findBranchTypes(mlir::Operation *op);
  bool findRuledTypes(mlir::Operation *op);
  bool canBePartial(ArrayType type) const;
  ArrayType toPartial(ArrayType type) const;
  /// With the element type that partial sums of this one have in the region.
  ArrayType widened(ArrayType type) const;
  /// Whether devices add up, in the region or in front of it, what they would round (ReducePrecision.h).
  bool addsUp() const;
  /// The value, or a partial sum, with the element type that it has in the region.
  static mlir::Value toElementType(mlir::Operation *before, mlir::Value value, ArrayType type);
  void reduceInArms();

  const spmd::MeshShape &mesh;
  RunCounts &runs;
  mlir::Block *block;
  mlir::Value carry;
  mlir::Operation *last = nullptr;
  ArrayType carryType;
  bool isWide = false; ///< Partial sums of 16-bit floats are wider than these.
  llvm::SmallVector<AxisRefAttr> axes;
  llvm::SetVector<mlir::Operation *> ops; ///< In the order of their dependence.
  llvm::DenseMap<mlir::Operation *, Member> members;
  llvm::SetVector<mlir::Operation *> reductions, entries;
  llvm::SmallVector<Escape> escapes;
  mutable llvm::DenseMap<mlir::Value, bool> known; ///< What mayBePartial has found.
};

} // namespace spmdc
