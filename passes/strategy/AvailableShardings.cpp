//===- AvailableShardings.cpp - materialized copies of a value ------------===//

#include "passes/strategy/AvailableShardings.h"

#include "ir/array/PartialSums.h"
#include "ir/spmd/Location.h"
#include "passes/cost/RunCounts.h"
#include "passes/reshard/KeyParts.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace spmdc {
namespace {

bool isShardedAs(Value value, ArrayType type) {
  return typeOf(value).getShardingOrOpen().hasSameAxes(type.getShardingOrOpen());
}

/// Whether an operand of `user` may be replaced by this value: the value is defined before `user`.
bool isVisible(Value value, Operation *user) {
  Operation *around = value.getParentBlock()->findAncestorOpInBlock(*user), *producer = value.getDefiningOp();
  return around && (!producer || producer->isBeforeInBlock(around));
}

ArrayType transposed(ArrayType type, ArrayRef<int64_t> perm) {
  SmallVector<int64_t> shape;
  SmallVector<DimShardingAttr> dims;
  ShardingAttr sharding = type.getShardingOrOpen();
  for (int64_t dim : perm) {
    shape.push_back(type.getDimSize(dim));
    dims.push_back(sharding.getDims()[dim]);
  }
  return type.withShape(shape).withSharding(ShardingAttr::get(type.getContext(), dims, sharding.getUnreduced()));
}

SmallVector<int64_t> inverse(ArrayRef<int64_t> perm) {
  SmallVector<int64_t> result(perm.size());
  for (auto [to, from] : llvm::enumerate(perm))
    result[from] = static_cast<int64_t>(to);
  return result;
}

} // namespace

ArrayType withoutUnreduced(ArrayType type) {
  return type.withSharding(ShardingAttr::get(type.getContext(), type.getShardingOrOpen().getDims(), {}));
}

/// The type of the reduced value for `partial`, a type of partial sums that may have a wider element type.
static ArrayType getReducedType(ArrayType partial, Value value) {
  return withoutUnreduced(partial).withElementType(typeOf(value).getElementType());
}

Operation *findReshardPlace(Value value, Operation *user) {
  Operation *place = user;
  for (Operation *around = user->getParentOp(); isa<ForOp, WhileOp, IfOp>(around); around = around->getParentOp()) {
    if (around->isAncestor(value.getParentRegion()->getParentOp()))
      break;
    if (!isa<IfOp>(around))
      place = around;
  }
  return place;
}

double getRunsPerReshard(Value value, Operation *user) {
  double iterations = 1;
  for (Operation *place = findReshardPlace(value, user), *loop = user; loop != place;) {
    loop = loop->getParentOp();
    if (isa<LoopLikeOpInterface>(loop))
      iterations *= estimateIterations(loop);
  }
  return iterations;
}

Value AvailableShardings::getOriginal(Value value) const {
  auto root = roots.find(value);
  return root == roots.end() ? value : root->second;
}

CollectiveCost AvailableShardings::getUnpaidCost(Value value, Operation *user) const {
  // A loop may need the value in each iteration, so a reshard in front of the loop is always worth its price.
  auto unpaid = unpaidCosts.find(value);
  return unpaid == unpaidCosts.end() || value.getParentBlock() != user->getBlock() ? CollectiveCost() : unpaid->second;
}

AvailableShardings::Source AvailableShardings::find(Value value, ArrayType wanted, Operation *user) {
  Source best{value, planner.plan(typeOf(value), wanted).cost + getUnpaidCost(value, user), {}, {}};
  for (Value copy : getOthers(value, user)) {
    const ReshardPlan &plan = planner.plan(typeOf(copy), wanted);
    CollectiveCost cost = plan.cost + getUnpaidCost(copy, user);
    if (cost < best.cost)
      best = {copy, cost, {}, {}};
  }
  visitTransposed(value, user, [&](Value copy, ArrayType type, ArrayRef<int64_t> perm) {
    const ReshardPlan &plan = planner.plan(type, wanted);
    CollectiveCost cost = plan.cost + getUnpaidCost(copy, user);
    if (cost < best.cost)
      best = {copy, cost, llvm::to_vector(perm), {}};
  });
  if (best.cost.linkBytes == 0)
    return best;
  // For a rematerialized unreduced value, one device of a group computes the value and the others have zeros.
  if (isUnreduced(wanted) && !isUnreduced(value)) {
    Source reduced = find(value, getReducedType(wanted, value), user);
    return reduced.producer && reduced.cost < best.cost ? reduced : best;
  }
  Source rematerialized{value, {}, {}, {}};
  bool canRematerialize = visitProducer(value, wanted, rematerialized.producer, [&](Value operand, ArrayType type) {
    Source part = find(operand, type, user);
    rematerialized.cost = rematerialized.cost + part.cost;
    if (best.cost < rematerialized.cost)
      return false;
    bool isRead = !part.producer && !isa<ReshapeOp>(rematerialized.producer);
    rematerialized.readBytes += isRead ? static_cast<double>(type.getLocalBytes(planner.getMesh())) : part.readBytes;
    return true;
  });
  // On a tie a reshape wins: an available sharding of its operand can serve all its reshapes.
  bool isCheaper = canRematerialize && (isa<ReshapeOp>(rematerialized.producer) ? !(best.cost < rematerialized.cost)
                                                                                : rematerialized.cost < best.cost);
  if (!isCheaper)
    return best;
  // A gather also writes its result. The chain of rematerialized operations is one kernel, which reads its inputs as
  // well.
  const CostModel &model = planner.getModel();
  if (chainLeft == longestChain)
    rematerialized.cost.latencySeconds += rematerialized.readBytes / model.memoryPerSecond;
  int64_t devices = planner.getMesh().deviceCount();
  bool isSlower = model.seconds(rematerialized.cost, devices) > (1 + Price::kAlike) * model.seconds(best.cost, devices);
  return isSlower ? best : rematerialized;
}

bool AvailableShardings::isCheap(Value value) const {
  auto [entry, isNew] = cheap.try_emplace(value);
  if (isNew)
    entry->second = isRematerializable(value);
  return entry->second;
}

const AvailableShardings::Recipe &AvailableShardings::getRecipe(Value value) const {
  auto [entry, isNew] = recipes.try_emplace(value);
  if (isNew) {
    entry->second.producer = findRematerializableOp(getOriginal(value));
    if (!entry->second.producer)
      entry->second.formula = findByteFormula(value, [&](Value copy) { return getOriginal(copy); });
  }
  return entry->second;
}

const std::optional<SmallVector<ArrayType>> &AvailableShardings::getOperandTypes(ShardingRuleOpInterface producer,
                                                                                 ArrayType wanted) const {
  auto [entry, isNew] = operandTypes.try_emplace({producer, wanted});
  if (isNew)
    entry->second = listOperandTypes(planner.getMesh(), producer, wanted);
  return entry->second;
}

bool AvailableShardings::visitProducer(Value value, ArrayType wanted, ShardingRuleOpInterface &producer,
                                       llvm::function_ref<bool(Value, ArrayType)> visit) const {
  if (isUnreduced(wanted) || (chainLeft == 0 && !isCheap(value)))
    return false;
  const Recipe &recipe = getRecipe(value);
  SmallVector<std::pair<Value, ArrayType>, 2> needed;
  bool countsInChain = true;
  if (recipe.formula) {
    producer = cast<ShardingRuleOpInterface>(recipe.formula->operations.back());
    Value bytes = recipe.formula->bytes;
    needed.emplace_back(bytes, typeOf(bytes).withSharding(wanted.getShardingOrOpen()));
  } else if (recipe.producer) {
    producer = recipe.producer;
    const std::optional<SmallVector<ArrayType>> &types = getOperandTypes(producer, wanted);
    if (!types)
      return false;
    for (auto [operand, type] : llvm::zip(producer->getOperands(), *types))
      if (std::pair<Value, ArrayType> pair(operand, type); !llvm::is_contained(needed, pair))
        needed.push_back(pair);
    countsInChain = !isCheap(value);
  } else {
    return false;
  }
  chainLeft -= countsInChain;
  llvm::all_of(needed, [&](auto &operand) { return visit(operand.first, operand.second); });
  chainLeft += countsInChain;
  return true;
}

double AvailableShardings::getLeastBytes(Value value, ArrayType wanted, Operation *user) const {
  double least = planner.getLeastBytes(typeOf(value), wanted);
  for (Value copy : getOthers(value, user))
    least = std::min(least, planner.getLeastBytes(typeOf(copy), wanted));
  visitTransposed(value, user, [&](Value, ArrayType type, ArrayRef<int64_t>) {
    least = std::min(least, planner.getLeastBytes(type, wanted));
  });
  if (least == 0)
    return 0;
  if (isUnreduced(wanted) && !isUnreduced(value))
    return std::min(least, getLeastBytes(value, getReducedType(wanted, value), user));
  double ofProducer = 0;
  ShardingRuleOpInterface producer;
  bool canRematerialize = visitProducer(value, wanted, producer, [&](Value operand, ArrayType type) {
    ofProducer += getLeastBytes(operand, type, user);
    return ofProducer < least;
  });
  return canRematerialize ? std::min(least, ofProducer) : least;
}

SmallVector<Value, 2> AvailableShardings::getOthers(Value value, Operation *user) const {
  SmallVector<Value, 2> others;
  auto add = [&](Value copy) {
    if (copy != value && isVisible(copy, user))
      others.push_back(copy);
  };
  // Partial sums are reduced once, for all users, so a root of partial sums is no source.
  Value root = getOriginal(value);
  if (!isUnreduced(root))
    add(root);
  if (auto available = copies.find(root); available != copies.end())
    llvm::for_each(available->second, add);
  return others;
}

void AvailableShardings::visitTransposed(Value value, Operation *user,
                                         llvm::function_ref<void(Value, ArrayType, ArrayRef<int64_t>)> visit) const {
  auto visitCopies = [&](Value other, ArrayRef<int64_t> perm) {
    for (Value copy : getOthers(other, user))
      visit(copy, transposed(typeOf(copy), perm), perm);
  };
  Value root = getOriginal(value);
  if (auto transpose = root.getDefiningOp<TransposeOp>())
    visitCopies(transpose.getOperand(), transpose.getPerm());
  for (Operation *other : getTransposes(root)) {
    auto transpose = cast<TransposeOp>(other);
    visitCopies(transpose.getResult(), inverse(transpose.getPerm()));
  }
}

SmallVector<Operation *, 1> &AvailableShardings::getTransposes(Value root) const {
  auto [entry, isNew] = transposes.try_emplace(root);
  if (!isNew)
    return entry->second;
  SmallVector<Value, 4> own{root};
  if (auto available = copies.find(root); available != copies.end())
    llvm::append_range(own, available->second);
  for (Value copy : own)
    for (Operation *user : copy.getUsers())
      if (isa<TransposeOp>(user))
        entry->second.push_back(user);
  return entry->second;
}

void AvailableShardings::describe(Value value, Operation *user, SmallVectorImpl<const void *> &parts) const {
  auto addNumber = [&](auto number) { parts.push_back(asKeyPart(number)); };
  auto addCopy = [&](Value copy, ArrayType type) {
    parts.push_back(type.getAsOpaquePointer());
    CollectiveCost cost = getUnpaidCost(copy, user);
    for (double number : {cost.wireBytes, cost.linkBytes, cost.peakBytes, cost.latencySeconds})
      addNumber(number);
    addNumber(cost.exchanges);
    addNumber(cost.steps);
  };
  addCopy(value, typeOf(value));
  parts.push_back(getOriginal(value).getType().getAsOpaquePointer());
  for (Value copy : getOthers(value, user))
    addCopy(copy, typeOf(copy));
  addNumber(0);
  visitTransposed(value, user, [&](Value copy, ArrayType type, ArrayRef<int64_t>) { addCopy(copy, type); });
  addNumber(0);
  if (chainLeft == 0 && !isCheap(value))
    return;
  const Recipe &recipe = getRecipe(value);
  if (!recipe.formula && !recipe.producer)
    return;
  const bool countsInChain = recipe.formula || !isCheap(value);
  addNumber(countsInChain ? 1 : 2);
  chainLeft -= countsInChain;
  if (recipe.formula) {
    describe(recipe.formula->bytes, user, parts);
  } else {
    Operation *producer = recipe.producer;
    parts.push_back(producer->getName().getAsOpaquePointer());
    parts.push_back(producer->getAttrDictionary().getAsOpaquePointer());
    parts.push_back(producer->getResult(0).getType().getAsOpaquePointer());
    for (auto [index, operand] : llvm::enumerate(producer->getOperands())) {
      // An operand that is read twice is resharded once.
      auto first = static_cast<size_t>(llvm::find(producer->getOperands(), operand) - producer->operand_begin());
      addNumber(first);
      if (first == index)
        describe(operand, user, parts);
    }
  }
  chainLeft += countsInChain;
}

Value AvailableShardings::take(Value value, ArrayType wanted, Operation *user, StringRef why) {
  if (Value root = getOriginal(value); isUnreduced(wanted) && isZero(root)) {
    // Every sharding of zeros is zeros.
    OpBuilder builder(findReshardPlace(value, user));
    return keep(root, makeZeros(builder, root, wanted));
  }
  Source source = find(value, wanted, user);
  if (source.producer && isUnreduced(wanted)) {
    Value reduced = rematerialize(source.producer, value, getReducedType(wanted, value), user, why);
    OpBuilder builder(user->getContext());
    builder.setInsertionPointAfterValue(reduced);
    return create(builder, reduced.getLoc(), reduced, wanted, why);
  }
  if (source.producer)
    return rematerialize(source.producer, value, wanted, user, why);
  pay(source.value);
  OpBuilder builder(findReshardPlace(source.value, user));
  // The location of the operation that computes with the value; if `user` only passes it on, that of the value. A
  // sharding annotation at that location is about another value than this copy.
  Location loc = getUnannotatedLoc(isa<ShardingRuleOpInterface>(user) ? user->getLoc() : value.getLoc());
  if (!source.perm.empty()) {
    ArrayType type = transposed(typeOf(source.value), source.perm);
    SmallVector<Operation *, 1> &known = getTransposes(getOriginal(source.value));
    source.value = builder.create<TransposeOp>(loc, type, source.value, source.perm);
    known.push_back(source.value.getDefiningOp());
    keep(getOriginal(value), source.value);
  }
  if (isShardedAs(source.value, wanted))
    return source.value;
  return create(builder, loc, source.value, wanted, why);
}

Value AvailableShardings::compute(const ByteFormula &formula, Value value, ArrayType wanted, Operation *user,
                                  StringRef why) {
  Operation *place = findReshardPlace(value, user);
  IRMapping made;
  auto takeAs = [&](Value operand, const Twine &how) {
    ArrayType type = typeOf(operand).withSharding(wanted.getShardingOrOpen());
    Value copy = take(operand, type, user, (why + how).str());
    made.map(operand, copy);
    if (!isVisible(copy, place))
      place = user;
  };
  takeAs(formula.bytes,
         ", rematerialized from " + typeOf(formula.bytes).withSharding(wanted.getShardingOrOpen()).str());
  // Constants, which every device makes.
  for (Operation *op : formula.operations)
    for (Value operand : op->getOperands())
      if (typeOf(operand).getRank() > 0 && !made.contains(operand) && isRematerializable(operand))
        takeAs(operand, "");
  OpBuilder builder(place);
  Value result;
  for (Operation *op : formula.operations) {
    for (Value operand : op->getOperands())
      if (Value original = getOriginal(operand); !made.contains(operand) && made.contains(original))
        made.map(operand, made.lookup(original));
    Operation *copy = builder.clone(*op, made);
    result = copy->getResult(0);
    result.setType(typeOf(result).withSharding(wanted.getShardingOrOpen()));
    copy->setLoc(getUnannotatedLoc(op->getLoc()));
  }
  return keep(getOriginal(value), result);
}

Value AvailableShardings::rematerialize(ShardingRuleOpInterface producer, Value value, ArrayType wanted,
                                        Operation *user, StringRef why) {
  if (!findRematerializableOp(getOriginal(value)))
    return compute(*findByteFormula(value, [&](Value copy) { return getOriginal(copy); }), value, wanted, user, why);
  SmallVector<ArrayType> types = *listOperandTypes(planner.getMesh(), producer, wanted);
  IRMapping operands;
  Operation *place = findReshardPlace(value, user);
  for (auto [operand, type] : llvm::zip(producer->getOperands(), types)) {
    // The sentence is appended once, for the operand that is resharded.
    bool isRematerialized = find(operand, type, user).producer != nullptr;
    StringRef how = isa<ReshapeOp>(producer) ? ", as a reshape of " : ", rematerialized from ";
    std::string from = isRematerialized ? "" : (how + type.str()).str();
    Value copy = take(operand, type, user, (why + from).str());
    operands.map(operand, copy);
    if (!isVisible(copy, place))
      place = user;
  }
  OpBuilder builder(place);
  Operation *rematerialized = builder.clone(*producer, operands);
  rematerialized->getResult(0).setType(wanted);
  rematerialized->setLoc(getUnannotatedLoc(producer->getLoc()));
  return keep(getOriginal(value), rematerialized->getResult(0));
}

Value AvailableShardings::keep(Value root, Value copy) {
  roots[copy] = root;
  copies[root].push_back(copy);
  return copy;
}

void AvailableShardings::addPropagated(Value result, ArrayType propagated, StringRef why) {
  auto uses = static_cast<double>(std::max<int64_t>(1, std::distance(result.use_begin(), result.use_end())));
  OpBuilder builder(result.getContext());
  builder.setInsertionPointAfterValue(result);
  Value copy = create(builder, result.getLoc(), result, propagated, why);
  result.replaceAllUsesExcept(copy, copy.getDefiningOp());
  if (isUnreduced(result))
    return;
  unpaidCosts[copy] = planner.plan(typeOf(result), propagated).cost.scaledBy(1 / uses);
}

Value AvailableShardings::create(OpBuilder &builder, Location loc, Value from, ArrayType to, StringRef why) {
  auto reshard = builder.create<ReshardOp>(loc, to, from, builder.getStringAttr(why));
  reshards.push_back(reshard);
  return keep(getOriginal(from), reshard.getResult());
}

void AvailableShardings::clean() {
  llvm::SmallPtrSet<Operation *, 8> removed;
  auto remove = [&](ReshardOp reshard) {
    removed.insert(reshard);
    reshard.erase();
  };
  for (ReshardOp reshard : llvm::reverse(reshards)) {
    if (removed.contains(reshard))
      continue;
    if (reshard->use_empty()) {
      remove(reshard);
      continue;
    }
    // A reshard of a reshard: the copy between has one use, and one reshard does both.
    while (auto before = reshard.getOperand().getDefiningOp<ReshardOp>()) {
      if (!roots.contains(before.getResult()) || !before->hasOneUse())
        break;
      if (isUnreduced(before.getOperand()))
        reshard.setWhyAttr(before.getWhyAttr());
      reshard.setOperand(before.getOperand());
      remove(before);
    }
  }
}

} // namespace spmdc
