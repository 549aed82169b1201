//===- WidenSums.cpp - keeps partial sums of user collectives in f32 ------===//

#include "passes/reductions/WidenSums.h"

#include "ir/array/PartialSums.h"
#include "passes/reductions/Linearity.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace spmdc {
namespace {

class SumWidener {
public:
  void run(Operation *op) {
    collective = op;
    sums.clear();
    Value value = op->getResult(0);
    ArrayType type = typeOf(value);
    wide = getPartialSumType(op, type.getElementType());
    if (wide == type.getElementType() || op->hasAttr(kKeepsPrecisionAttrName) || !isSum(op->getOperand(0)))
      return;
    addReason(type);
    op->setOperand(0, widen(op->getOperand(0), op));
    value.setType(type.withElementType(wide));
    round(value, type);
  }

private:
  /// The most operations between sums and the collective that are searched; beyond that the type does not change.
  static constexpr size_t kMaxOperations = 64;

  /// Whether the operation sums up 16-bit floats.
  static bool makesSum(Operation *op) {
    auto reduce = dyn_cast<ReduceOp>(op);
    return combinesElements(op) && (!reduce || reduce.getKind() == ReductionKind::sum);
  }

  /// Whether the value is a sum of 16-bit floats, or is computed from one by linear operations without other uses.
  bool isSum(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != collective->getBlock() || op->getNumResults() != 1 ||
        op->hasAttr(kKeepsPrecisionAttrName) || !isHalfFloat(typeOf(value).getElementType()))
      return false;
    if (makesSum(op) || rounded.contains(op))
      return true;
    if (auto known = sums.find(op); known != sums.end())
      return known->second;
    if (!value.hasOneUse() || sums.size() >= kMaxOperations)
      return false;
    sums[op] = false;
    bool isIt = false;
    for (unsigned term : listLinear(op, [](Value operand) { return !isUniform(operand); }))
      isIt |= isSum(op->getOperand(term));
    return sums[op] = isIt;
  }

  /// The value in the wide type, for use by `user`.
  Value widen(Value value, Operation *user) {
    ArrayType type = typeOf(value);
    if (!isHalfFloat(type.getElementType()))
      return value;
    OpBuilder builder(user);
    if (!isSum(value))
      return convertTo(builder, user->getLoc(), value, wide);
    Operation *op = value.getDefiningOp();
    if (rounded.contains(op))
      return op->getOperand(0);
    bool isShared = !value.hasOneUse();
    // Products take 16-bit floats as they are.
    for (OpOperand &operand : op->getOpOperands())
      if (!isa<DotGeneralOp>(op))
        operand.set(widen(operand.get(), op));
    value.setType(type.withElementType(wide));
    if (isShared)
      round(value, type);
    return value;
  }

  /// Rounds the value to its old type for all other users.
  void round(Value value, ArrayType type) {
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    Value narrow = convertTo(builder, value.getLoc(), value, type.getElementType());
    value.replaceAllUsesExcept(narrow, narrow.getDefiningOp());
    rounded.insert(narrow.getDefiningOp());
  }

  void addReason(ArrayType type) {
    auto why = collective->getAttrOfType<StringAttr>("why");
    std::string name(spmd::dtypeName(type.getDType()));
    std::string text = (why ? why.getValue().str() + "; " : "") + "partial sums in f32, rounded to " + name +
                       " once they are added (precision=" + name + " sends half of it, rounded on each device)";
    collective->setAttr("why", StringAttr::get(collective->getContext(), text));
  }

  Operation *collective = nullptr;
  Type wide;
  llvm::DenseMap<Operation *, bool> sums; ///< The results of isSum for the current collective.
  llvm::DenseSet<Operation *> rounded;    ///< Converts that round a widened value.
};

} // namespace

void widenWrittenSums(func::FuncOp func) {
  SmallVector<Operation *> sums;
  func.walk([&](Operation *op) {
    auto reduce = dyn_cast<AllReduceOp>(op);
    auto scatter = dyn_cast<ReduceScatterOp>(op);
    if ((reduce && reduce.getKind() == ReductionKind::sum) || (scatter && scatter.getKind() == ReductionKind::sum))
      sums.push_back(op);
  });
  // In reverse order, so that the last collective of a chain widens those in front of it.
  SumWidener widener;
  for (Operation *op : llvm::reverse(sums))
    widener.run(op);
}

} // namespace spmdc
