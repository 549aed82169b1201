//===- BeforeReshape.cpp - values in front of a reshape -------------------===//

#include "passes/restructure/BeforeReshape.h"

#include "ir/array/LocalBuilder.h"
#include "ir/spmd/SpmdTypes.h"

#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace spmdc {
namespace {

/// The largest number of operations that are looked through.
constexpr size_t kMost = 64;

/// The operand of a broadcast of one element; null for other values.
Value getSplat(Value value) {
  auto broadcast = value.getDefiningOp<BroadcastInDimOp>();
  return broadcast && broadcast.getOperand().getType().getNumElements() == 1 ? broadcast.getOperand() : Value();
}

bool isSplatConstant(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant && constant.getValue().isSplat();
}

bool isComputedByElement(Operation *op) {
  return isa_and_nonnull<ElementwiseOpInterface>(op) && op->getNumResults() == 1 && isPure(op) &&
         !op->hasAttr(kAnnotatedAttrName);
}

/// Visits the operations that compute a value element-wise, up to reshapes and splats. Returns false at any other
/// operation, and if `visit` returns false for a reshape.
bool walkBack(Value value, function_ref<bool(ReshapeOp)> visit) {
  SmallVector<Value> open = {value};
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!open.empty()) {
    Value next = open.pop_back_val();
    Operation *op = next.getDefiningOp();
    if (op && !seen.insert(op).second)
      continue;
    if (isSplatConstant(next) || getSplat(next))
      continue;
    if (auto reshape = dyn_cast_or_null<ReshapeOp>(op); reshape && !op->hasAttr(kAnnotatedAttrName)) {
      if (!visit(reshape))
        return false;
    } else if (isComputedByElement(op) && seen.size() < kMost) {
      llvm::append_range(open, op->getOperands());
    } else {
      return false;
    }
  }
  return true;
}

bool isAlike(ArrayType type, ArrayType before) {
  return type.getShape() == before.getShape() && type.getShardingOrOpen().hasSameAxes(before.getShardingOrOpen());
}

ArrayType getScalar(ArrayType type) {
  return type.withShape({}).withSharding(ShardingAttr::getReplicated(type.getContext(), 0, /*isClosed=*/true));
}

/// Builds values in front of reshapes, each value once.
class Builder {
public:
  Builder(OpBuilder &b, ArrayType before) : b(b), before(before) {}

  Value build(Value value) {
    if (auto known = made.find(value); known != made.end())
      return known->second;
    Value result = make(value);
    made[value] = result;
    return result;
  }

private:
  Value make(Value value) {
    Operation *op = value.getDefiningOp();
    ArrayType type = before.withElementType(typeOf(value).getElementType());
    if (auto reshape = dyn_cast<ReshapeOp>(op))
      return reshape.getOperand();
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      auto values = cast<DenseElementsAttr>(constant.getValue());
      auto splat = DenseElementsAttr::get(cast<ShapedType>(values.getType()).clone(type.getShape()),
                                          values.getSplatValue<Attribute>());
      return b.create<ConstantOp>(op->getLoc(), type, splat);
    }
    if (Value one = getSplat(value)) {
      if (ArrayType oneType = typeOf(one); oneType.getRank() > 0)
        one = b.create<ReshapeOp>(op->getLoc(), getScalar(oneType), one);
      return b.create<BroadcastInDimOp>(op->getLoc(), type, one, ArrayRef<int64_t>{});
    }
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(build(operand));
    Operation *copy = b.clone(*op);
    copy->setOperands(operands);
    copy->getResult(0).setType(type);
    return copy->getResult(0);
  }

  OpBuilder &b;
  ArrayType before;
  llvm::DenseMap<Value, Value> made;
};

} // namespace

ReshapeOp findReshape(Value value) {
  ReshapeOp found;
  bool isFound = walkBack(value, [&](ReshapeOp reshape) {
    found = found ? found : reshape;
    return isAlike(reshape.getOperand().getType(), found.getOperand().getType());
  });
  return isFound ? found : ReshapeOp();
}

bool canBuildBefore(Value value, ArrayType before) {
  return walkBack(value, [&](ReshapeOp reshape) { return isAlike(reshape.getOperand().getType(), before); });
}

Value buildBefore(OpBuilder &builder, Value value, ArrayType before) { return Builder(builder, before).build(value); }

void eraseDeadOps(Operation *root) {
  root->walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isOpTriviallyDead(op))
      op->erase();
  });
}

} // namespace spmdc
