//===- OperandExpression.cpp - how an operand is computed -----------------===//

#include "passes/restructure/OperandExpression.h"

#include "ir/array/LocalBuilder.h"
#include "passes/kernel/OpCost.h"

using namespace mlir;

namespace spmdc {
namespace {

/// The largest number of operations of one operand: rotary embeddings and the ends of stencils have fewer than ten.
constexpr size_t kMostNodes = 64;

bool isElementwise(Operation *op) { return isa<ElementwiseOpInterface>(op); }

Type getElementType(Value value) { return typeOf(value).getElementType(); }

} // namespace

bool OperandExpression::match() {
  auto isOurs = [&](Operation *by) {
    return by == user || (by->getNumResults() == 1 && places.contains(by->getResult(0)));
  };
  return add(root).has_value() && llvm::all_of(nodes, [&](const Node &node) {
           return !node.op || !isElementwise(node.op) || llvm::all_of(node.op->getUsers(), isOurs);
         });
}

bool OperandExpression::mayStop() const {
  return llvm::any_of(nodes, [](const Node &node) {
    return node.op && node.op->hasTrait<Division>() && !isa<FloatType>(getElementType(node.op->getResult(0)));
  });
}

double OperandExpression::getCost() const {
  double cost = 0;
  for (const Node &node : nodes)
    if (node.op && isElementwise(node.op))
      cost += getOpCost(node.op->getResult(0), /*isLoad=*/false);
  return cost;
}

bool OperandExpression::isSame(const OperandExpression &other) const {
  if (nodes.size() != other.nodes.size() || slots.size() != other.slots.size())
    return false;
  for (auto [one, two] : llvm::zip(slots, other.slots))
    if (getElementType(one) != getElementType(two))
      return false;
  for (auto [one, two] : llvm::zip(nodes, other.nodes)) {
    bool isSlot = !one.op && !two.op && one.slot == two.slot;
    if (!isSlot && (!one.op || !two.op || !isSameOp(one, two)))
      return false;
  }
  return true;
}

Value OperandExpression::build(OpBuilder &builder, ArrayType result, ArrayRef<Value> arrays) const {
  std::vector<Value> values;
  for (const Node &node : nodes) {
    if (!node.op) {
      values.push_back(arrays[node.slot]);
      continue;
    }
    Location loc = node.op->getLoc();
    ArrayType type = result.withElementType(getElementType(node.op->getResult(0)));
    if (auto constant = dyn_cast<ConstantOp>(node.op)) {
      auto splat = cast<DenseElementsAttr>(constant.getValue());
      values.push_back(builder.create<ConstantOp>(loc, type, splat.resizeSplat(type.getTensorType())));
      continue;
    }
    SmallVector<Value> operands;
    if (!isElementwise(node.op))
      operands.assign(node.op->operand_begin(), node.op->operand_end());
    for (unsigned operand : node.operands)
      operands.push_back(values[operand]);
    Operation *copy = builder.create(OperationState(loc, node.op->getName(), operands, type, node.op->getAttrs()));
    values.push_back(copy->getResult(0));
  }
  return values.back();
}

/// Whether the operation's result is constant along the dimension, so that it can be computed with any size.
bool OperandExpression::isUniform(Operation *op) const {
  if (auto constant = dyn_cast<ConstantOp>(op))
    return constant.getValue().isSplat();
  if (auto broadcast = dyn_cast<BroadcastInDimOp>(op)) {
    auto place = llvm::find(broadcast.getDims(), dim);
    return place == broadcast.getDims().end() ||
           typeOf(broadcast.getOperand()).getDimSize(place - broadcast.getDims().begin()) == 1;
  }
  auto iota = dyn_cast<IotaOp>(op);
  return iota && static_cast<int64_t>(iota.getDim()) != dim;
}

bool OperandExpression::isSameOp(const Node &one, const Node &two) {
  if (one.op->getName() != two.op->getName() || one.operands != two.operands ||
      getElementType(one.op->getResult(0)) != getElementType(two.op->getResult(0)))
    return false;
  if (auto constant = dyn_cast<ConstantOp>(one.op)) {
    auto splatOf = [](ConstantOp op) { return cast<DenseElementsAttr>(op.getValue()).getSplatValue<Attribute>(); };
    return splatOf(constant) == splatOf(cast<ConstantOp>(two.op));
  }
  if (one.op->getAttrDictionary() != two.op->getAttrDictionary())
    return false;
  return isElementwise(one.op) || llvm::equal(one.op->getOperands(), two.op->getOperands());
}

/// The node of a value, after adding nodes for its operands; nothing if there are too many.
std::optional<unsigned> OperandExpression::add(Value value) {
  auto known = places.find(value);
  if (known != places.end())
    return known->second;
  if (nodes.size() == kMostNodes)
    return std::nullopt;
  Operation *op = value.getDefiningOp();
  Node node;
  if (op && isUniform(op)) {
    node.op = op;
  } else if (op && isElementwise(op) && op->getNumOperands() > 0 && op->getBlock() == user->getBlock() &&
             !op->hasAttr(kAnnotatedAttrName)) {
    node.op = op;
    for (Value operand : op->getOperands()) {
      std::optional<unsigned> place = add(operand);
      if (!place)
        return std::nullopt;
      node.operands.push_back(*place);
    }
  } else {
    node.slot = slots.size();
    slots.push_back(value);
  }
  nodes.push_back(std::move(node));
  return places[value] = nodes.size() - 1;
}

} // namespace spmdc
