//===- GemmOperand.cpp - lines of a product's operand ---------------------===//

#include "runtime/device/cpu/GemmOperand.h"

#include <algorithm>

namespace spmd {
namespace {

/// Adjacent digits as one, where positions stay the same.
ViewDigits merged(const ViewDigits &digits) {
  ViewDigits result;
  for (const ViewDigit &digit : digits) {
    if (digit.size == 1)
      continue;
    if (!result.empty() && result.back().stride == digit.size * digit.stride)
      result.back() = {result.back().size * digit.size, digit.stride};
    else
      result.push_back(digit);
  }
  return result;
}

/// The view of an array itself, stored as [batch, rows, columns] or [batch, columns, rows].
OperandView wholeArray(int64_t batch, int64_t rows, int64_t columns, bool isTransposed) {
  return {0, {{batch, rows * columns}}, {{rows, isTransposed ? 1 : columns}}, {{columns, isTransposed ? rows : 1}}};
}

} // namespace

GemmOperand::GemmOperand(const OperandView &view, bool isLhs)
    : offset(view.offset), batch(merged(view.batch)), lines(merged(isLhs ? view.rows : view.columns)),
      elements(merged(isLhs ? view.columns : view.rows)) {}

GemmOperand GemmOperand::ofLhs(const MatmulShape &shape) {
  return {shape.lhsView.isEmpty() ? wholeArray(shape.batch, shape.m, shape.k, shape.transposeLhs) : shape.lhsView,
          /*isLhs=*/true};
}

GemmOperand GemmOperand::ofRhs(const MatmulShape &shape) {
  return {shape.rhsView.isEmpty() ? wholeArray(shape.batch, shape.k, shape.n, shape.transposeRhs) : shape.rhsView,
          /*isLhs=*/false};
}

std::vector<LineRun> GemmOperand::runsOf(int64_t begin, int64_t count) const {
  int64_t length = elements.empty() ? 1 : elements.back().size, stride = getElementStride();
  std::vector<LineRun> runs;
  while (count > 0) {
    int64_t size = std::min(count, length - begin % length);
    runs.push_back({positionOf(elements, begin), stride, size});
    begin += size;
    count -= size;
  }
  return runs;
}

} // namespace spmd
