//===- BuiltinsWindow.cpp - convolution and pooling -----------------------===//
//
// Both look at a window around each position. The elements at one place of all windows are a strided slice, so a
// convolution is a concatenation of slices and one product, and pooling an element-wise reduction of slices: everything
// that partitions and differentiates those does so here. Arrays are [batch, positions..., channels], kernels
// [window..., channels in, channels out].
//
//===----------------------------------------------------------------------===//

#include "frontend/Builtins.h"
#include "frontend/Contraction.h"
#include "runtime/support/ArraySize.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>

namespace spmdc {

using spmd::addSaturated;
using spmd::DType;
using spmd::multiplySaturated;

namespace {

/// The windows over one dimension.
struct Window {
  int64_t size = 1, stride = 1, dilation = 1;
  int64_t low = 0, high = 0; ///< Padding.
  int64_t count = 0;         ///< Positions of the window.

  /// From the first to behind the last element.
  int64_t extent() const { return addSaturated(multiplySaturated(size - 1, dilation), 1); }
};

/// One number for each of `rank` dimensions: as many as are given, or one for all; `least` or more.
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
                llvm::MutableArrayRef<Window> windows) {
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
    // As many positions as strides fit; what is odd goes to the end.
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

Scalar zeroOf(DType dtype) { return spmd::isFloat(dtype) ? Scalar::ofFloat(0) : Scalar::ofInt(0); }

/// x with its positions padded, which begin at dimension `dim`.
mlir::Value padded(Emitter &e, mlir::Value x, llvm::ArrayRef<Window> windows, Scalar filler, int64_t dim = 1) {
  ArrayType type = Emitter::typeOf(x);
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

/// The element at place `tap` of each window over dimension `dim`.
mlir::Value tapOf(Emitter &e, mlir::Value x, int64_t dim, const Window &window, int64_t tap) {
  int64_t start = tap * window.dilation;
  int64_t limit = window.count == 0 ? start : start + (window.count - 1) * window.stride + 1;
  return e.sliceDim(x, dim, start, limit, window.stride);
}

/// Channels of all taps side by side: the first dimension's taps are the majors.
mlir::Value patches(Emitter &e, mlir::Value x, llvm::ArrayRef<Window> windows, int64_t dim) {
  if (windows.empty())
    return x;
  llvm::SmallVector<mlir::Value> parts;
  for (int64_t tap = 0; tap < windows.front().size; ++tap)
    parts.push_back(patches(e, tapOf(e, x, dim, windows.front(), tap), windows.drop_front(), dim + 1));
  return e.concatenate(parts, Emitter::typeOf(x).getRank() - 1);
}

/// One contraction over taps and channels together: it accumulates as a matrix product does.
template <size_t positions> Value convolution(Args &args) {
  Emitter &e = args.e;
  const Value &x = args.array(0), &kernel = args.array(1);
  constexpr int64_t rank = positions + 2;
  if (x.rank() != rank)
    args.fail(0, std::string("an array [batch, ") + (positions == 1 ? "position" : "row, column") + ", channel]");
  if (kernel.rank() != rank)
    args.fail(1, std::string("a kernel [") + (positions == 1 ? "window" : "rows, columns") +
                     ", channels in, channels out]");
  int64_t channels = x.shape()[rank - 1], outputs = kernel.shape()[rank - 1];
  if (kernel.shape()[rank - 2] != channels)
    e.failAbout(args.range,
                "'" + std::string(args.function) + "' of " + x.describe() + " and " + kernel.describe() +
                    ": the array has " + std::to_string(channels) + " channels, the kernel takes " +
                    std::to_string(kernel.shape()[rank - 2]),
                {x, kernel});
  DTypeClass type = e.commonClass({x, kernel}, "'" + std::string(args.function) + "'");
  std::vector<int64_t> strides = perDimension(args, 2, positions, 1), dilations = perDimension(args, 4, positions, 1);
  llvm::SmallVector<Window> windows(positions);
  int64_t taps = 1;
  for (size_t d = 0; d < positions; ++d) {
    windows[d].size = kernel.shape()[d];
    windows[d].stride = strides[d];
    windows[d].dilation = dilations[d];
    taps *= windows[d].size;
  }
  if (taps == 0)
    args.fail(1, "a kernel with at least one element in each window");
  setPadding(args, 3, "SAME", x.shape().drop_front().drop_back(), windows);
  mlir::Value wide =
      patches(e, padded(e, e.materialize(x, type.dtype), windows, zeroOf(type.dtype)), windows, /*dim=*/1);
  mlir::Value matrix = e.reshape(e.materialize(kernel, type.dtype), {taps * channels, outputs});
  llvm::SmallVector<int64_t> labels, output;
  for (int64_t d = 0; d < rank; ++d)
    labels.push_back(d);
  output.append(labels.begin(), labels.end() - 1);
  output.push_back(rank);
  return args.result(emitContraction(e, {{wide, labels}, {matrix, {rank - 1, rank}}}, output), type.isWeak);
}

/// The least value of a dtype, which no element is below.
Scalar lowest(DType dtype) {
  if (spmd::isFloat(dtype))
    return Scalar::ofFloat(-std::numeric_limits<double>::infinity());
  switch (dtype) {
  case DType::I64:
    return Scalar::ofInt(INT64_MIN);
  case DType::I32:
    return Scalar::ofInt(INT32_MIN);
  case DType::I8:
    return Scalar::ofInt(INT8_MIN);
  default:
    return Scalar::ofInt(0);
  }
}

llvm::SmallVector<Window> poolWindows(const Args &args) {
  const Value &x = args.array(0);
  if (x.rank() < 3)
    args.fail(0, "an array [batch, positions..., channel]");
  size_t positions = x.rank() - 2;
  std::vector<int64_t> sizes = perDimension(args, 1, positions, 1), strides = perDimension(args, 2, positions, 1);
  llvm::SmallVector<Window> windows(positions);
  for (size_t d = 0; d < positions; ++d) {
    windows[d].size = sizes[d];
    windows[d].stride = strides[d];
  }
  setPadding(args, 3, "VALID", x.shape().drop_front().drop_back(), windows);
  return windows;
}

/// Reduces each window. Windows that lie side by side are dimensions of their own; others go one dimension after the
/// other, each padded where it is looked at, as an element-wise reduction of its taps.
mlir::Value pooled(Emitter &e, mlir::Value x, llvm::ArrayRef<Window> windows, ReductionKind kind, Scalar filler) {
  for (auto [d, window] : llvm::enumerate(windows)) {
    int64_t dim = d + 1;
    x = padded(e, x, window, filler, dim);
    if (window.stride == window.size && window.count > 0) {
      x = e.sliceDim(x, dim, 0, window.count * window.size);
      llvm::SmallVector<int64_t> shape(Emitter::typeOf(x).getShape());
      shape[dim] = window.size;
      shape.insert(shape.begin() + dim, window.count);
      x = e.reduce(e.reshape(x, shape), kind, {dim + 1});
      continue;
    }
    mlir::Value sum = tapOf(e, x, dim, window, 0);
    for (int64_t tap = 1; tap < window.size; ++tap) {
      mlir::Value next = tapOf(e, x, dim, window, tap);
      sum = kind == ReductionKind::max ? e.apply<MaximumOp>(sum, next) : e.apply<AddOp>(sum, next);
    }
    x = sum;
  }
  return x;
}

Value maxPool(Args &args) {
  llvm::SmallVector<Window> windows = poolWindows(args);
  DTypeClass type = args.e.commonClass({args[0]}, "'max_pool'");
  if (type.dtype == DType::Bool)
    args.fail(0, "an array of numbers");
  mlir::Value x = args.e.materialize(args[0]);
  return args.result(pooled(args.e, x, windows, ReductionKind::max, lowest(type.dtype)), type.isWeak);
}

/// Padding counts, as it does in flax.linen.avg_pool. Half precision adds up in f32.
Value avgPool(Args &args) {
  Emitter &e = args.e;
  llvm::SmallVector<Window> windows = poolWindows(args);
  DTypeClass type = toInexact(e.commonClass({args[0]}, "'avg_pool'"));
  DType wide = type.dtype == DType::F64 ? DType::F64 : DType::F32;
  mlir::Value sum = pooled(e, e.materialize(args[0], wide), windows, ReductionKind::sum, Scalar::ofFloat(0));
  double count = 1;
  for (const Window &window : windows)
    count *= static_cast<double>(window.size);
  mlir::Value mean = e.apply<DivideOp>(sum, e.splatLike(sum, count));
  return args.result(e.convert(mean, type.dtype), type.isWeak);
}

const Builtin table[] = {
    {"conv1d", "x kernel strides=1 padding=SAME dilation=1", convolution<1>},
    {"conv2d", "x kernel strides=1 padding=SAME dilation=1", convolution<2>},
    {"max_pool", "x window strides=1 padding=VALID", maxPool},
    {"avg_pool", "x window strides=1 padding=VALID", avgPool},
};

} // namespace

llvm::ArrayRef<Builtin> windowBuiltins() { return table; }

} // namespace spmdc
