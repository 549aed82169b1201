//===- GridLibrary.cpp - reference evaluation of library calls ------------===//
//
// Evaluates plan.library on all devices, over flat memory seen as [outer, size along the dimension, inner]. Positions
// are clamped; updates out of range are dropped.
//
//===----------------------------------------------------------------------===//

#include "ir/array/ScalarEvaluation.h"
#include "ir/evaluate/ProcessGridEvaluator.h"
#include "ir/plan/PlanOps.h"

#include <algorithm>

using namespace mlir;

namespace spmdc {
namespace {

/// An array as [outer, middle, inner].
struct View {
  int64_t middle, inner;
  int64_t at(int64_t o, int64_t m, int64_t i) const { return (o * middle + m) * inner + i; }
};

Tensor sortLines(plan::LibraryOp op, const Tensor &operand) {
  ArrayRef<int64_t> sizes = op.getSizes();
  // A range of places may be selected.
  int64_t begin = sizes.size() == 5 ? sizes[3] : 0, end = sizes.size() == 5 ? sizes[4] : sizes[1];
  View view{sizes[1], sizes[2]}, selected{end - begin, sizes[2]};
  bool returnsValues = op.getFunction().starts_with("sort");
  Tensor result(op.getType().getShape(), op.getType().getElementType());
  std::vector<Scalar> line(sizes[1]);
  for (int64_t o = 0; o < sizes[0]; ++o)
    for (int64_t i = 0; i < sizes[2]; ++i) {
      for (int64_t m = 0; m < sizes[1]; ++m)
        line[m] = operand.elements[view.at(o, m, i)];
      std::vector<int64_t> order = evaluateOrder(operand.elementType, line, op.getFunction().ends_with("_descending"));
      for (int64_t m = begin; m < end; ++m)
        result.elements[selected.at(o, m - begin, i)] = returnsValues ? line[order[m]] : Scalar::ofInt(order[m]);
    }
  return result;
}

/// A scatter of any kind.
Tensor scatter(plan::LibraryOp op, Tensor result, const Tensor &indices, const Tensor &updates) {
  ArrayRef<int64_t> sizes = op.getSizes();
  View target{sizes[1], sizes[3]}, source{sizes[2], sizes[3]};
  StringRef name = op.getFunction();
  name.consume_front("scatter_");
  bool isAlong = name.consume_back("_along"), isFloat = isa<FloatType>(result.elementType);
  ReductionKind kind = symbolizeReductionKind(name).value_or(ReductionKind::sum); // scatter_add
  for (int64_t o = 0; o < sizes[0]; ++o)
    for (int64_t m = 0; m < sizes[2]; ++m)
      for (int64_t i = 0; i < sizes[3]; ++i) {
        int64_t row = indices.elements[isAlong ? source.at(o, m, i) : m].i;
        if (row < 0 || row >= sizes[1])
          continue;
        Scalar &element = result.elements[target.at(o, row, i)];
        Scalar update = updates.elements[source.at(o, m, i)];
        if (name == "replace")
          element = update;
        else
          element = evaluateReduction(result.elementType, kind, element, update);
        if (!isFloat)
          element = roundTo(element, result.elementType);
      }
  // Sums of floats are rounded once.
  for (Scalar &element : result.elements)
    element = roundTo(element, result.elementType);
  return result;
}

Tensor updateSlice(plan::LibraryOp op, ArrayRef<const Tensor *> operands) {
  size_t rank = op.getSizes().size() / 2;
  ArrayRef<int64_t> shape = op.getSizes().take_front(rank), window = op.getSizes().drop_front(rank);
  Tensor result = *operands[0];
  if (operands[1]->elements.empty())
    return result;
  SmallVector<int64_t> index(rank), target(rank);
  size_t next = 0;
  do {
    int64_t offset = 0;
    for (size_t d = 0; d < rank; ++d)
      offset =
          offset * shape[d] + index[d] + std::clamp<int64_t>(operands[2 + d]->elements[0].i, 0, shape[d] - window[d]);
    result.elements[offset] = operands[1]->elements[next++];
  } while (nextIndex(index, window));
  return result;
}

} // namespace

LogicalResult ProcessGridEvaluator::runLibrary(Operation *op, ArrayRef<DeviceTensors> operands, Values &results) {
  auto call = cast<plan::LibraryOp>(op);
  DeviceTensors result;
  for (size_t device = 0; device < operands[0].size(); ++device) {
    SmallVector<const Tensor *> inputs;
    for (const DeviceTensors &operand : operands)
      inputs.push_back(&operand[device]);
    if (call.isSort())
      result.push_back(sortLines(call, *inputs[0]));
    else if (call.getFunction().starts_with("scatter_"))
      result.push_back(scatter(call, *inputs[0], *inputs[1], *inputs[2]));
    else if (call.getFunction() == "update_slice")
      result.push_back(updateSlice(call, inputs));
    else
      return op->emitError() << "unknown library function '" << call.getFunction() << "'";
  }
  results.push_back(std::move(result));
  return success();
}

} // namespace spmdc
