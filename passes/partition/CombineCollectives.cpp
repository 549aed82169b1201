//===- CombineCollectives.cpp - one all_reduce for several small ones -----===//
//
// A group is built in program order: all_reduces of one kind, element type and axes, of which none needs another's
// result. It runs where its last member did; what lies between and reads a result goes behind it. Groups are made one
// after the other, each seeing the order that the one before has left, so that no two can come to wait for one another.
//
//===----------------------------------------------------------------------===//

#include "ir/array/ArrayOps.h"
#include "ir/spmd/Location.h"
#include "ir/spmd/SpmdOps.h"
#include "passes/analysis/CostModel.h"
#include "passes/partition/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_COMBINECOLLECTIVES
#include "passes/partition/Passes.h.inc"

namespace {

using Group = SmallVector<AllReduceOp>;

class BlockCombiner {
public:
  BlockCombiner(Block &block, const CostModel &model) : block(block), model(model) {}

  void run() {
    for (std::optional<Group> group = findGroup(); group; group = findGroup())
      combine(*group);
  }

private:
  /// Seconds that one call less saves, and that it costs to bring an array to the others and its result back.
  double savedSeconds(AllReduceOp op) const {
    std::vector<std::string> names;
    for (const spmd::AxisRef &axis : op.getGroupAxes().toValues())
      names.push_back(axis.name);
    return static_cast<double>(CostModel::stepsOf("all_reduce")) * model.ratesOf(names).latencyMicroseconds * 1e-6;
  }
  double copySeconds(AllReduceOp op) const {
    return 4 * static_cast<double>(op.getType().getBytes()) / model.memoryPerSecond;
  }

  /// Whether one can be in a group: a single one more pays.
  bool isSmall(AllReduceOp op) const { return op.getType().getBytes() > 0 && copySeconds(op) < savedSeconds(op); }

  static bool areAlike(AllReduceOp x, AllReduceOp y) {
    return x.getKind() == y.getKind() && x.getGroupAxes() == y.getGroupAxes() &&
           x.getType().getElementType() == y.getType().getElementType();
  }

  /// The values that an operation reads, in its regions too.
  static void forEachRead(Operation *op, llvm::function_ref<void(Value)> visit) {
    op->walk([&](Operation *inner) { llvm::for_each(inner->getOperands(), visit); });
  }

  /// The first group that pays.
  std::optional<Group> findGroup() {
    struct Open {
      Group members;
      llvm::DenseSet<Operation *> followers; ///< What needs a member's result.
      bool isClosed = false;
    };
    std::vector<Open> groups;
    for (Operation &op : block) {
      for (Open &group : groups) {
        bool follows = false;
        forEachRead(&op, [&](Value value) {
          Operation *origin = value.getDefiningOp();
          follows |= origin && group.followers.contains(origin);
        });
        if (!follows)
          continue;
        group.followers.insert(&op);
        // What is printed keeps its place.
        group.isClosed |= !isMemoryEffectFree(&op);
      }
      auto reduce = dyn_cast<AllReduceOp>(op);
      if (!reduce || !isSmall(reduce))
        continue;
      auto fits = [&](const Open &group) {
        return !group.isClosed && areAlike(group.members.front(), reduce) && !group.followers.contains(reduce);
      };
      auto group = llvm::find_if(groups, fits);
      if (group == groups.end())
        group = groups.insert(groups.end(), Open());
      group->members.push_back(reduce);
      group->followers.insert(reduce);
    }
    for (Open &group : groups) {
      double copies = 0;
      for (AllReduceOp member : group.members)
        copies += copySeconds(member);
      if (copies < static_cast<double>(group.members.size() - 1) * savedSeconds(group.members.front()))
        return std::move(group.members);
    }
    return std::nullopt;
  }

  void combine(const Group &group) {
    AllReduceOp last = group.back();
    moveFollowers(group);
    OpBuilder builder(last);
    SmallVector<Location> locs;
    SmallVector<Value> parts;
    llvm::SetVector<StringRef> reasons;
    int64_t total = 0;
    Type elementType = last.getType().getElementType();
    for (AllReduceOp member : group) {
      locs.push_back(member.getLoc());
      if (StringAttr why = member.getWhyAttr())
        reasons.insert(why.getValue());
      int64_t size = member.getType().getNumElements();
      parts.push_back(
          builder.createOrFold<ReshapeOp>(member.getLoc(), ArrayType::get({size}, elementType), member.getOperand()));
      total += size;
    }
    Location loc = fuseLocs(last.getContext(), locs);
    auto flat = ArrayType::get({total}, elementType);
    Value joined = builder.create<ConcatenateOp>(loc, flat, parts, 0);
    Value reduced =
        builder.create<AllReduceOp>(loc, flat, joined, last.getKind(), last.getAxesAttr(),
                                    reasons.empty() ? StringAttr() : builder.getStringAttr(llvm::join(reasons, "; ")));
    int64_t begin = 0;
    for (AllReduceOp member : group) {
      int64_t size = member.getType().getNumElements();
      Value part = builder.create<SliceOp>(member.getLoc(), reduced, ArrayRef<int64_t>{begin},
                                           ArrayRef<int64_t>{begin + size}, ArrayRef<int64_t>{1});
      Value result = builder.createOrFold<ReshapeOp>(member.getLoc(), member.getType(), part);
      member.getResult().replaceAllUsesWith(result);
      begin += size;
    }
    for (AllReduceOp member : group)
      member.erase();
  }

  /// What stands between the members and needs one of them goes behind the last.
  void moveFollowers(const Group &group) {
    llvm::DenseSet<Operation *> followers(group.begin(), group.end());
    SmallVector<Operation *> moved;
    Operation *last = group.back();
    for (Operation *op = group.front()->getNextNode(); op != last; op = op->getNextNode()) {
      bool follows = false;
      forEachRead(op, [&](Value value) {
        Operation *origin = value.getDefiningOp();
        follows |= origin && followers.contains(origin);
      });
      if (!follows || followers.contains(op))
        continue;
      followers.insert(op);
      moved.push_back(op);
    }
    Operation *place = last;
    for (Operation *op : moved) {
      op->moveAfter(place);
      place = op;
    }
  }

  Block &block;
  const CostModel &model;
};

class CombineCollectivesPass : public impl::CombineCollectivesBase<CombineCollectivesPass> {
  void runOnOperation() override {
    CostModel model = CostModel::of(getOperation());
    SmallVector<Block *> blocks;
    getOperation().walk([&](Block *block) { blocks.push_back(block); });
    for (Block *block : blocks)
      BlockCombiner(*block, model).run();
  }
};

} // namespace
} // namespace spmdc
