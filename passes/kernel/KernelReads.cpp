//===- KernelReads.cpp - how much of its inputs a kernel reads ------------===//

#include "passes/kernel/KernelReads.h"

#include "passes/kernel/Shapes.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace spmdc {
namespace {

int64_t elementsOf(Value value) { return productOf(shapeOf(value)); }

/// Counts from the outputs, which are fully computed, back to the inputs.
class Counter {
public:
  explicit Counter(Block &block) {
    for (Value output : block.getTerminator()->getOperands())
      uses[output].together = elementsOf(output);
    for (Operation &op : llvm::reverse(block.without_terminator()))
      addOperands(&op);
  }

  int64_t countOf(Value value) const {
    Uses found = uses.lookup(value);
    return std::min(elementsOf(value), found.together + found.apart);
  }

private:
  /// Elements that the users of a value need.
  struct Uses {
    int64_t together = 0; ///< For element-wise users: their maximum, since all read the same elements.
    int64_t apart = 0;    ///< For users that move data: their sum, since slices of an array read different parts.
  };

  void addOperands(Operation *op) {
    int64_t computed = 0;
    for (Value result : op->getResults())
      computed = std::max(computed, countOf(result));
    for (Value operand : op->getOperands()) {
      int64_t read = std::min(elementsOf(operand), computed * getReadsPerResult(op));
      Uses &known = uses[operand];
      if (isa<ElementwiseOpInterface>(op))
        known.together = std::max(known.together, read);
      else
        known.apart += read;
    }
  }

  /// Elements of an operand that one element of the result needs.
  static int64_t getReadsPerResult(Operation *op) {
    if (!isa<ReduceOp, CumulativeOp>(op))
      return 1;
    return productOf(select(shapeOf(op->getOperand(0)), reducedDims(op), true));
  }

  llvm::DenseMap<Value, Uses> uses;
};

} // namespace

double countProductFlops(plan::KernelOp kernel) {
  double flops = 0;
  for (auto product : kernel.getBlock().getOps<DotGeneralOp>()) {
    double depth = 1;
    for (int64_t dim : product.getLhsContract())
      depth *= static_cast<double>(shapeOf(product.getLhs())[dim]);
    flops += 2 * depth * static_cast<double>(product.getType().getNumElements());
  }
  return flops;
}

std::vector<int64_t> countReadBytes(plan::KernelOp kernel) {
  Counter counter(kernel.getBlock());
  std::vector<int64_t> bytes;
  for (BlockArgument input : kernel.getBlock().getArguments())
    bytes.push_back(counter.countOf(input) * spmd::byteSize(cast<ArrayType>(input.getType()).getDType()));
  return bytes;
}

} // namespace spmdc
