//===- SkipReshapes.cpp - computes in front of reshapes -------------------===//
//
// If a reshape merges dimensions of which a minor one is sharded, its result cannot have the same elements on each
// device, so devices exchange them. Operations that read only some of the elements, or all in any order, can be
// computed in front of the reshape:
//
//   sum(reshape(x, [-1]))                 the sum along all of x's dimensions
//   reshape(x, [-1]) @ reshape(y, [-1])   a product summed over all dimensions
//   reshape(x, [-1])[i]                   a lookup in the shards (MergedDim.h), at places computed from i
//   scatter_add(reshape(x, [-1]), i, v)   a scatter_add in the shards, then a reshape
//   reshape(abs(reshape(x, [-1])), [R, C])    abs(x)
//
// Updates that are added to zeros and then reshaped, as in the derivative of the second, are added to zeros of the
// final shape. Sorts: DistributedTopK.h.
//
//===----------------------------------------------------------------------===//

#include "ir/array/LocalBuilder.h"
#include "ir/spmd/DebugTrace.h"
#include "passes/exchange/Regrouping.h"
#include "passes/reshard/ReshardPlanner.h"
#include "passes/restructure/BeforeReshape.h"
#include "passes/restructure/MergedPositions.h"
#include "passes/restructure/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_SKIPRESHAPES
#include "passes/restructure/Passes.h.inc"

namespace {

DebugTrace trace("skip-reshapes", "not computed in front of the reshape");

/// Traces that an operation stays behind the reshapes in front of its operand, if there are any. Returns false.
bool skip(Operation *op, Value operand, const char *reason) {
  return trace.isOn() && findReshape(operand) && trace.skip(op, reason);
}

constexpr const char *kNotMerged = "the reshape merges no sharded dimension";
constexpr const char *kOtherUsers = "another user needs the reshaped array";

/// Whether all users of an array can be computed in front of reshapes.
bool canSkipReshapes(Value value) {
  return llvm::all_of(value.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isa<TakeOp, TakeAlongOp, ScatterAddOp, ScatterAddAlongOp>(user))
      return use.getOperandNumber() == 0;
    if (isa<ElementwiseOpInterface>(user))
      return canSkipReshapes(user->getResult(0));
    return isa<ReduceOp, DotGeneralOp, ReshapeOp>(user);
  });
}

/// Converts positions in a merged dimension to places in its shards.
class Places : IndexArithmetic {
public:
  Places(const MergedDim &dim, OpBuilder &b, Location loc) : IndexArithmetic(b, loc), dim(dim), b(b), loc(loc) {}

  /// The places of positions, which are clamped into range.
  Value inside(Value positions) { return find(clamp(positions, 0, dim.getSize() - 1)); }

  /// The same, but -1 for positions out of range.
  Value orOutside(Value positions) {
    Value isInside = both(compare(positions, ComparisonDirection::ge, like(positions, 0)),
                          compare(positions, ComparisonDirection::lt, like(positions, dim.getSize())));
    return select(isInside, inside(positions), like(positions, -1));
  }

  /// The array in front of the reshape, with all shards joined to one dimension.
  Value toJoined(Value value) {
    Value before = buildBefore(b, value, dim.getSource());
    return dim.join(b, loc, dim.toShards(b, loc, before, Scalar()));
  }

private:
  Value find(Value positions) { return MergedPositions(dim, b, loc).toJoined(positions); }

  const MergedDim &dim;
  OpBuilder &b;
  Location loc;
};

template <typename Op> bool skipForTake(Op op, const spmd::MeshShape &mesh) {
  Value operand = op.getOperand();
  std::optional<MergedDim> dim = MergedDim::of(operand, static_cast<int64_t>(op.getDim()), mesh);
  if (!dim || !dim->isMerged())
    return skip(op, operand, kNotMerged);
  if (!canSkipReshapes(operand))
    return skip(op, operand, kOtherUsers);
  OpBuilder b(op);
  Places places(*dim, b, op.getLoc());
  Value indices = places.inside(op.getIndices());
  op.replaceAllUsesWith(
      b.create<Op>(op.getLoc(), op.getType(), places.toJoined(operand), indices, op.getDim()).getResult());
  op.erase();
  return true;
}

/// The only reshape behind an array and element-wise operations on it; null if the array has other users.
ReshapeOp findOnlyReshape(Value value) {
  ReshapeOp found;
  for (Operation *user : value.getUsers()) {
    auto reshape = dyn_cast<ReshapeOp>(user);
    if (!reshape && isa<ElementwiseOpInterface>(user))
      reshape = findOnlyReshape(user->getResult(0));
    if (!reshape || (found && found.getType() != reshape.getType()))
      return {};
    found = reshape;
  }
  return found;
}

template <typename Op> bool skipForScatter(Op op, const spmd::MeshShape &mesh) {
  Value operand = op.getOperand();
  auto along = static_cast<int64_t>(op.getDim());
  std::optional<MergedDim> dim = MergedDim::of(operand, along, mesh);
  if (!dim || !dim->isMerged() || !canSkipReshapes(operand)) {
    ReshapeOp reshape = findOnlyReshape(op.getResult());
    dim = reshape ? MergedDim::ofSplit(reshape, along, mesh) : std::nullopt;
    if (!dim || !canBuildBefore(operand, dim->getSource()))
      return skip(op, operand, "neither its operand nor its result is reshaped from or to sharded dimensions alone");
  }
  OpBuilder b(op);
  Location loc = op.getLoc();
  Places places(*dim, b, loc);
  Value joined = places.toJoined(operand), indices = places.orOutside(op.getIndices());
  Value added = b.create<Op>(loc, joined.getType(), joined, indices, op.getUpdates(), op.getDim());
  Value before = dim->fromShards(b, loc, dim->unjoin(b, loc, added));
  op.replaceAllUsesWith(b.create<ReshapeOp>(loc, op.getType(), before).getResult());
  op.erase();
  return true;
}

bool skipForReduce(ReduceOp op, const spmd::MeshShape &mesh) {
  Value operand = op.getOperand();
  ReshapeOp reshape = findReshape(operand);
  if (!reshape || !llvm::any_of(op.getDims(), [&](int64_t dim) {
        std::optional<MergedDim> merged = MergedDim::of(operand, dim, mesh);
        return merged && merged->isMerged();
      }))
    return skip(op, operand, kNotMerged);
  ShardingRule rule = reshape.getShardingRule();
  ArrayType source = reshape.getOperand().getType();
  std::optional<FactorizedType> factorized = FactorizedType::of(source, rule, rule.operands[0], mesh);
  llvm::SmallDenseSet<int64_t> reduced;
  for (int64_t dim : op.getDims())
    reduced.insert(rule.results[0][dim].begin(), rule.results[0][dim].end());
  spmd::Sharding left;
  SmallVector<int64_t> dims, shape;
  int64_t elements = 1;
  for (auto [dim, factor] : llvm::enumerate(factorized->order)) {
    if (reduced.contains(factor)) {
      dims.push_back(static_cast<int64_t>(dim));
      continue;
    }
    shape.push_back(rule.factors[factor].size);
    elements *= shape.back();
    left.dims.push_back(factorized->type.getShardingOrOpen().toValue().dims[dim]);
  }
  if (elements != op.getType().getNumElements())
    return skip(op, operand, "it reduces a part of a dimension of the array in front of the reshape");
  OpBuilder b(op);
  Location loc = op.getLoc();
  auto typed = [&](ArrayType type) { return type.withElementType(op.getType().getElementType()); };
  Value apart = b.createOrFold<ReshapeOp>(loc, typed(factorized->type), buildBefore(b, operand, source));
  ArrayType type = typed(source.withShape(shape).withSharding(ShardingAttr::fromValue(b.getContext(), left)));
  bool isDone = type.getShape() == op.getType().getShape();
  Value result = b.create<ReduceOp>(loc, isDone ? op.getType() : type, apart, op.getKind(), dims);
  if (!isDone)
    result = b.create<ReshapeOp>(loc, op.getType(), result);
  op.replaceAllUsesWith(result);
  op.erase();
  return true;
}

/// Products of full arrays.
bool skipForDot(DotGeneralOp op, const spmd::MeshShape &mesh) {
  if (op.getLhs().getType().getRank() != 1 || op.getLhsContract().size() != 1 || op.getType().getRank() != 0)
    return false;
  std::optional<MergedDim> dim = MergedDim::of(op.getLhs(), 0, mesh);
  if (!dim || !dim->isMerged())
    return skip(op, op.getLhs(), kNotMerged);
  if (!canBuildBefore(op.getRhs(), dim->getSource()))
    return skip(op, op.getLhs(), "the other operand is not reshaped from an equal array");
  OpBuilder b(op);
  auto all = llvm::to_vector(llvm::seq<int64_t>(0, dim->getSource().getRank()));
  Value lhs = buildBefore(b, op.getLhs(), dim->getSource()), rhs = buildBefore(b, op.getRhs(), dim->getSource());
  op.replaceAllUsesWith(
      b.create<DotGeneralOp>(op.getLoc(), op.getType(), lhs, rhs, all, all, ArrayRef<int64_t>{}, ArrayRef<int64_t>{})
          .getResult());
  op.erase();
  return true;
}

/// A reshape back to the original shape.
bool skipForReshape(ReshapeOp op, const spmd::MeshShape &mesh) {
  Value operand = op.getOperand();
  ReshapeOp reshape = findReshape(operand);
  if (!reshape)
    return false;
  ArrayType before = reshape.getOperand().getType();
  if (before.getShape() != op.getType().getShape() ||
      !before.getShardingOrOpen().hasSameAxes(op.getType().getShardingOrOpen()))
    return trace.skip(op, "the array in front of the first reshape is ", before, ", the result ", op.getType());
  if (isLocalReshape(mesh, reshape, before, reshape.getType()))
    return trace.skip(op, "devices reshape their shards locally");
  OpBuilder b(op);
  op.replaceAllUsesWith(buildBefore(b, operand, before));
  op.erase();
  return true;
}

class SkipReshapesPass : public impl::SkipReshapesBase<SkipReshapesPass> {
  void runOnOperation() override {
    const spmd::MeshShape &mesh = getAnalysis<ReshardPlanner>().getMesh();
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      SmallVector<Operation *> ops;
      func.walk([&](Operation *op) {
        if (!isPerDevice(op))
          ops.push_back(op);
      });
      bool changed = false;
      for (Operation *op : ops)
        changed |= llvm::TypeSwitch<Operation *, bool>(op)
                       .Case<TakeOp, TakeAlongOp>([&](auto take) { return skipForTake(take, mesh); })
                       .Case<ScatterAddOp, ScatterAddAlongOp>([&](auto add) { return skipForScatter(add, mesh); })
                       .Case([&](ReduceOp reduce) { return skipForReduce(reduce, mesh); })
                       .Case([&](DotGeneralOp dot) { return skipForDot(dot, mesh); })
                       .Case([&](ReshapeOp reshape) { return skipForReshape(reshape, mesh); })
                       .Default(false);
      if (!changed)
        continue;
      eraseDeadOps(func);
      // Each rewrite has built its own copy of the operations in front of its reshape.
      IRRewriter rewriter(func.getContext());
      DominanceInfo dominance(func);
      eliminateCommonSubExpressions(rewriter, dominance, func);
    }
  }
};

} // namespace
} // namespace spmdc
