//===- TranslateControl.cpp - calls, loops, branches ----------------------===//
//
// A `while` that counts is a `for`: JAX writes scan and fori_loop as counters that are compared with a constant. A
// carry that every iteration passes on is a value from outside instead. Costs, gradients' reductions and explain depend
// on both.
//
// In an element-wise region (Translation::applyElementwise) each element has its own condition: branches are computed
// for all elements and chosen from, and a loop goes on while any element does, as jax.vmap has them.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/CustomCalls.h"
#include "frontend/stablehlo/Gspmd.h"

#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

/// A loop with its carries taken apart.
class Loop {
public:
  Loop(WhileOp op) : op(op), condition(op.getCond().front()), body(op.getBody().front()) {}

  bool isValid() {
    auto fits = [&](Block &block) { return llvm::equal(block.getArgumentTypes(), op.getOperandTypes()); };
    return fits(condition) && fits(body) && llvm::equal(op.getResultTypes(), op.getOperandTypes()) &&
           llvm::equal(body.getTerminator()->getOperandTypes(), op.getOperandTypes()) &&
           condition.getTerminator()->getNumOperands() == 1;
  }

  /// Whether every iteration passes the carry on.
  bool isPassedOn(unsigned carry) { return body.getTerminator()->getOperand(carry) == body.getArgument(carry); }

  /// The constant that a value of a region has in each iteration.
  std::optional<int64_t> constantIn(Value value) {
    auto argument = llvm::dyn_cast<BlockArgument>(value);
    bool isCarry = argument && (argument.getOwner() == &condition || argument.getOwner() == &body);
    if (isCarry && isPassedOn(argument.getArgNumber()))
      return integerOf(op.getOperand(argument.getArgNumber()));
    return integerOf(value);
  }

  /// Finds the counter: compared with a constant, increased by a constant. False if the loop does not count.
  bool findCounter() {
    auto compare = condition.getTerminator()->getOperand(0).getDefiningOp<CompareOp>();
    if (!compare || compare->getBlock() != &condition)
      return false;
    StringRef direction = compare.getComparisonDirection().getValue();
    Value left = compare.getLhs(), right = compare.getRhs();
    if (direction == "GT" || direction == "GE") {
      std::swap(left, right);
      direction = direction == "GT" ? "LT" : "LE";
    }
    auto argument = llvm::dyn_cast<BlockArgument>(left);
    std::optional<int64_t> limit = constantIn(right);
    if (!argument || argument.getOwner() != &condition || !limit || (direction != "LT" && direction != "LE"))
      return false;
    counter = argument.getArgNumber();
    auto add = body.getTerminator()->getOperand(counter).getDefiningOp<AddOp>();
    std::optional<int64_t> first = integerOf(op.getOperand(counter)), by;
    if (add && add.getLhs() == body.getArgument(counter))
      by = constantIn(add.getRhs());
    else if (add && add.getRhs() == body.getArgument(counter))
      by = constantIn(add.getLhs());
    constexpr int64_t kMax = std::numeric_limits<int32_t>::max(); // array.for counts in i32.
    if (!first || !by || *by < 1 || *by > kMax || *first < -kMax || *first > kMax || *limit < -kMax || *limit >= kMax)
      return false;
    start = *first;
    step = *by;
    int64_t end = *limit + (direction == "LE" ? 1 : 0);
    count = end > start ? (end - start + step - 1) / step : 0;
    return isCounted(*limit) && isCounted(start + count * step);
  }

  WhileOp op;
  Block &condition, &body;
  unsigned counter = 0;
  int64_t start = 0, step = 1, count = 0;

private:
  /// Whether the counter's type has this number: beyond its largest one a counter wraps, and its loop goes on.
  bool isCounted(int64_t number) {
    Type type = Translation::typeOf(op.getOperand(counter).getType()).getElementType();
    unsigned width = type.getIntOrFloatBitWidth();
    if (isUnsigned(type)) // A start or limit of u64 that i64 has not is negative here.
      return start >= 0 && number >= 0 && llvm::isUIntN(width, static_cast<uint64_t>(number));
    return llvm::isIntN(width, number);
  }
};

/// Sets the carries in a region of the new loop, and in the old one those that are passed on.
void setCarries(Translation &t, Loop &loop, Block &old, ArrayRef<unsigned> carries, ValueRange arguments) {
  for (unsigned i = 0; i < loop.op.getNumOperands(); ++i)
    if (loop.isPassedOn(i))
      t.set(old.getArgument(i), t.get(loop.op.getOperand(i)));
  for (auto [carry, argument] : llvm::zip_equal(carries, arguments))
    t.set(old.getArgument(carry), argument);
}

SmallVector<Location> locsOf(Translation &t, size_t count) { return SmallVector<Location>(count, t.loc); }

/// The carries' next values. Elements that are not `active` (null: all are) keep the values that they have.
LogicalResult yieldCarries(Translation &t, Loop &loop, ArrayRef<unsigned> carries, Value active = Value()) {
  Location loc = t.loc;
  SmallVector<Value> before =
      llvm::map_to_vector(carries, [&](unsigned carry) { return t.get(loop.body.getArgument(carry)); });
  Value around = std::exchange(t.activeElements, active ? active : t.activeElements);
  Results next = t.translate(loop.body);
  t.activeElements = around;
  if (failed(next))
    return failure();
  t.loc = loc;
  SmallVector<Value> values;
  for (auto [carry, old] : llvm::zip_equal(carries, before))
    values.push_back(active ? t.select(active, (*next)[carry], old) : (*next)[carry]);
  t.create<YieldOp>(values);
  return success();
}

/// The elements of an element-wise region that go on with its loop.
FailureOr<Value> remainingElements(Translation &t, Loop &loop, ArrayRef<unsigned> carries, ValueRange arguments) {
  setCarries(t, loop, loop.condition, carries, arguments);
  Results holds = t.translate(loop.condition);
  if (failed(holds))
    return failure();
  return t.activeElements ? t.combine(ReductionKind::and_, t.activeElements, holds->front()) : holds->front();
}

FailureOr<Operation *> countedLoop(Translation &t, Loop &loop, ArrayRef<unsigned> carries, ArrayRef<Type> types,
                                   ArrayRef<Value> initials) {
  auto op = t.create<ForOp>(types, 0, loop.count, initials);
  SmallVector<Type> arguments{ArrayType::get({}, t.b.getI32Type())};
  llvm::append_range(arguments, types);
  Block &block = op.getBody().emplaceBlock();
  block.addArguments(arguments, locsOf(t, arguments.size()));
  OpBuilder::InsertionGuard guard(t.b);
  t.b.setInsertionPointToStart(&block);
  setCarries(t, loop, loop.body, carries, block.getArguments().drop_front());
  Value position = block.getArgument(0);
  if (loop.step != 1)
    position = t.create<spmdc::MultiplyOp>(position, t.splatLike(position, static_cast<double>(loop.step)));
  if (loop.start != 0)
    position = t.create<spmdc::AddOp>(position, t.splatLike(position, static_cast<double>(loop.start)));
  Type type = Translation::typeOf(loop.op.getOperand(loop.counter).getType()).getElementType();
  position = t.convert(position, type);
  if (t.getElementwiseShape())
    position = t.broadcast(position, *t.getElementwiseShape());
  t.set(loop.body.getArgument(loop.counter), position);
  if (failed(yieldCarries(t, loop, carries)))
    return failure();
  return op.getOperation();
}

FailureOr<Operation *> conditionalLoop(Translation &t, Loop &loop, ArrayRef<unsigned> carries, ArrayRef<Type> types,
                                       ArrayRef<Value> initials) {
  auto op = t.create<spmdc::WhileOp>(types, initials);
  Location loc = t.loc;
  OpBuilder::InsertionGuard guard(t.b);
  for (auto [region, old] : {std::pair(&op.getCondition(), &loop.condition), {&op.getBody(), &loop.body}}) {
    Block &block = region->emplaceBlock();
    block.addArguments(types, locsOf(t, types.size()));
    t.b.setInsertionPointToStart(&block);
    t.loc = loc;
    bool isBody = old == &loop.body;
    Value remaining;
    if (t.getElementwiseShape()) {
      FailureOr<Value> elements = remainingElements(t, loop, carries, block.getArguments());
      if (failed(elements))
        return failure();
      remaining = *elements;
      t.loc = loc;
    }
    setCarries(t, loop, *old, carries, block.getArguments());
    if (isBody) {
      if (failed(yieldCarries(t, loop, carries, remaining)))
        return failure();
      continue;
    }
    if (remaining) {
      auto dims = llvm::to_vector(llvm::seq<int64_t>(0, shapeOf(remaining).size()));
      Value any = dims.empty() ? remaining : t.create<spmdc::ReduceOp>(remaining, ReductionKind::or_, dims).getResult();
      t.create<YieldOp>(any);
      continue;
    }
    Results holds = t.translate(*old);
    if (failed(holds))
      return failure();
    t.create<YieldOp>(*holds);
  }
  return op.getOperation();
}

Results whileLoop(Translation &t, WhileOp op) {
  Loop loop(op);
  if (!loop.isValid())
    return refuse(op, "has regions that do not fit its operands");
  bool counts = loop.findCounter();
  SmallVector<unsigned> carries;
  for (unsigned i = 0; i < op.getNumOperands(); ++i)
    if (!loop.isPassedOn(i) && !(counts && i == loop.counter))
      carries.push_back(i);
  SmallVector<Value> initials = llvm::map_to_vector(carries, [&](unsigned i) { return t.get(op.getOperand(i)); });
  SmallVector<Type> types = llvm::map_to_vector(initials, [](Value value) -> Type { return plainTypeOf(value); });
  Location loc = t.loc;
  FailureOr<Operation *> made =
      counts ? countedLoop(t, loop, carries, types, initials) : conditionalLoop(t, loop, carries, types, initials);
  if (failed(made))
    return failure();
  t.loc = loc;
  SmallVector<Value> results = t.get(op.getOperands());
  for (auto [carry, result] : llvm::zip_equal(carries, (*made)->getResults()))
    results[carry] = result;
  if (counts)
    results[loop.counter] =
        t.splatLike(results[loop.counter], static_cast<double>(loop.start + loop.count * loop.step));
  return results;
}

//===- Branches -----------------------------------------------------------===//

/// The blocks of the branches, of which the last is taken by every other index.
Results chooseBranch(Translation &t, Operation *op, Value index, ArrayRef<Block *> branches, int64_t number = 0) {
  if (branches.size() == 1)
    return t.translate(*branches.front());
  Location loc = t.loc;
  SmallVector<Type> types =
      llvm::map_to_vector(op->getResultTypes(), [](Type type) -> Type { return Translation::typeOf(type); });
  Value isFirst =
      spmdc::typeOf(index).getElementType().isInteger(1)
          ? index
          : t.compare(index, spmdc::ComparisonDirection::eq, t.splatLike(index, static_cast<double>(number)));
  auto made = t.create<spmdc::IfOp>(types, isFirst);
  OpBuilder::InsertionGuard guard(t.b);
  for (auto [region, rest] :
       {std::pair(&made.getThenRegion(), branches.take_front()), {&made.getElseRegion(), branches.drop_front()}}) {
    t.b.setInsertionPointToStart(&region->emplaceBlock());
    t.loc = loc;
    Results values = chooseBranch(t, op, index, rest, number + 1);
    if (failed(values))
      return failure();
    t.loc = loc;
    t.create<YieldOp>(*values);
  }
  return llvm::to_vector_of<Value>(made.getOutputs());
}

/// The branches of an element-wise region, all of them computed: each element has the results of its own one.
Results chooseElements(Translation &t, Value index, ArrayRef<Block *> branches) {
  Location loc = t.loc;
  Value around = t.activeElements, others = around; // The elements that no earlier branch has.
  SmallVector<Value> predicates;
  SmallVector<SmallVector<Value>> values;
  for (auto [number, block] : llvm::enumerate(branches)) {
    t.activeElements = others;
    if (number + 1 < branches.size()) {
      Value isOwn =
          spmdc::typeOf(index).getElementType().isInteger(1)
              ? index
              : t.compare(index, spmdc::ComparisonDirection::eq, t.splatLike(index, static_cast<double>(number)));
      Value isOther = t.create<spmdc::NotOp>(isOwn);
      t.activeElements = others ? t.combine(ReductionKind::and_, others, isOwn) : isOwn;
      others = others ? t.combine(ReductionKind::and_, others, isOther) : isOther;
      predicates.push_back(isOwn);
    }
    Results results = t.translate(*block);
    if (failed(results))
      return failure();
    t.loc = loc;
    values.push_back(*results);
  }
  t.activeElements = around;
  SmallVector<Value> chosen = values.pop_back_val();
  while (!values.empty()) {
    Value predicate = predicates.pop_back_val();
    for (auto [own, other] : llvm::zip_equal(values.pop_back_val(), chosen))
      other = t.select(predicate, own, other);
  }
  return chosen;
}

/// The branch's number if the index is a constant, as that of the platform: true is the first one.
std::optional<int64_t> constantOf(Value index) {
  auto constant = index.getDefiningOp<spmdc::ConstantOp>();
  auto value = constant ? llvm::dyn_cast<DenseIntElementsAttr>(constant.getValue()) : DenseIntElementsAttr();
  if (!value)
    return std::nullopt;
  if (value.getElementType().isInteger(1))
    return value.getSplatValue<bool>() ? 0 : 1;
  return value.getSplatValue<APInt>().getSExtValue();
}

Results branch(Translation &t, Operation *op, Value index, ArrayRef<Block *> branches) {
  for (Block *block : branches)
    if (block->getNumArguments() || !llvm::equal(block->getTerminator()->getOperandTypes(), op->getResultTypes()))
      return refuse(op, "has branches that do not fit its results");
  if (branches.empty() || (!t.getElementwiseShape() && !shapeOf(index).empty()))
    return refuse(op, "chooses by an array, or has no branch");
  if (t.getElementwiseShape())
    return chooseElements(t, index, branches);
  if (std::optional<int64_t> known = constantOf(index)) {
    int64_t last = static_cast<int64_t>(branches.size()) - 1;
    return t.translate(*branches[*known < 0 || *known > last ? last : *known]);
  }
  return chooseBranch(t, op, index, branches);
}

Results ifOp(Translation &t, IfOp op) {
  return branch(t, op, t.get(op.getPred()), {&op.getTrueBranch().front(), &op.getFalseBranch().front()});
}

Results caseOp(Translation &t, CaseOp op) {
  SmallVector<Block *> branches = llvm::map_to_vector(op.getBranches(), [](Region &region) { return &region.front(); });
  return branch(t, op, t.get(op.getIndex()), branches);
}

//===- Calls --------------------------------------------------------------===//

Results call(Translation &t, func::CallOp op) { return t.call(op, op.getCallee(), t.get(op.getOperands())); }

/// A block cipher of an exported program of the language is one again; any other composite is its decomposition.
Results composite(Translation &t, CompositeOp op) {
  SmallVector<Value> inputs = t.get(op.getInputs());
  bool isOfWords = inputs.size() == 4 && llvm::all_equal(ValueRange(inputs).getTypes()) &&
                   typeOf(inputs.front()).getElementType().isUnsignedInteger(32);
  if (op.getName() != kThreefry || !isOfWords || op.getNumResults() != 2)
    return t.call(op, op.getDecomposition(), inputs);
  return SmallVector<Value>{t.create<Threefry2x32Op>(inputs[0], inputs[1], inputs[2], inputs[3], 0),
                            t.create<Threefry2x32Op>(inputs[0], inputs[1], inputs[2], inputs[3], 1)};
}

Results barrier(Translation &t, OptimizationBarrierOp op) {
  return llvm::map_to_vector(t.get(op.getOperands()), [&](Value value) -> Value {
    return t.create<spmdc::OptimizationBarrierOp>(value).getResult();
  });
}

/// with_sharding_constraint in the form of GSPMD. The call's text lists open dimensions: `unspecified_dims=[0,1]`.
Results constraint(Translation &t, CustomCallOp op) {
  auto text = op->getAttrOfType<StringAttr>("mhlo.sharding"), config = op->getAttrOfType<StringAttr>("backend_config");
  if (op.getNumOperands() != 1 || op.getNumResults() != 1 || !text)
    return refuse(op, "'Sharding' has no sharding in 'mhlo.sharding', or not one array");
  SmallVector<StringRef> numbers;
  if (config)
    config.getValue().split("unspecified_dims=[").second.split(']').first.split(numbers, ',', -1, /*KeepEmpty=*/false);
  SmallVector<int64_t> open;
  for (StringRef number : numbers)
    if (number.getAsInteger(10, open.emplace_back()))
      return refuse(op, "lists the open dimensions '" + config.getValue() + "', which are no numbers");
  Value array = t.get(op.getInputs()[0]);
  FailureOr<ShardingAttr> sharding = shardingOfTiling(t, op, text.getValue(), shapeOf(array), open);
  if (failed(sharding))
    return failure();
  return SmallVector<Value>{t.constrain(array, *sharding)};
}

/// Refuses a call of code that the export does not contain, with the function of JAX that is the usual cause.
LogicalResult refuseCall(CustomCallOp op) {
  StringRef target = op.getCallTargetName();
  if (target.contains("python") && target.ends_with("callback"))
    return refuse(op,
                  "calls back into Python ('" + target +
                      "'), whose code an export does not contain; compute jax.pure_callback and io_callback outside "
                      "of the exported function, and export checks of Equinox (eqx.error_if) as NaNs: "
                      "EQX_ON_ERROR=nan");
  if (target == "CustomSPMDPartitioning")
    return refuse(op, "is a function of custom_partitioning, which an export only names; export the function that "
                      "custom_partitioning takes, itself");
  if (target == "ragged_all_to_all")
    return refuse(op, "is lax.ragged_all_to_all, which has no translation yet; pad the slices to one size and use "
                      "lax.all_to_all");
  return refuse(op, "calls '" + target +
                        "', compiled code of JAX's libraries or of jax.ffi that an export does not contain; "
                        "compute it outside of the exported function");
}

Results customCall(Translation &t, CustomCallOp op) {
  if (std::optional<Results> results = translateLapack(t, op))
    return *results;
  if (op.getCallTargetName() == "ApproxTopK")
    return translateApproxTopK(t, op);
  if (op.getCallTargetName() == "Sharding")
    return constraint(t, op);
  if (op.getCallTargetName().starts_with("SPMD"))
    return refuse(op, "'" + op.getCallTargetName() +
                          "' is shard_map in the form of GSPMD; export with Shardy: "
                          "jax.config.update('jax_use_shardy_partitioner', True)");
  if (op.getNumResults() == 0) {
    op.emitWarning() << "'" << op->getName() << "' of '" << op.getCallTargetName()
                     << "' is left out: its code, as that of jax.debug.print and jax.debug.callback, is not in the "
                        "export, and no result depends on it";
    return SmallVector<Value>();
  }
  return refuseCall(op);
}

} // namespace

void addControlRules(Rules &rules) {
  rules.addMany<WhileOp>(whileLoop);
  rules.addMany<IfOp>(ifOp);
  rules.addMany<CaseOp>(caseOp);
  rules.addMany<func::CallOp>(call);
  rules.addMany<CompositeOp>(composite);
  rules.addMany<OptimizationBarrierOp>(barrier);
  rules.addMany<CustomCallOp>(customCall);
}

} // namespace spmdc::stablehlo
