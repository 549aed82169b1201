//===- SlidingWindow.cpp - windows of convolution and pooling -------------===//

#include "frontend/builtins/SlidingWindow.h"

#include "runtime/support/ArraySize.h"

#include "llvm/ADT/STLExtras.h"

namespace spmdc {

using spmd::addSaturated;
using spmd::multiplySaturated;

int64_t SlidingWindow::extent() const { return addSaturated(multiplySaturated(size - 1, dilation), 1); }

std::vector<int64_t> perDimension(const Args &args, size_t i, size_t rank, int64_t least) {
  constexpr int64_t most = int64_t(1) << 40;
  std::vector<int64_t> values = args.has(i) ? args.integers(i) : std::vector<int64_t>{1};
  if (values.size() == 1)
    values.resize(rank, values[0]);
  bool isGood = values.size() == rank && llvm::all_of(values, [&](int64_t v) { return v >= least && v <= most; });
  if (!isGood)
    args.fail(i, (rank == 1 ? std::string("a positive integer")
                            : "a positive integer or " + std::to_string(rank) + " of them"));
  return values;
}

/// `"SAME"`, `"VALID"`, in any case, or a list of (low, high).
void setPadding(const Args &args, size_t i, std::string_view otherwise, llvm::ArrayRef<int64_t> sizes,
                llvm::MutableArrayRef<SlidingWindow> windows) {
  std::string_view name;
  if (!args.has(i))
    name = otherwise;
  else if (args[i].kind == ValueKind::String)
    name = args[i].string;
  const std::string expected = "\"SAME\", \"VALID\" or a list of (low, high) for each position";
  if (name.empty()) {
    if (!args[i].isSequence() || args[i].elements.size() != windows.size())
      args.fail(i, expected);
    for (auto [window, pair] : llvm::zip(windows, args[i].elements)) {
      bool isPair = pair.isSequence() && pair.elements.size() == 2 && pair.elements[0].isInt() &&
                    pair.elements[1].isInt() && pair.elements[0].constant.i >= 0 && pair.elements[1].constant.i >= 0;
      if (!isPair)
        args.fail(i, expected);
      window.low = pair.elements[0].constant.i;
      window.high = pair.elements[1].constant.i;
    }
  } else if (llvm::StringRef(name).equals_insensitive("SAME")) {
    // As many positions as strides fit; the extra element of odd padding goes to the end.
    for (auto [window, size] : llvm::zip(windows, sizes)) {
      int64_t count = (size + window.stride - 1) / window.stride;
      int64_t missing = std::max<int64_t>(addSaturated((count - 1) * window.stride, window.extent()) - size, 0);
      window.low = missing / 2;
      window.high = missing - window.low;
    }
  } else if (!llvm::StringRef(name).equals_insensitive("VALID")) {
    args.fail(i, expected, "\"" + std::string(name) + "\"");
  }
  for (auto [window, size] : llvm::zip(windows, sizes)) {
    int64_t room = addSaturated(size, addSaturated(window.low, window.high)) - window.extent();
    window.count = room < 0 ? 0 : room / window.stride + 1;
  }
}

mlir::Value padded(Emitter &e, mlir::Value x, llvm::ArrayRef<SlidingWindow> windows, Scalar filler, int64_t dim) {
  ArrayType type = plainTypeOf(x);
  llvm::SmallVector<int64_t> low(type.getRank(), 0), high(type.getRank(), 0), interior(type.getRank(), 0);
  llvm::SmallVector<int64_t> shape(type.getShape());
  for (auto [d, window] : llvm::enumerate(windows)) {
    low[dim + d] = window.low;
    high[dim + d] = window.high;
    shape[dim + d] = addSaturated(shape[dim + d], addSaturated(window.low, window.high));
  }
  if (type.getShape().equals(shape))
    return x;
  mlir::Value value = e.splat(type.withShape({}), filler);
  return e.create<PadOp>(type.withShape(shape), x, value, low, high, interior);
}

mlir::Value tapOf(Emitter &e, mlir::Value x, int64_t dim, const SlidingWindow &window, int64_t tap) {
  if (window.count == 0) // The position may be after the end.
    return e.sliceDim(x, dim, 0, 0);
  int64_t start = tap * window.dilation;
  return e.sliceDim(x, dim, start, start + (window.count - 1) * window.stride + 1, window.stride);
}

} // namespace spmdc
