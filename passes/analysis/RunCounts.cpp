//===- RunCounts.cpp - how often an operation runs ------------------------===//

#include "passes/analysis/RunCounts.h"

#include "ir/interfaces/Tensor.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace spmdc {
namespace {

/// Of scalars, from the counter of a loop and constants; nothing where something else decides.
class ScalarProgram {
public:
  explicit ScalarProgram(Value counter) : counter(counter) {}

  /// Notes what leads to the value; false where that is not scalars of the counter and constants alone.
  bool add(Value value, size_t depth = 0) {
    if (value == counter || positions.contains(value))
      return true;
    Operation *op = value.getDefiningOp();
    auto type = dyn_cast<ArrayType>(value.getType());
    if (!op || !type || type.getRank() != 0 || steps.size() >= kMostSteps || depth >= kMostSteps)
      return false;
    if (!isa<ConstantOp>(op) &&
        (!isa<ElementwiseOpInterface>(op) ||
         !llvm::all_of(op->getOperands(), [&](Value operand) { return add(operand, depth + 1); })))
      return false;
    positions[value] = steps.size();
    steps.push_back(op);
    return true;
  }

  bool isTrue(Value value, int64_t iteration) const {
    SmallVector<Scalar> results;
    Scalar first = roundTo(Scalar::ofInt(iteration), elementType(counter));
    auto resultOf = [&](Value operand) { return operand == counter ? first : results[positions.at(operand)]; };
    for (Operation *op : steps) {
      if (auto constant = dyn_cast<ConstantOp>(op)) {
        results.push_back(constant.evaluate({}).elements.front());
        continue;
      }
      SmallVector<Scalar> operands = llvm::map_to_vector(op->getOperands(), resultOf);
      results.push_back(
          roundTo(cast<ElementwiseOpInterface>(op).evaluateScalar(operands), elementType(op->getResult(0))));
    }
    return resultOf(value).i != 0;
  }

private:
  static constexpr size_t kMostSteps = 64;

  static Type elementType(Value value) { return cast<ArrayType>(value.getType()).getElementType(); }

  Value counter;
  SmallVector<Operation *> steps;
  llvm::DenseMap<Value, size_t> positions;
};

/// An arm of a branch.
struct Arm {
  Value condition;
  bool isElse;
};

} // namespace

int64_t RunCounts::countIterations(Block *block, ForOp loop) {
  auto [entry, isNew] = known.try_emplace({block, loop.getOperation()}, loop.getTripCount());
  if (!isNew || loop.getTripCount() > kMostIterations)
    return entry->second;
  ScalarProgram program(loop.getCounter());
  SmallVector<Arm> arms;
  for (Block *inner = block; inner->getParentOp() != loop.getOperation(); inner = inner->getParentOp()->getBlock())
    if (auto branch = dyn_cast<IfOp>(inner->getParentOp()); branch && program.add(branch.getPredicate()))
      arms.push_back({branch.getPredicate(), inner->getParent()->getRegionNumber() == 1});
  if (arms.empty())
    return entry->second;
  int64_t count = 0;
  for (int64_t i = 0; i < loop.getTripCount(); ++i)
    count += llvm::all_of(arms, [&](const Arm &arm) {
      return program.isTrue(arm.condition, static_cast<int64_t>(loop.getLower()) + i) != arm.isElse;
    });
  return known[{block, loop.getOperation()}] = count;
}

std::optional<double> RunCounts::getShare(Block *arm) {
  auto branch = cast<IfOp>(arm->getParentOp());
  for (Operation *around = branch->getParentOp(); around; around = around->getParentOp()) {
    auto loop = dyn_cast<ForOp>(around);
    if (!loop || !ScalarProgram(loop.getCounter()).add(branch.getPredicate()) || loop.getTripCount() > kMostIterations)
      continue;
    int64_t outside = countIterations(branch->getBlock(), loop), inside = countIterations(arm, loop);
    return outside == 0 ? 0 : static_cast<double>(inside) / static_cast<double>(outside);
  }
  return std::nullopt;
}

int64_t RunCounts::count(Operation *op) {
  int64_t count = 1;
  for (Operation *around = op->getParentOp(); around; around = around->getParentOp())
    if (auto loop = dyn_cast<ForOp>(around))
      if (llvm::MulOverflow(count, countIterations(op->getBlock(), loop), count))
        return INT64_MAX;
  return count;
}

} // namespace spmdc
