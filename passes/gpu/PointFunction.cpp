//===- PointFunction.cpp - an epilogue as a function of numbers -----------===//

#include "passes/gpu/PointFunction.h"

#include "passes/gpu/Splats.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace spmdc {
namespace {

int64_t countOf(Value value) { return cast<ArrayType>(value.getType()).getNumElements(); }

Type elementOf(Value value) { return cast<ArrayType>(value.getType()).getElementType(); }

/// Whether the conversion loses nothing that a result of this type has: it is to that type, or to a wider one.
bool isAsPreciseAs(ConvertOp op, Type result) {
  Type type = elementOf(op.getResult());
  return type == result || type.getIntOrFloatBitWidth() > result.getIntOrFloatBitWidth();
}

/// Whether the operation broadcasts a row of `columns` elements to the rows of its result.
bool broadcastsRows(BroadcastInDimOp op, int64_t columns) {
  ArrayRef<int64_t> dims = op.getDims(), shape = op.getType().getShape();
  auto given = cast<ArrayType>(op.getOperand().getType()).getShape();
  if (countOf(op.getOperand()) != columns)
    return false;
  for (size_t i = 0; i < dims.size(); ++i)
    if (given[i] != 1 && (static_cast<size_t>(dims[i]) != shape.size() - dims.size() + i ||
                          given[i] != shape[static_cast<size_t>(dims[i])]))
      return false;
  // The dimensions of the row are the last ones.
  int64_t trailing = 1;
  for (size_t i = shape.size() - dims.size(); i < shape.size(); ++i)
    trailing *= shape[i];
  return trailing == columns;
}

} // namespace

bool PointFunction::addRead(Value value, Read read, int64_t elements) {
  if (findSplat(value))
    return true;
  if (countOf(value) != elements)
    return false;
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getOperand();
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return true;
  if (argument.getArgNumber() == 0) // The product.
    return read == Read::Element;
  Read &known = reads[argument.getArgNumber() - 1];
  bool isConsistent = known == Read::Never || known == read;
  known = read;
  return isConsistent;
}

std::optional<PointFunction> PointFunction::of(plan::KernelOp kernel, int64_t columns) {
  PointFunction function(kernel);
  Block &block = kernel.getBlock();
  Value output = block.getTerminator()->getOperand(0);
  int64_t elements = countOf(block.getArgument(0));
  function.reads.assign(block.getNumArguments() - 1, Read::Never);
  for (Operation &op : block.without_terminator()) {
    if (op.getNumResults() != 1 || !isa<FloatType>(elementOf(op.getResult(0))))
      return std::nullopt;
    auto broadcast = dyn_cast<BroadcastInDimOp>(op);
    auto convert = dyn_cast<ConvertOp>(op);
    bool isKnown = isa<AddOp, SubtractOp, MultiplyOp, NegateOp, TanhOp, ReshapeOp>(op) ||
                   (convert && isAsPreciseAs(convert, elementOf(output))) ||
                   (isa<DivideOp>(op) && findSplat(op.getOperand(1)).value_or(0) != 0) || findSplat(op.getResult(0)) ||
                   (broadcast && broadcastsRows(broadcast, columns));
    if (!isKnown)
      return std::nullopt;
    function.containsTanh |= isa<TanhOp>(op);
    if (isa<ReshapeOp>(op)) // Its users read the array behind it.
      continue;
    // Rows are arrays of their length, until a broadcast.
    bool isRow = broadcast || countOf(op.getResult(0)) != elements;
    for (Value operand : op.getOperands())
      if (!function.addRead(operand, isRow ? Read::Row : Read::Element, isRow ? columns : elements))
        return std::nullopt;
  }
  if (!output.getDefiningOp() || countOf(output) != elements)
    return std::nullopt;
  return function;
}

double PointFunction::evaluate(double product, ArrayRef<double> inputs) const {
  Block &block = kernel.getBlock();
  llvm::DenseMap<Value, double> values;
  values[block.getArgument(0)] = product;
  for (auto [argument, input] : llvm::zip(block.getArguments().drop_front(), inputs))
    values[argument] = input;
  for (Operation &op : block.without_terminator()) {
    double &result = values[op.getResult(0)];
    if (std::optional<double> splat = findSplat(op.getResult(0))) {
      result = *splat;
    } else if (isa<BroadcastInDimOp, ReshapeOp, ConvertOp>(op)) {
      result = values.lookup(op.getOperand(0));
    } else {
      SmallVector<Scalar> operands;
      for (Value operand : op.getOperands())
        operands.push_back(Scalar::ofFloat(values.lookup(operand)));
      result = cast<ElementwiseOpInterface>(op).evaluateScalar(operands).f;
    }
  }
  return values.lookup(block.getTerminator()->getOperand(0));
}

} // namespace spmdc
