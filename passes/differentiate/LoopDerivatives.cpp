//===- LoopDerivatives.cpp - cotangents through loops ---------------------===//
//
// The derivative of a loop of n iterations is a loop that runs backward. It carries the cotangents of the carries, and
// the sums of all iterations' contributions to the cotangents of outside values. Forward values that a backward
// iteration needs are stacked: the forward loop writes them to row i of an array of n rows, and the backward loop reads
// them from there.
//
//===----------------------------------------------------------------------===//

#include "passes/differentiate/RegionDerivatives.h"
#include "passes/differentiate/Residuals.h"
#include "passes/differentiate/ReverseSweep.h"

using namespace mlir;

namespace spmdc {
namespace {

/// The values that cotangents may reach.
class Reach {
public:
  explicit Reach(const Activity &activity) : activity(activity) {}

  void mark(Value value) {
    if (activity.isActive(value))
      reached.insert(value);
  }
  bool isReached(Value value) const { return reached.contains(value); }

  /// Propagates backward through a loop some of whose results are marked, until no more carries are reached.
  void follow(ForOp op) {
    size_t before;
    do {
      before = reached.size();
      markYielded(op, op.getBody().front());
      for (auto [result, argument, init] : llvm::zip(op.getOutputs(), op.getCarries(), op.getInitials()))
        if (isReached(argument)) {
          mark(result);
          mark(init);
        }
    } while (reached.size() != before);
  }

private:
  void markYielded(Operation *op, Block &block) {
    for (auto [result, yielded] : llvm::zip(op->getResults(), block.getTerminator()->getOperands()))
      if (isReached(result))
        mark(yielded);
    for (Operation &inside : llvm::reverse(block))
      follow(&inside);
  }

  void follow(Operation *op) {
    if (llvm::none_of(op->getResults(), [&](Value result) { return isReached(result); }))
      return;
    if (auto loop = dyn_cast<ForOp>(op)) {
      for (auto [result, init] : llvm::zip(loop.getOutputs(), loop.getInitials()))
        if (isReached(result))
          mark(init);
      return follow(loop);
    }
    if (isa<IfOp, CheckpointOp>(op)) {
      for (Region &region : op->getRegions())
        markYielded(op, region.front());
      return;
    }
    for (Value operand : op->getOperands())
      mark(operand);
  }

  const Activity &activity;
  llvm::DenseSet<Value> reached;
};

Value createScalar(OpBuilder &builder, Location loc, int64_t number) {
  return builder.create<ConstantOp>(loc, ArrayType::get({}, builder.getI32Type()), Scalar::ofInt(number));
}

/// x - y of loop counters.
Value createDifference(OpBuilder &builder, Location loc, Value x, Value y) {
  return builder.create<SubtractOp>(loc, plainTypeOf(x), x, y);
}

ArrayType rowOf(ArrayType type, int64_t rows) {
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin(), rows);
  return type.withShape(shape);
}

/// The start of row `index` of an array whose rows have type `type`.
SmallVector<Value> startsOf(OpBuilder &builder, Location loc, Value index, ArrayType type) {
  SmallVector<Value> starts(type.getRank() + 1, createScalar(builder, loc, 0));
  starts[0] = index;
  return starts;
}

/// Adds stacks of values of the body to the loop's carries; the stacks are its last results.
ForOp stackValues(ForOp op, ArrayRef<Value> values) {
  OpBuilder builder(op);
  Location loc = getDerivativeLoc(op);
  Block &body = op.getBody().front();
  Operation *yield = body.getTerminator();
  OpBuilder inner(yield);
  SmallVector<Value> inits(op.getInitials());
  SmallVector<Type> types(op.getResultTypes());
  Value row;
  if (!values.empty())
    row = createDifference(inner, loc, op.getCounter(), createScalar(inner, loc, static_cast<int64_t>(op.getLower())));
  for (Value value : values) {
    ArrayType type = plainTypeOf(value), stack = rowOf(type, op.getTripCount());
    inits.push_back(createZero(builder, loc, stack));
    types.push_back(stack);
    Value rows = body.addArgument(stack, loc);
    Value update = inner.create<ReshapeOp>(loc, rowOf(type, 1), value);
    rows = inner.create<DynamicUpdateSliceOp>(loc, stack, rows, update, startsOf(inner, loc, row, type));
    yield->insertOperands(yield->getNumOperands(), rows);
  }
  auto extended = builder.create<ForOp>(op.getLoc(), types, op.getLowerAttr(), op.getUpperAttr(), inits);
  extended.getBody().takeBody(op.getBody());
  return extended;
}

} // namespace

LogicalResult ReverseSweep::differentiateFor(ForOp op, OpBuilder &builder) {
  Location loc = getDerivativeLoc(op);
  int64_t iterations = op.getTripCount();
  if (iterations == 0) {
    for (auto [result, init] : llvm::zip(op.getOutputs(), op.getInitials()))
      if (Value cotangent = getCotangent(builder, result))
        add(builder, init, cotangent, derivative.missing(result, init));
    return success();
  }
  Reach reach(derivative.activity);
  for (Value result : op.getOutputs())
    if (isReached(result))
      reach.mark(result);
  reach.follow(op);

  // The backward counter goes up; the forward counter that corresponds to it goes down.
  Workspace workspace(builder, loc);
  Block &block = workspace.getBlock();
  OpBuilder inner = OpBuilder::atBlockEnd(&block);
  Value iteration = block.addArgument(op.getCounter().getType(), loc);
  ReverseSweep sweep(derivative);
  SmallVector<Value> inits, yielded;
  Operation *yield = op.getBody().front().getTerminator();
  SmallVector<Contribution> targets; // Get the results as cotangents: inits of carries, then outside values.
  SmallVector<Value> carried;        // The carries that cotangents reach: arguments of the forward body.
  for (auto [argument, init, result, next] :
       llvm::zip(op.getCarries(), op.getInitials(), op.getOutputs(), yield->getOperands())) {
    if (!reach.isReached(argument) && !isReached(result))
      continue;
    ArrayType type = plainTypeOf(argument);
    Value cotangent = getCotangent(builder, result);
    inits.push_back(cotangent ? cotangent : createZero(builder, loc, type));
    carried.push_back(argument);
    targets.push_back({init, derivative.missing(argument, init), {}});
    sweep.add(inner, next, block.addArgument(type, loc), derivative.missing(argument, next));
  }
  if (failed(sweep.run(op.getBody().front(), inner)))
    return failure();
  for (Value argument : carried) {
    Value cotangent = sweep.getCotangent(inner, argument);
    yielded.push_back(cotangent ? cotangent : createZero(inner, loc, plainTypeOf(argument)));
  }
  for (const Contribution &contribution : sweep.listOutside(op.getBody())) {
    targets.push_back(contribution);
    ArrayType type = plainTypeOf(contribution.value);
    inits.push_back(createZero(builder, loc, type));
    yielded.push_back(createSum(inner, block.addArgument(type, loc), contribution.cotangent));
  }
  inner.create<YieldOp>(loc, yielded);
  eraseDead(block);

  OpBuilder begin = OpBuilder::atBlockBegin(&block);
  auto countDown = [&](int64_t from) {
    Value first = createScalar(begin, loc, from);
    return createDifference(begin, loc, first, iteration);
  };
  IRMapping known;
  known.map(op.getCounter(), countDown(static_cast<int64_t>(op.getUpper()) - 1));
  Value row = countDown(iterations - 1);
  Residuals residuals(op.getBody().front(), block, known);
  SmallVector<Value> stacks;
  if (!residuals.getKept().empty()) {
    ForOp extended = stackValues(op, residuals.getKept());
    llvm::append_range(stacks, extended.getOutputs().drop_front(op.getOutputs().size()));
    replaceForward(derivative, op, extended);
  }
  residuals.substitute([&](OpBuilder &reader, unsigned index) -> Value {
    ArrayType type = plainTypeOf(residuals.getKept()[index]);
    SmallVector<int64_t> sizes(rowOf(type, 1).getShape());
    Value slice =
        reader.create<DynamicSliceOp>(loc, rowOf(type, 1), stacks[index], startsOf(reader, loc, row, type), sizes);
    return reader.create<ReshapeOp>(loc, type, slice);
  });
  SmallVector<Type> types;
  for (Value init : inits)
    types.push_back(plainTypeOf(init));
  auto backward =
      builder.create<ForOp>(loc, types, builder.getI64IntegerAttr(0), builder.getI64IntegerAttr(iterations), inits);
  backward.getBody().takeBody(workspace.getRegion());
  for (auto [target, result] : llvm::zip(targets, backward.getOutputs()))
    add(builder, target.value, result, target.axes);
  return success();
}

} // namespace spmdc
