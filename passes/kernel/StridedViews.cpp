//===- StridedViews.cpp - arrays that need not be stored ------------------===//

#include "passes/kernel/StridedViews.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace spmdc {

using spmd::ViewDigit;
using spmd::ViewDigits;

namespace {

/// Appends a digit, as part of the last one where their positions continue.
void append(ViewDigits &digits, ViewDigit digit) {
  if (digit.size == 1)
    return;
  if (!digits.empty() && digits.back().stride == digit.size * digit.stride)
    digits.back() = {digits.back().size * digit.size, digit.stride};
  else
    digits.push_back(digit);
}

/// The view of an array that is stored.
StridedView stored(Value array) {
  StridedView view{array, 0, {}};
  int64_t stride = 1;
  for (int64_t size : llvm::reverse(shapeOf(array))) {
    view.dims.push_back({});
    append(view.dims.back(), {size, stride});
    stride *= size;
  }
  std::reverse(view.dims.begin(), view.dims.end());
  return view;
}

std::optional<StridedView> ofSlice(SliceOp op, StridedView view) {
  for (auto [d, digits] : llvm::enumerate(view.dims)) {
    int64_t start = op.getStarts()[d], step = op.getStrides()[d], size = op.getType().getDimSize(d);
    if (size == shapeOf(op.getOperand())[d])
      continue;
    if (digits.size() != 1)
      return std::nullopt;
    view.offset += start * digits[0].stride;
    ViewDigit digit{size, step * digits[0].stride};
    digits.clear();
    append(digits, digit);
  }
  return view;
}

StridedView ofBroadcast(BroadcastInDimOp op, const StridedView &view) {
  StridedView result{view.array, view.offset, {}};
  for (int64_t size : op.getType().getShape())
    result.dims.push_back(size == 1 ? ViewDigits() : ViewDigits{{size, 0}});
  for (auto [d, dim] : llvm::enumerate(op.getDims()))
    if (shapeOf(op.getOperand())[d] != 1)
      result.dims[dim] = view.dims[d];
  return result;
}

/// Deals the digits of all dimensions to the dimensions of another shape, which has as many elements.
std::optional<StridedView> ofReshape(ReshapeOp op, const StridedView &view) {
  ViewDigits digits;
  for (const ViewDigits &dim : view.dims)
    for (const ViewDigit &digit : dim)
      append(digits, digit);
  std::reverse(digits.begin(), digits.end()); // The next one is the last.
  StridedView result{view.array, view.offset, {}};
  for (int64_t size : op.getType().getShape()) {
    ViewDigits &dim = result.dims.emplace_back();
    while (size > 1) {
      ViewDigit &next = digits.back();
      if (size % next.size == 0) {
        append(dim, next);
        size /= next.size;
        digits.pop_back();
      } else if (next.size % size == 0) {
        next.size /= size;
        append(dim, {size, next.size * next.stride});
        size = 1;
      } else {
        return std::nullopt;
      }
    }
  }
  return result;
}

/// Offsets as positions of digits, added to the first one; nullopt if they are none.
std::optional<ViewDigits> digitsOf(ArrayRef<int64_t> offsets) {
  if (offsets.size() == 1)
    return ViewDigits();
  int64_t step = offsets[1] - offsets[0];
  size_t length = 2; // Of the first run of equal steps.
  while (length < offsets.size() && offsets[length] - offsets[length - 1] == step)
    ++length;
  if (step < 0 || offsets.size() % length != 0)
    return std::nullopt;
  SmallVector<int64_t> firsts;
  for (size_t begin = 0; begin < offsets.size(); begin += length) {
    firsts.push_back(offsets[begin]);
    for (size_t i = 0; i < length; ++i)
      if (offsets[begin + i] - offsets[begin] != static_cast<int64_t>(i) * step)
        return std::nullopt;
  }
  std::optional<ViewDigits> digits = digitsOf(firsts);
  if (digits)
    append(*digits, {static_cast<int64_t>(length), step});
  return digits;
}

std::optional<StridedView> ofConcatenate(ConcatenateOp op) {
  std::optional<StridedView> first;
  SmallVector<int64_t> offsets;
  for (Value operand : op.getOperands()) {
    std::optional<StridedView> view = StridedView::of(operand);
    if (!view)
      return std::nullopt;
    offsets.push_back(view->offset);
    if (!first)
      first = view;
    view->offset = first->offset;
    if (*view != *first)
      return std::nullopt;
  }
  std::optional<ViewDigits> digits = digitsOf(offsets);
  if (!digits)
    return std::nullopt;
  for (const ViewDigit &digit : first->dims[op.getDim()])
    append(*digits, digit);
  first->dims[op.getDim()] = *digits;
  return first;
}

} // namespace

bool StridedView::isWholeArray() const {
  ViewDigits digits;
  for (const ViewDigits &dim : dims)
    for (const ViewDigit &digit : dim)
      append(digits, digit);
  int64_t count = cast<ArrayType>(array.getType()).getNumElements();
  return offset == 0 && (count == 1 || digits == ViewDigits{{count, 1}});
}

std::optional<StridedView> StridedView::of(Value value) {
  if (llvm::is_contained(shapeOf(value), 0))
    return std::nullopt;
  Operation *op = value.getDefiningOp();
  if (!op)
    return stored(value);
  auto operand = [&] { return *StridedView::of(op->getOperand(0)); };
  std::optional<StridedView> view =
      llvm::TypeSwitch<Operation *, std::optional<StridedView>>(op)
          .Case([&](TransposeOp transpose) {
            StridedView from = operand(), to{from.array, from.offset, {}};
            for (int64_t dim : transpose.getPerm())
              to.dims.push_back(from.dims[dim]);
            return to;
          })
          .Case([&](SliceOp slice) { return ofSlice(slice, operand()); })
          .Case([&](BroadcastInDimOp broadcast) { return ofBroadcast(broadcast, operand()); })
          .Case([&](ReshapeOp reshape) { return ofReshape(reshape, operand()); })
          .Case([&](ConcatenateOp concatenate) { return ofConcatenate(concatenate); })
          .Default([](Operation *) { return std::nullopt; });
  return view ? view : stored(value);
}

} // namespace spmdc
