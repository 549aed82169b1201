//===- AvailableShardings.cpp - materialized copies of a value ------------===//

#include "passes/strategy/AvailableShardings.h"

#include "ir/array/PartialSums.h"
#include "ir/spmd/Location.h"
#include "passes/cost/RunCounts.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace spmdc {
namespace {

ArrayType typeOf(Value value) { return cast<ArrayType>(value.getType()); }

bool isUnreduced(ArrayType type) { return !type.getShardingOrOpen().getUnreduced().empty(); }
bool isUnreduced(Value value) { return isUnreduced(typeOf(value)); }

bool liesAs(Value value, ArrayType type) {
  return typeOf(value).getShardingOrOpen().hasSameAxes(type.getShardingOrOpen());
}

/// Whether an operand of `user` may be replaced by this value: the value is defined before `user`.
bool isVisible(Value value, Operation *user) {
  Operation *around = value.getParentBlock()->findAncestorOpInBlock(*user), *maker = value.getDefiningOp();
  return around && (!maker || maker->isBeforeInBlock(around));
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
static ArrayType getWhole(ArrayType partial, Value value) {
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
  double trips = 1;
  for (Operation *place = findReshardPlace(value, user), *loop = user; loop != place;) {
    loop = loop->getParentOp();
    if (isa<LoopLikeOpInterface>(loop))
      trips *= getTrips(loop);
  }
  return trips;
}

Value AvailableShardings::getRoot(Value value) const {
  auto root = roots.find(value);
  return root == roots.end() ? value : root->second;
}

CollectiveCost AvailableShardings::getDebt(Value value, Operation *user) const {
  // A loop may need the value in each iteration, so a reshard in front of the loop is always worth its price.
  auto debt = debts.find(value);
  return debt == debts.end() || value.getParentBlock() != user->getBlock() ? CollectiveCost() : debt->second;
}

AvailableShardings::Source AvailableShardings::find(Value value, ArrayType wanted, Operation *user) {
  Source best{value, planner.plan(typeOf(value), wanted).cost + getDebt(value, user), {}, {}};
  for (Value form : getOthers(value, user)) {
    const ReshardPlan &plan = planner.plan(typeOf(form), wanted);
    CollectiveCost cost = plan.cost + getDebt(form, user);
    if (cost < best.cost)
      best = {form, cost, {}, {}};
  }
  visitTransposed(value, user, [&](Value form, ArrayType type, ArrayRef<int64_t> perm) {
    const ReshardPlan &plan = planner.plan(type, wanted);
    CollectiveCost cost = plan.cost + getDebt(form, user);
    if (cost < best.cost)
      best = {form, cost, llvm::to_vector(perm), {}};
  });
  if (best.cost.linkBytes == 0)
    return best;
  // For a rematerialized unreduced value, one device of a group computes the value and the others have zeros.
  if (isUnreduced(wanted) && !isUnreduced(value)) {
    Source whole = find(value, getWhole(wanted, value), user);
    return whole.maker && whole.cost < best.cost ? whole : best;
  }
  Source again{value, {}, {}, {}};
  bool canMake = visitMaking(value, wanted, again.maker, [&](Value operand, ArrayType type) {
    Source part = find(operand, type, user);
    again.cost = again.cost + part.cost;
    bool isRead = !part.maker && !isa<ReshapeOp>(again.maker);
    again.readBytes += isRead ? static_cast<double>(type.getLocalBytes(planner.getMesh())) : part.readBytes;
  });
  // On a tie a reshape wins: an available sharding of its operand can serve all its reshapes.
  bool isCheaper = canMake && (isa<ReshapeOp>(again.maker) ? !(best.cost < again.cost) : again.cost < best.cost);
  if (!isCheaper)
    return best;
  // A gather also writes its result. The chain of rematerialized operations is one kernel, which reads its inputs as
  // well.
  const CostModel &model = planner.getModel();
  if (chainLeft == longestChain)
    again.cost.latencySeconds += again.readBytes / model.memoryPerSecond;
  int64_t devices = planner.getMesh().deviceCount();
  bool isSlower = model.seconds(again.cost, devices) > (1 + CostModel::kAlike) * model.seconds(best.cost, devices);
  return isSlower ? best : again;
}

bool AvailableShardings::visitMaking(Value value, ArrayType wanted, ShardingRuleOpInterface &maker,
                                     llvm::function_ref<void(Value, ArrayType)> visit) const {
  bool isLittle = isRematerializable(value);
  if (isUnreduced(wanted) || (!isLittle && chainLeft == 0))
    return false;
  maker = findRematerializableOp(getRoot(value));
  std::optional<SmallVector<ArrayType>> types;
  if (!maker || !(types = listOperandTypes(planner.getMesh(), maker, wanted)))
    return false;
  chainLeft -= !isLittle;
  llvm::SmallDenseSet<std::pair<Value, Type>, 4> seen;
  for (auto [operand, type] : llvm::zip(maker->getOperands(), *types))
    if (seen.insert({operand, type}).second)
      visit(operand, type);
  chainLeft += !isLittle;
  return true;
}

double AvailableShardings::getLeastBytes(Value value, ArrayType wanted, Operation *user) const {
  double least = planner.getLeastBytes(typeOf(value), wanted);
  for (Value form : getOthers(value, user))
    least = std::min(least, planner.getLeastBytes(typeOf(form), wanted));
  visitTransposed(value, user, [&](Value, ArrayType type, ArrayRef<int64_t>) {
    least = std::min(least, planner.getLeastBytes(type, wanted));
  });
  if (least == 0)
    return 0;
  if (isUnreduced(wanted) && !isUnreduced(value))
    return std::min(least, getLeastBytes(value, getWhole(wanted, value), user));
  double ofMaking = 0;
  ShardingRuleOpInterface maker;
  bool canMake = visitMaking(value, wanted, maker,
                             [&](Value operand, ArrayType type) { ofMaking += getLeastBytes(operand, type, user); });
  return canMake ? std::min(least, ofMaking) : least;
}

SmallVector<Value, 2> AvailableShardings::getOthers(Value value, Operation *user) const {
  SmallVector<Value, 2> others;
  auto add = [&](Value form) {
    if (form != value && isVisible(form, user))
      others.push_back(form);
  };
  // Partial sums are reduced once, for all users, so a root of partial sums is no source.
  Value root = getRoot(value);
  if (!isUnreduced(root))
    add(root);
  if (auto forms = made.find(root); forms != made.end())
    llvm::for_each(forms->second, add);
  return others;
}

void AvailableShardings::visitTransposed(Value value, Operation *user,
                                         llvm::function_ref<void(Value, ArrayType, ArrayRef<int64_t>)> visit) const {
  auto visitForms = [&](Value other, ArrayRef<int64_t> perm) {
    for (Value form : getOthers(other, user))
      visit(form, transposed(typeOf(form), perm), perm);
  };
  Value root = getRoot(value);
  if (auto transpose = root.getDefiningOp<TransposeOp>())
    visitForms(transpose.getOperand(), transpose.getPerm());
  for (Operation *other : getTransposes(root)) {
    auto transpose = cast<TransposeOp>(other);
    visitForms(transpose.getResult(), inverse(transpose.getPerm()));
  }
}

SmallVector<Operation *, 1> &AvailableShardings::getTransposes(Value root) const {
  auto [entry, isNew] = transposes.try_emplace(root);
  if (!isNew)
    return entry->second;
  SmallVector<Value, 4> own{root};
  if (auto forms = made.find(root); forms != made.end())
    llvm::append_range(own, forms->second);
  for (Value form : own)
    for (Operation *user : form.getUsers())
      if (isa<TransposeOp>(user))
        entry->second.push_back(user);
  return entry->second;
}

Value AvailableShardings::take(Value value, ArrayType wanted, Operation *user, StringRef why) {
  if (Value root = getRoot(value); isUnreduced(wanted) && isZero(root)) {
    // Every sharding of zeros is zeros.
    OpBuilder builder(findReshardPlace(value, user));
    return keep(root, makeZeros(builder, root, wanted));
  }
  Source source = find(value, wanted, user);
  if (source.maker && isUnreduced(wanted)) {
    Value whole = makeAgain(source.maker, value, getWhole(wanted, value), user, why);
    OpBuilder builder(user->getContext());
    builder.setInsertionPointAfterValue(whole);
    return create(builder, whole.getLoc(), whole, wanted, why);
  }
  if (source.maker)
    return makeAgain(source.maker, value, wanted, user, why);
  pay(source.value);
  OpBuilder builder(findReshardPlace(source.value, user));
  // The location of the operation that computes with the value; if `user` only passes it on, that of the value. A
  // sharding annotation at that location is about another value than this copy.
  Location loc = getUnmarkedLoc(isa<ShardingRuleOpInterface>(user) ? user->getLoc() : value.getLoc());
  if (!source.perm.empty()) {
    ArrayType type = transposed(typeOf(source.value), source.perm);
    SmallVector<Operation *, 1> &known = getTransposes(getRoot(source.value));
    source.value = builder.create<TransposeOp>(loc, type, source.value, source.perm);
    known.push_back(source.value.getDefiningOp());
    keep(getRoot(value), source.value);
  }
  if (liesAs(source.value, wanted))
    return source.value;
  return create(builder, loc, source.value, wanted, why);
}

Value AvailableShardings::makeAgain(ShardingRuleOpInterface maker, Value value, ArrayType wanted, Operation *user,
                                    StringRef why) {
  SmallVector<ArrayType> types = *listOperandTypes(planner.getMesh(), maker, wanted);
  IRMapping operands;
  Operation *place = findReshardPlace(value, user);
  for (auto [operand, type] : llvm::zip(maker->getOperands(), types)) {
    // The sentence is appended once, for the operand that is resharded.
    bool isMadeAgain = find(operand, type, user).maker != nullptr;
    StringRef how = isa<ReshapeOp>(maker) ? ", as a reshape of " : ", rematerialized from ";
    std::string from = isMadeAgain ? "" : (how + type.str()).str();
    Value form = take(operand, type, user, (why + from).str());
    operands.map(operand, form);
    if (!isVisible(form, place))
      place = user;
  }
  OpBuilder builder(place);
  Operation *again = builder.clone(*maker, operands);
  again->getResult(0).setType(wanted);
  again->setLoc(getUnmarkedLoc(maker->getLoc()));
  return keep(getRoot(value), again->getResult(0));
}

Value AvailableShardings::keep(Value root, Value form) {
  roots[form] = root;
  made[root].push_back(form);
  return form;
}

void AvailableShardings::addPropagated(Value result, ArrayType propagated, StringRef why) {
  auto uses = static_cast<double>(std::max<int64_t>(1, std::distance(result.use_begin(), result.use_end())));
  OpBuilder builder(result.getContext());
  builder.setInsertionPointAfterValue(result);
  Value form = create(builder, result.getLoc(), result, propagated, why);
  result.replaceAllUsesExcept(form, form.getDefiningOp());
  if (isUnreduced(result))
    return;
  debts[form] = planner.plan(typeOf(result), propagated).cost.scaledBy(1 / uses);
}

Value AvailableShardings::create(OpBuilder &builder, Location loc, Value from, ArrayType to, StringRef why) {
  auto reshard = builder.create<ReshardOp>(loc, to, from, builder.getStringAttr(why));
  reshards.push_back(reshard);
  return keep(getRoot(from), reshard.getResult());
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
