//===- CombineCollectives.cpp - one collective for several small ones -----===//
//
// The members of a group have the same operation, reduction or pairs, element type and axes, and none needs another's
// result. The combined collective runs where its first member did, or as soon as all operands are computed. Operations
// in front of that point that read a result are moved behind it.
//
// Each member's operand becomes a matrix, the matrices are concatenated along dimension 1, and the columns of the
// result become the members' results. With g devices:
//
//   all_reduce        [1, n] -> [1, n]
//   all_gather        [1, n] -> [g, n]   a row per shard; concatenated along the member's dimension afterwards
//   reduce_scatter    [g, n] -> [1, n]   a row per receiver; the operand is split along the member's dimension before
//   all_to_all        [g, n] -> [1, g n] both; the received shards become rows again
//   collective_permute [1, n] -> [1, n]
//   collective_broadcast [1, n] -> [1, n], from one root
//
// Only even shards are combined: those of an uneven dimension are not the rows of a matrix.
//
//===----------------------------------------------------------------------===//

#include "ir/array/ArrayOps.h"
#include "ir/spmd/CollectiveBroadcast.h"
#include "ir/spmd/DebugTrace.h"
#include "ir/spmd/Location.h"
#include "ir/spmd/SpmdOps.h"
#include "passes/collectives/Passes.h"
#include "passes/cost/CostModel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_COMBINECOLLECTIVES
#include "passes/collectives/Passes.h.inc"

namespace {

DebugTrace trace("combine-collectives", "not combined");

/// The most bytes of operands and results of one group: all of them are live in memory at the same time.
constexpr int64_t kMaxBytes = 4 << 20;

using Group = SmallVector<CollectiveOpInterface>;

ArrayType operandType(CollectiveOpInterface op) { return cast<ArrayType>(op->getOperand(0).getType()); }
ArrayType resultType(CollectiveOpInterface op) { return cast<ArrayType>(op->getResult(0).getType()); }

/// The dimension along which a device's operand is split into a part for each receiver; none if all receive the same.
std::optional<int64_t> splitDim(CollectiveOpInterface op) {
  if (auto scatter = dyn_cast<ReduceScatterOp>(op.getOperation()))
    return scatter.getDim();
  if (auto exchange = dyn_cast<AllToAllOp>(op.getOperation()))
    return exchange.getSplit();
  return std::nullopt;
}

/// The dimension along which the shards of all devices are concatenated; none if the result is not a concatenation.
std::optional<int64_t> concatDim(CollectiveOpInterface op) {
  if (auto gather = dyn_cast<AllGatherOp>(op.getOperation()))
    return gather.getDim();
  if (auto exchange = dyn_cast<AllToAllOp>(op.getOperation()))
    return exchange.getConcat();
  return std::nullopt;
}

/// The shape with a dimension `size` in front of dimension `dim`.
SmallVector<int64_t> withDim(ArrayRef<int64_t> shape, int64_t dim, int64_t size) {
  SmallVector<int64_t> result(shape);
  result.insert(result.begin() + dim, size);
  return result;
}

/// One member of a group as a matrix, and back.
class Member {
public:
  Member(CollectiveOpInterface op, int64_t devices, OpBuilder &builder) : op(op), devices(devices), builder(builder) {}

  Value pack() {
    Value operand = op->getOperand(0);
    std::optional<int64_t> dim = splitDim(op);
    if (!dim)
      return reshape(operand, {1, operandType(op).getNumElements()});
    // The dimension of the receivers comes first.
    SmallVector<int64_t> order = {*dim};
    for (int64_t d = 0; d <= operandType(op).getRank(); ++d)
      if (d != *dim)
        order.push_back(d);
    Value split = reshape(operand, withDim(sentShape(), *dim, devices));
    return reshape(transpose(split, order), {devices, operandType(op).getNumElements() / devices});
  }

  Value unpack(Value matrix) {
    std::optional<int64_t> dim = concatDim(op);
    if (!dim)
      return reshape(matrix, resultType(op).getShape());
    SmallVector<int64_t> order;
    for (int64_t d = 0; d < operandType(op).getRank(); ++d) {
      if (d == *dim)
        order.push_back(0);
      order.push_back(d + 1);
    }
    Value shards = reshape(matrix, withDim(sentShape(), 0, devices));
    return reshape(transpose(shards, order), resultType(op).getShape());
  }

private:
  /// The shape of what one device sends to one other.
  SmallVector<int64_t> sentShape() const {
    SmallVector<int64_t> shape(operandType(op).getShape());
    if (std::optional<int64_t> dim = splitDim(op))
      shape[*dim] /= devices;
    return shape;
  }
  Value reshape(Value value, ArrayRef<int64_t> shape) {
    return builder.createOrFold<ReshapeOp>(op->getLoc(), ArrayType::get(shape, operandType(op).getElementType()),
                                           value);
  }
  Value transpose(Value value, ArrayRef<int64_t> order) {
    return builder.createOrFold<TransposeOp>(op->getLoc(), value, order);
  }

  CollectiveOpInterface op;
  int64_t devices;
  OpBuilder &builder;
};

class BlockCombiner {
public:
  BlockCombiner(Block &block, const spmd::MeshShape &mesh, const CostModel &model)
      : block(block), mesh(mesh), model(model) {}

  /// Combines one kind after the other. Each kind sees the order that the previous one has left, so that no two groups
  /// depend on each other.
  void run() {
    SmallVector<Kind> kinds;
    for (Operation &op : block)
      if (auto collective = dyn_cast<CollectiveOpInterface>(op); collective && !isSmall(collective))
        traceLarge(collective);
      else if (collective)
        if (Kind kind = kindOf(collective); !llvm::is_contained(kinds, kind))
          kinds.push_back(kind);
    for (const Kind &kind : kinds)
      for (const Group &group : listGroups(kind))
        combine(group);
  }

private:
  /// Seconds that one call fewer saves.
  double savedSeconds(CollectiveOpInterface op) const {
    std::vector<std::string> names;
    for (const spmd::AxisRef &axis : op.getGroupAxes().toValues())
      names.push_back(axis.name);
    std::string name = op->getName().stripDialect().str();
    return static_cast<double>(CostModel::stepsOf(name)) * model.ratesOf(names).latencyMicroseconds * 1e-6;
  }
  static int64_t bytesOf(CollectiveOpInterface op) { return operandType(op).getBytes() + resultType(op).getBytes(); }
  /// Seconds to copy an operand into the combined operand, and the result out of the combined result.
  double copySeconds(CollectiveOpInterface op) const {
    return 2 * static_cast<double>(bytesOf(op)) / model.memoryPerSecond;
  }

  int64_t devicesOf(CollectiveOpInterface op) const {
    int64_t devices = 1;
    for (const spmd::AxisRef &axis : op.getGroupAxes().toValues())
      devices *= axis.sizeIn(mesh);
    return devices;
  }

  /// Traces why `isSmall` is false.
  void traceLarge(CollectiveOpInterface op) const {
    if (isa<AllSliceOp, ExchangeOp>(op.getOperation()))
      trace.skip(op, "operations of this kind are never combined");
    else if (!areEven(op))
      trace.skip(op, "its shards are uneven");
    else
      trace.skip(op, "copying its ", bytesOf(op), " bytes takes ", asTime(copySeconds(op)), ", a call of its own ",
                 asTime(savedSeconds(op)));
  }

  /// Whether the collective can join a group: the call that it saves costs more than its copies.
  bool isSmall(CollectiveOpInterface op) const {
    return isa<AllReduceOp, AllGatherOp, ReduceScatterOp, AllToAllOp, CollectivePermuteOp, CollectiveBroadcastOp>(
               op.getOperation()) &&
           operandType(op).getNumElements() > 0 && areEven(op) && copySeconds(op) < savedSeconds(op);
  }

  /// Whether all shards have the same size.
  bool areEven(CollectiveOpInterface op) const {
    int64_t devices = devicesOf(op);
    SmallVector<int64_t> expected(operandType(op).getShape());
    if (std::optional<int64_t> dim = splitDim(op)) {
      if (expected[*dim] % devices != 0)
        return false;
      expected[*dim] /= devices;
    }
    if (std::optional<int64_t> dim = concatDim(op))
      expected[*dim] *= devices;
    return resultType(op).getShape() == ArrayRef(expected);
  }

  struct Kind {
    OperationName name;
    AxesAttr axes;
    Attribute reduction; ///< The reduction, or the pairs of a permute.
    Type elementType;
    Value root; ///< The root of a broadcast, else null.
    bool operator==(const Kind &) const = default;
  };
  static Kind kindOf(CollectiveOpInterface op) {
    Attribute reduction = op->getAttr(isa<CollectivePermuteOp>(op.getOperation()) ? "pairs" : "kind");
    auto broadcast = dyn_cast<CollectiveBroadcastOp>(op.getOperation());
    Value root = broadcast ? broadcast.getRoot() : Value();
    return {op->getName(), op.getGroupAxes(), reduction, operandType(op).getElementType(), root};
  }

  /// The values that an operation reads, in its regions too.
  static void forEachRead(Operation *op, llvm::function_ref<void(Value)> visit) {
    op->walk([&](Operation *inner) { llvm::for_each(inner->getOperands(), visit); });
  }

  /// The groups of a kind that save time. The depth of an operation is the number of collectives of this kind on the
  /// longest chain of operands before it. Members of a group have equal depth, so none needs another's result.
  std::vector<Group> listGroups(const Kind &kind) {
    llvm::DenseMap<Operation *, int64_t> depths; ///< The depth of an operation's results.
    std::map<int64_t, Group> open;
    std::vector<Group> groups;
    auto close = [&](std::map<int64_t, Group>::iterator entry) {
      if (pays(entry->second))
        groups.push_back(std::move(entry->second));
      else if (entry->second.size() == 1)
        trace.skip(entry->second.front(), "no other collective of its kind is independent of it and near");
      else
        trace.skip(entry->second.front(), "the copies of the group of ", entry->second.size(),
                   " take longer than the calls that it saves");
      return open.erase(entry);
    };
    for (Operation &op : block) {
      int64_t depth = 0;
      forEachRead(&op, [&](Value value) {
        if (Operation *origin = value.getDefiningOp())
          if (auto known = depths.find(origin); known != depths.end())
            depth = std::max(depth, known->second);
      });
      // An operation with effects (a print) keeps its place, so collectives that it needs cannot wait for later ones.
      if (!isMemoryEffectFree(&op))
        for (auto entry = open.begin(); entry != open.end() && entry->first < depth;)
          entry = close(entry);
      auto collective = dyn_cast<CollectiveOpInterface>(op);
      bool isMember = collective && isSmall(collective) && kindOf(collective) == kind;
      depths[&op] = depth + isMember;
      if (!isMember)
        continue;
      if (auto entry = open.find(depth);
          entry != open.end() && bytesOf(entry->second) + bytesOf(collective) > kMaxBytes)
        close(entry);
      open[depth].push_back(collective);
    }
    while (!open.empty())
      close(open.begin());
    return groups;
  }

  static int64_t bytesOf(const Group &group) {
    int64_t bytes = 0;
    for (CollectiveOpInterface member : group)
      bytes += bytesOf(member);
    return bytes;
  }

  bool pays(const Group &group) const {
    double copies = 0;
    for (CollectiveOpInterface member : group)
      copies += copySeconds(member);
    return copies < static_cast<double>(group.size() - 1) * savedSeconds(group.front());
  }

  void combine(Group group) {
    // Combining other groups may have changed the order of the members.
    llvm::sort(group, [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); });
    CollectiveOpInterface last = group.back();
    Operation *ready = group.front();
    for (CollectiveOpInterface member : group)
      if (Operation *origin = member->getOperand(0).getDefiningOp();
          origin && origin->getBlock() == &block && ready->isBeforeInBlock(origin))
        ready = origin;
    if (ready != last)
      last->moveAfter(ready);
    moveFollowers(group);
    OpBuilder builder(last);
    int64_t devices = devicesOf(last);
    SmallVector<Location> locs;
    SmallVector<Value> parts;
    llvm::SetVector<StringRef> reasons;
    int64_t columns = 0;
    for (CollectiveOpInterface member : group) {
      locs.push_back(member->getLoc());
      if (auto why = member->getAttrOfType<StringAttr>("why"))
        reasons.insert(why.getValue());
      parts.push_back(Member(member, devices, builder).pack());
      columns += cast<ArrayType>(parts.back().getType()).getDimSize(1);
    }
    Location loc = fuseLocs(last->getContext(), locs);
    Type elementType = operandType(last).getElementType();
    int64_t rows = splitDim(last) ? devices : 1;
    Value combined = builder.create<ConcatenateOp>(loc, ArrayType::get({rows, columns}, elementType), parts, 1);
    int64_t resultRows = concatDim(last) ? devices : 1;
    StringAttr why = reasons.empty() ? StringAttr() : builder.getStringAttr(llvm::join(reasons, "; "));
    Value result = create(builder, loc, ArrayType::get({resultRows, columns}, elementType), combined, last, why);
    int64_t begin = 0;
    for (auto [member, part] : llvm::zip_equal(group, parts)) {
      int64_t end = begin + cast<ArrayType>(part.getType()).getDimSize(1);
      Value columnsOfMember = builder.create<SliceOp>(member->getLoc(), result, ArrayRef<int64_t>{0, begin},
                                                      ArrayRef<int64_t>{resultRows, end}, ArrayRef<int64_t>{1, 1});
      member->getResult(0).replaceAllUsesWith(Member(member, devices, builder).unpack(columnsOfMember));
      begin = end;
    }
    for (CollectiveOpInterface member : group)
      member->erase();
  }

  static Value create(OpBuilder &builder, Location loc, ArrayType type, Value operand, CollectiveOpInterface like,
                      StringAttr why) {
    if (auto reduce = dyn_cast<AllReduceOp>(like.getOperation()))
      return builder.create<AllReduceOp>(loc, type, operand, reduce.getKind(), like.getGroupAxes(), why);
    if (auto scatter = dyn_cast<ReduceScatterOp>(like.getOperation()))
      return builder.create<ReduceScatterOp>(loc, type, operand, scatter.getKind(), 0, like.getGroupAxes(), why);
    if (isa<AllToAllOp>(like.getOperation())) {
      ArrayType behind = ArrayType::get({1, type.getNumElements()}, type.getElementType());
      Value shards = builder.create<AllToAllOp>(loc, behind, operand, 0, 1, like.getGroupAxes(), why);
      return builder.create<ReshapeOp>(loc, type, shards);
    }
    if (auto permute = dyn_cast<CollectivePermuteOp>(like.getOperation()))
      return builder.create<CollectivePermuteOp>(loc, type, operand, permute.getPairs(), like.getGroupAxes(), why);
    if (auto broadcast = dyn_cast<CollectiveBroadcastOp>(like.getOperation()))
      return builder.create<CollectiveBroadcastOp>(loc, type, operand, broadcast.getRoot(), like.getGroupAxes(), why);
    return builder.create<AllGatherOp>(loc, type, operand, 0, like.getGroupAxes(), why);
  }

  /// Moves the operations between the first member and the last that need a member's result behind the last member,
  /// where the combined collective runs.
  void moveFollowers(const Group &group) {
    llvm::DenseSet<Operation *> followers;
    for (CollectiveOpInterface member : group)
      followers.insert(member);
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
  const spmd::MeshShape &mesh;
  const CostModel &model;
};

class CombineCollectivesPass : public impl::CombineCollectivesBase<CombineCollectivesPass> {
  void runOnOperation() override {
    CostModel model = CostModel::of(getOperation());
    spmd::MeshShape mesh = getMesh(getOperation()).toValue();
    SmallVector<Block *> blocks;
    getOperation().walk([&](Block *block) { blocks.push_back(block); });
    for (Block *block : blocks)
      BlockCombiner(*block, mesh, model).run();
  }
};

} // namespace
} // namespace spmdc
