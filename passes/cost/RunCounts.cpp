//===- RunCounts.cpp - how often an operation runs ------------------------===//

#include "passes/cost/RunCounts.h"

#include "ir/interfaces/Tensor.h"

#include "llvm/Support/MathExtras.h"

#include <vector>

using namespace mlir;

namespace spmdc {
namespace {

/// A scalar that depends only on the counter of a loop and on constants; it can be evaluated for each iteration.
class ScalarProgram {
public:
  /// Returns false if the value depends on anything else, or has more than kMostSteps operations.
  bool build(Value value, Value loopCounter) {
    counter = loopCounter;
    result = value;
    return add(value, /*depth=*/0);
  }

  bool isTrue(int64_t iteration) const {
    SmallVector<Scalar> results;
    Scalar first = roundTo(Scalar::ofInt(iteration), elementType(counter));
    auto resultOf = [&](Value operand) { return operand == counter ? first : results[positions.at(operand)]; };
    for (const Step &step : steps) {
      ElementwiseOpInterface op = step.op;
      if (!op) {
        results.push_back(step.constant);
        continue;
      }
      SmallVector<Scalar> operands = llvm::map_to_vector(op->getOperands(), resultOf);
      results.push_back(roundTo(op.evaluateScalar(operands), elementType(op->getResult(0))));
    }
    return resultOf(result).i != 0;
  }

private:
  static constexpr size_t kMostSteps = 64;

  struct Step {
    ElementwiseOpInterface op; ///< Null for a constant.
    Scalar constant;
  };

  bool add(Value value, size_t depth) {
    if (value == counter || positions.contains(value))
      return true;
    Operation *op = value.getDefiningOp();
    auto type = dyn_cast<ArrayType>(value.getType());
    if (!op || !type || type.getRank() != 0 || steps.size() >= kMostSteps || depth >= kMostSteps)
      return false;
    Step step;
    if (auto constant = dyn_cast<ConstantOp>(op))
      step.constant = constant.evaluate({}).elements.front();
    else if (step.op = dyn_cast<ElementwiseOpInterface>(op);
             !step.op || !llvm::all_of(op->getOperands(), [&](Value operand) { return add(operand, depth + 1); }))
      return false;
    positions[value] = steps.size();
    steps.push_back(step);
    return true;
  }

  static Type elementType(Value value) { return cast<ArrayType>(value.getType()).getElementType(); }

  Value counter, result;
  SmallVector<Step> steps;
  llvm::DenseMap<Value, size_t> positions;
};

/// A branch of a conditional: it runs if `condition` is true, or false with `isElse`.
struct TakenBranch {
  ScalarProgram condition;
  bool isElse;
};

} // namespace

double estimateIterations(Operation *loop) {
  constexpr double kTripsOfWhile = 8;
  auto counted = dyn_cast<ForOp>(loop);
  return counted ? static_cast<double>(std::max<int64_t>(1, counted.getTripCount())) : kTripsOfWhile;
}

int64_t RunCounts::countIterations(Block *block, ForOp loop) {
  auto [entry, isNew] = known.try_emplace({block, loop.getOperation()}, loop.getTripCount());
  if (!isNew || loop.getTripCount() > kMostIterations)
    return entry->second;
  std::vector<TakenBranch> takenBranches;
  for (Block *inner = block; inner->getParentOp() != loop.getOperation(); inner = inner->getParentOp()->getBlock()) {
    ScalarProgram condition;
    if (auto branch = dyn_cast<IfOp>(inner->getParentOp());
        branch && condition.build(branch.getPredicate(), loop.getCounter()))
      takenBranches.push_back({std::move(condition), inner->getParent()->getRegionNumber() == 1});
  }
  if (takenBranches.empty())
    return entry->second;
  int64_t count = 0;
  for (int64_t i = 0; i < loop.getTripCount(); ++i)
    count += llvm::all_of(takenBranches, [&](const TakenBranch &arm) {
      return arm.condition.isTrue(static_cast<int64_t>(loop.getLower()) + i) != arm.isElse;
    });
  return known[{block, loop.getOperation()}] = count;
}

std::optional<double> RunCounts::getShare(Block *arm) {
  auto branch = cast<IfOp>(arm->getParentOp());
  for (Operation *around = branch->getParentOp(); around; around = around->getParentOp()) {
    auto loop = dyn_cast<ForOp>(around);
    if (!loop || !ScalarProgram().build(branch.getPredicate(), loop.getCounter()) ||
        loop.getTripCount() > kMostIterations)
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
