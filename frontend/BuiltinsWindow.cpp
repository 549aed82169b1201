//===- BuiltinsWindow.cpp - convolution and pooling -----------------------===//
//
// Both look at a window around each position. The elements at one place of all windows are a strided slice, so a
// convolution is a concatenation of slices and one product, and pooling an element-wise reduction of slices: everything
// that partitions and differentiates those does so here. Arrays are [batch, positions..., channels], kernels
// [window..., channels in, channels out].
//
//===----------------------------------------------------------------------===//

#include "frontend/Contraction.h"
#include "frontend/Pooling.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>

namespace spmdc {

using spmd::DType;

namespace {

Scalar zeroOf(DType dtype) { return spmd::isFloat(dtype) ? Scalar::ofFloat(0) : Scalar::ofInt(0); }

/// Channels of all taps side by side: the first dimension's taps are the majors.
mlir::Value patches(Emitter &e, mlir::Value x, llvm::ArrayRef<SlidingWindow> windows, int64_t dim) {
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
  llvm::SmallVector<SlidingWindow> windows(positions);
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

llvm::SmallVector<SlidingWindow> poolWindows(const Args &args) {
  const Value &x = args.array(0);
  if (x.rank() < 3)
    args.fail(0, "an array [batch, positions..., channel]");
  size_t positions = x.rank() - 2;
  std::vector<int64_t> sizes = perDimension(args, 1, positions, 1), strides = perDimension(args, 2, positions, 1);
  llvm::SmallVector<SlidingWindow> windows(positions);
  for (size_t d = 0; d < positions; ++d) {
    windows[d].size = sizes[d];
    windows[d].stride = strides[d];
  }
  setPadding(args, 3, "VALID", x.shape().drop_front().drop_back(), windows);
  return windows;
}

Value maxPool(Args &args) {
  llvm::SmallVector<SlidingWindow> windows = poolWindows(args);
  DTypeClass type = args.e.commonClass({args[0]}, "'max_pool'");
  if (type.dtype == DType::Bool)
    args.fail(0, "an array of numbers");
  mlir::Value x = args.e.materialize(args[0]);
  return args.result(Pooling(args.e, ReductionKind::max, lowest(type.dtype)).reduce(x, windows), type.isWeak);
}

/// Padding counts, as it does in flax.linen.avg_pool. Half precision adds up in f32.
Value avgPool(Args &args) {
  Emitter &e = args.e;
  llvm::SmallVector<SlidingWindow> windows = poolWindows(args);
  DTypeClass type = toInexact(e.commonClass({args[0]}, "'avg_pool'"));
  DType wide = type.dtype == DType::F64 ? DType::F64 : DType::F32;
  mlir::Value sum = Pooling(e, ReductionKind::sum, Scalar::ofFloat(0)).reduce(e.materialize(args[0], wide), windows);
  double count = 1;
  for (const SlidingWindow &window : windows)
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
