//===- ExportControl.cpp - loops and branches -----------------------------===//
//
// As in JAX's exports, a `for` is a `while` that counts, and a value from outside is a carry that every iteration
// passes on: the importer turns both back. Branches use values from outside directly.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/export/Exporter.h"

#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

/// Sets values of the array program in a region, and what they were before when it ends.
class Scope {
public:
  explicit Scope(Exporter &e) : e(e), guard(e.b), loc(e.loc) {}
  ~Scope() {
    for (auto [array, tensor] : llvm::reverse(before))
      e.set(array, tensor);
    e.loc = loc;
  }
  Scope(const Scope &) = delete;
  Scope &operator=(const Scope &) = delete;

  void set(ValueRange arrays, ValueRange tensors) {
    for (auto [array, tensor] : llvm::zip_equal(arrays, tensors)) {
      before.emplace_back(array, e.get(array));
      e.set(array, tensor);
    }
  }

private:
  Exporter &e;
  OpBuilder::InsertionGuard guard;
  Location loc;
  SmallVector<std::pair<Value, Value>> before;
};

/// The carries of a loop: a counter, if it has one, the array loop's own, and the values from outside.
class LoopWriter {
public:
  LoopWriter(Exporter &e, Operation *op, ValueRange initials, std::optional<int64_t> lower) : e(e), op(op) {
    llvm::SetVector<Value> above;
    getUsedValuesDefinedAbove(op->getRegions(), above);
    outside = above.takeVector();
    if (lower)
      tensors.push_back(e.integer(e.b.getI32Type(), *lower));
    own = tensors.size();
    llvm::append_range(tensors, e.get(initials));
    llvm::append_range(tensors, e.get(outside));
    loop = e.create<WhileOp>(ValueRange(tensors).getTypes(), tensors);
  }

  /// Writes a region. `body` gets the tensors of its arguments: the counter, then the loop's carries; it returns the
  /// operands of the terminator.
  LogicalResult write(Region &region, ValueRange carries,
                      llvm::function_ref<FailureOr<SmallVector<Value>>(ValueRange)> body) {
    Scope scope(e);
    Block &block = region.emplaceBlock();
    for (Value tensor : tensors)
      block.addArgument(tensor.getType(), e.loc);
    e.b.setInsertionPointToStart(&block);
    ValueRange arguments = block.getArguments();
    scope.set(carries, arguments.slice(own, carries.size()));
    scope.set(outside, arguments.take_back(outside.size()));
    Location loc = e.loc;
    FailureOr<SmallVector<Value>> values = body(arguments);
    if (failed(values))
      return failure();
    e.loc = loc;
    e.create<ReturnOp>(*values);
    return success();
  }

  /// The next values of all carries: the counter's, those that the array loop yields, and the same ones from outside.
  SmallVector<Value> next(ValueRange counter, ValueRange yielded, ValueRange arguments) {
    SmallVector<Value> values(counter);
    llvm::append_range(values, e.get(yielded));
    llvm::append_range(values, arguments.take_back(outside.size()));
    return values;
  }

  LogicalResult finish() {
    e.set(op->getResults(), loop.getResults().slice(own, op->getNumResults()));
    return success();
  }

  WhileOp loop;

private:
  Exporter &e;
  Operation *op;
  SmallVector<Value> outside, tensors;
  size_t own = 0; ///< The number of the first carry of the array loop.
};

LogicalResult forLoop(Exporter &e, spmdc::ForOp op) {
  Block &body = op.getBody().front();
  auto lower = static_cast<int64_t>(op.getLower()), upper = static_cast<int64_t>(op.getUpper());
  LoopWriter writer(e, op, op.getInitials(), lower);
  auto condition = [&](ValueRange arguments) -> FailureOr<SmallVector<Value>> {
    return SmallVector<Value>{e.compare(arguments[0], "LT", e.integer(e.b.getI32Type(), upper))};
  };
  auto iteration = [&](ValueRange arguments) -> FailureOr<SmallVector<Value>> {
    Value counter = arguments[0];
    e.set(body.getArgument(0), counter);
    Location loc = e.loc;
    if (failed(e.write(body)))
      return failure();
    e.loc = loc;
    Value next = e.create<AddOp>(counter.getType(), counter, e.integer(e.b.getI32Type(), 1));
    return writer.next(next, body.getTerminator()->getOperands(), arguments);
  };
  if (failed(writer.write(writer.loop.getCond(), {}, condition)) ||
      failed(writer.write(writer.loop.getBody(), ValueRange(body.getArguments().drop_front()), iteration)))
    return failure();
  return writer.finish();
}

LogicalResult whileLoop(Exporter &e, spmdc::WhileOp op) {
  LoopWriter writer(e, op, op.getInitials(), std::nullopt);
  Block &holds = op.getCondition().front(), &body = op.getBody().front();
  auto condition = [&](ValueRange) -> FailureOr<SmallVector<Value>> {
    if (failed(e.write(holds)))
      return failure();
    return e.get(holds.getTerminator()->getOperands());
  };
  auto iteration = [&](ValueRange arguments) -> FailureOr<SmallVector<Value>> {
    if (failed(e.write(body)))
      return failure();
    return writer.next({}, body.getTerminator()->getOperands(), arguments);
  };
  if (failed(writer.write(writer.loop.getCond(), ValueRange(holds.getArguments()), condition)) ||
      failed(writer.write(writer.loop.getBody(), ValueRange(body.getArguments()), iteration)))
    return failure();
  return writer.finish();
}

LogicalResult branches(Exporter &e, spmdc::IfOp op) {
  SmallVector<Type> types =
      llvm::map_to_vector(op.getResults(), [](Value array) -> Type { return Exporter::typeOf(array); });
  auto made = e.create<IfOp>(types, e.get(op.getPredicate()));
  for (auto [region, from] :
       {std::pair(&made.getTrueBranch(), &op.getThenRegion()), {&made.getFalseBranch(), &op.getElseRegion()}}) {
    Scope scope(e);
    e.b.setInsertionPointToStart(&region->emplaceBlock());
    Location loc = e.loc;
    if (failed(e.write(from->front())))
      return failure();
    e.loc = loc;
    e.create<ReturnOp>(e.get(from->front().getTerminator()->getOperands()));
  }
  e.set(op.getResults(), made.getResults());
  return success();
}

LogicalResult print(Exporter &, spmdc::PrintOp op) {
  return op.emitError("StableHLO cannot print; remove print, or return the values");
}

} // namespace

void addControlExports(ExportRules &rules) {
  rules.addMany<spmdc::ForOp>(forLoop);
  rules.addMany<spmdc::IfOp>(branches);
  rules.addMany<spmdc::PrintOp>(print);
  rules.addMany<spmdc::WhileOp>(whileLoop);
}

} // namespace spmdc::stablehlo
