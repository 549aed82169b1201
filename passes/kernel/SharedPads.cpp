//===- SharedPads.cpp - one padded array for many slices ------------------===//

#include "passes/kernel/SharedPads.h"

#include "passes/kernel/OwnShard.h"

#include "mlir/IR/Matchers.h"

#include <vector>

using namespace mlir;

namespace spmdc {
namespace {

/// Elements of an array that is extended by padding on all sides without end, and dilated by `interior`: from `starts`
/// on, `strides` apart.
struct Window {
  Value array, padding; ///< The padding is null if the window has none.
  SmallVector<int64_t> interior, starts, strides, shape;
};

Window windowOf(Value value) {
  Window window{value, Value(), {}, {}, {}, SmallVector<int64_t>(shapeOf(value))};
  size_t rank = window.shape.size();
  window.interior.assign(rank, 0);
  window.starts.assign(rank, 0);
  window.strides.assign(rank, 1);
  if (auto slice = value.getDefiningOp<SliceOp>()) {
    window.array = slice.getOperand();
    window.starts.assign(slice.getStarts().begin(), slice.getStarts().end());
    window.strides.assign(slice.getStrides().begin(), slice.getStrides().end());
  }
  if (auto pad = window.array.getDefiningOp<PadOp>()) {
    window.array = pad.getOperand();
    window.padding = pad.getValue();
    window.interior.assign(pad.getInterior().begin(), pad.getInterior().end());
    for (size_t dim = 0; dim < rank; ++dim)
      window.starts[dim] -= pad.getLow()[dim];
  }
  return window;
}

/// Windows of an array and of the exchange that adds its neighbours' elements, such as a halo, become windows of the
/// exchange's result.
void takeFromExchange(MutableArrayRef<Window> windows) {
  for (const Window &other : windows) {
    auto exchange = other.array.getDefiningOp<ExchangeOp>();
    std::optional<SmallVector<int64_t>> own = exchange ? findOwnShard(exchange) : std::nullopt;
    if (!own)
      continue;
    ArrayRef<int64_t> shape = shapeOf(exchange.getOperand()), wide = shapeOf(exchange.getResult());
    auto isInside = [&](const Window &window) {
      for (size_t dim = 0; dim < shape.size(); ++dim) {
        int64_t last = window.starts[dim] + (window.shape[dim] - 1) * window.strides[dim];
        bool isWithin = window.starts[dim] >= 0 && last < shape[dim];
        if (window.interior[dim] != 0 || (wide[dim] != shape[dim] && !isWithin))
          return false;
      }
      return true;
    };
    for (Window &window : windows)
      if (window.array == exchange.getOperand() && isInside(window)) {
        window.array = exchange.getResult();
        for (size_t dim = 0; dim < shape.size(); ++dim)
          window.starts[dim] += (*own)[dim];
      }
    return;
  }
}

bool areEqual(Value x, Value y) {
  DenseElementsAttr left, right;
  return x == y || (matchPattern(x, m_Constant(&left)) && matchPattern(y, m_Constant(&right)) && left == right);
}

/// The pad of these properties in the block of `op`, in front of it: one that is there, or a new one.
Value padOnce(ConcatenateOp op, const Window &window, ArrayRef<int64_t> low, ArrayRef<int64_t> high) {
  for (Operation *user : window.array.getUsers())
    if (auto pad = dyn_cast<PadOp>(user); pad && pad->getBlock() == op->getBlock() && pad->isBeforeInBlock(op) &&
                                          pad.getLow() == low && pad.getHigh() == high &&
                                          pad.getInterior() == ArrayRef<int64_t>(window.interior) &&
                                          areEqual(pad.getValue(), window.padding))
      return pad;
  SmallVector<int64_t> shape(shapeOf(window.array));
  for (size_t dim = 0; dim < shape.size(); ++dim)
    shape[dim] = low[dim] + high[dim] + shape[dim] + std::max<int64_t>(shape[dim] - 1, 0) * window.interior[dim];
  OpBuilder b(op);
  return b.create<PadOp>(op.getLoc(), cast<ArrayType>(window.array.getType()).withShape(shape), window.array,
                         window.padding, low, high, window.interior);
}

} // namespace

Value sharePad(ConcatenateOp op) {
  std::vector<Window> windows;
  Window *padded = nullptr;
  for (Value operand : op.getOperands())
    windows.push_back(windowOf(operand));
  takeFromExchange(windows);
  for (Window &window : windows)
    if (window.padding && !padded)
      padded = &window;
  if (!padded || llvm::is_contained(shapeOf(padded->array), 0))
    return Value();
  ArrayRef<int64_t> shape = shapeOf(padded->array);
  SmallVector<int64_t> low(shape.size(), 0), high(shape.size(), 0);
  for (const Window &window : windows) {
    // An array that is not padded is dilated only if no window is.
    if (window.array != padded->array || window.interior != padded->interior || llvm::is_contained(window.shape, 0) ||
        (window.padding && !areEqual(window.padding, padded->padding)))
      return Value();
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      int64_t last = window.starts[dim] + (window.shape[dim] - 1) * window.strides[dim];
      int64_t end = (shape[dim] - 1) * (window.interior[dim] + 1);
      low[dim] = std::max(low[dim], -window.starts[dim]);
      high[dim] = std::max(high[dim], last - end);
    }
  }
  Value wide = padOnce(op, *padded, low, high);
  OpBuilder b(op);
  SmallVector<Value> slices;
  for (const Window &window : windows) {
    SmallVector<int64_t> starts, limits;
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      starts.push_back(window.starts[dim] + low[dim]);
      limits.push_back(starts.back() + (window.shape[dim] - 1) * window.strides[dim] + 1);
    }
    slices.push_back(b.create<SliceOp>(op.getLoc(), wide, starts, limits, window.strides));
  }
  return b.create<ConcatenateOp>(op.getLoc(), op.getType(), slices, op.getDim());
}

} // namespace spmdc
