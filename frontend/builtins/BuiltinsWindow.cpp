//===- BuiltinsWindow.cpp - convolution and pooling -----------------------===//
//
// Both read a window around each position. The elements at one place of all windows are a strided slice, so a
// convolution is a concatenation of slices and one product, and pooling an element-wise reduction of slices;
// partitioning and differentiation need no cases of their own. Arrays are [batch, positions..., channels], kernels
// [window..., channels in, channels out]; arrays in other layouts (dimension_numbers) are transposed first.
//
//===----------------------------------------------------------------------===//

#include "frontend/builtins/Contraction.h"
#include "frontend/builtins/Pooling.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <array>
#include <limits>

namespace spmdc {

using spmd::DType;

namespace {

Scalar zeroOf(DType dtype) { return spmd::isFloat(dtype) ? Scalar::ofFloat(0) : Scalar::ofInt(0); }

/// Concatenates the channels of all taps; the taps of the first dimension are major.
mlir::Value patches(Emitter &e, mlir::Value x, llvm::ArrayRef<SlidingWindow> windows, int64_t dim) {
  if (windows.empty())
    return x;
  llvm::SmallVector<mlir::Value> parts;
  for (int64_t tap = 0; tap < windows.front().size; ++tap)
    parts.push_back(patches(e, tapOf(e, x, dim, windows.front(), tap), windows.drop_front(), dim + 1));
  return e.concatenate(parts, plainTypeOf(x).getRank() - 1);
}

/// Dimensions of a layout by letters: `NHWC` has the batch first and the channels last.
using Layout = std::string;

/// The names of the positions' dimensions: `W`, `HW`.
template <size_t positions> constexpr std::string_view windowLetters = positions == 1 ? "W" : "HW";

/// The letters of `from` in the order of `to`, as a permutation of dimensions.
llvm::SmallVector<int64_t> permutationOf(const Layout &from, const Layout &to) {
  llvm::SmallVector<int64_t> perm;
  for (char letter : to)
    perm.push_back(static_cast<int64_t>(from.find(letter)));
  return perm;
}

std::string joined(llvm::ArrayRef<int64_t> numbers, llvm::StringRef between) {
  std::string text;
  for (int64_t number : numbers)
    text += (text.empty() ? "" : between.str()) + std::to_string(number);
  return text;
}

/// The layouts of array, kernel and result: jax.lax's dimension_numbers.
struct ConvLayouts {
  Layout array, kernel, result;
};

template <size_t positions> ConvLayouts standardLayouts() {
  std::string letters(windowLetters<positions>);
  return {"N" + letters + "C", letters + "IO", "N" + letters + "C"};
}

template <size_t positions> ConvLayouts layoutsOf(const Args &args) {
  ConvLayouts standard = standardLayouts<positions>();
  if (!args.has(5))
    return standard;
  std::string expected =
      "three layouts, as in (\"" + standard.array + "\", \"" + standard.kernel + "\", \"" + standard.result + "\")";
  if (!args[5].isSequence() || args[5].elements.size() != 3)
    args.fail(5, expected);
  std::vector<Layout> given;
  for (auto [element, letters] :
       llvm::zip(args[5].elements, std::array{standard.array, standard.kernel, standard.result})) {
    if (element.kind != ValueKind::String)
      args.fail(5, expected);
    given.push_back(element.string);
    if (!std::is_permutation(letters.begin(), letters.end(), element.string.begin(), element.string.end()))
      args.e.fail(element.range, "\"" + element.string + "\" is not an order of the dimensions " + letters);
  }
  return {given[0], given[1], given[2]};
}

/// With 3 channels, a kernel [16, 3, 3, 3] is a window of 16 x 3 in HWIO, and 16 filters of 3 x 3 in PyTorch's layout:
/// both are valid, and the user nearly always means the second. Windows of up to twice as many rows as columns are
/// common enough to be intended.
bool isAmbiguous(llvm::ArrayRef<int64_t> kernel, int64_t channels) {
  bool isLongWindow = kernel[0] > 2 * kernel[1], isOthersSquare = kernel[2] == kernel[3] && kernel[2] > 1;
  return kernel[1] == channels && isLongWindow && isOthersSquare;
}

/// A hint for dimension_numbers, if the shapes show which layouts the operands have.
template <size_t positions> std::string layoutHint(llvm::ArrayRef<int64_t> array, llvm::ArrayRef<int64_t> kernel) {
  std::string letters(windowLetters<positions>), channelsFirst = "NC" + letters, filtersFirst = "OI" + letters;
  ConvLayouts standard = standardLayouts<positions>();
  constexpr size_t last = positions + 1;
  bool isArrayOther = array[1] == kernel[1] || array[1] == kernel[positions];
  bool isKernelOther = array[1] == kernel[1] || array[last] == kernel[1];
  if (!isArrayOther && !isKernelOther)
    return "";
  auto quoted = [](const std::string &text) { return "\"" + text + "\""; };
  return "; name other layouts: dimension_numbers=(" + quoted(isArrayOther ? channelsFirst : standard.array) + ", " +
         quoted(isKernelOther ? filtersFirst : standard.kernel) + ", " +
         quoted(isArrayOther ? channelsFirst : standard.result) + ")";
}

template <size_t positions>
void checkChannels(const Args &args, llvm::ArrayRef<int64_t> array, llvm::ArrayRef<int64_t> kernel) {
  const Value &x = args.array(0), &k = args.array(1);
  ConvLayouts standard = standardLayouts<positions>();
  std::string what = "'" + std::string(args.function) + "' of " + x.describe() + " and " + k.describe() + ": ";
  std::string layouts = args.has(5) ? "" : " (arrays are " + standard.array + ", kernels " + standard.kernel + ")";
  int64_t channels = array.back(), taken = kernel[positions];
  if (taken != channels)
    args.e.failAbout(args.range,
                     what + "the array has " + std::to_string(channels) + " channels, the kernel takes " +
                         std::to_string(taken) + layouts + (args.has(5) ? "" : layoutHint<positions>(array, kernel)),
                     {x, k});
  if constexpr (positions == 2)
    if (!args.has(5) && isAmbiguous(kernel, channels))
      args.e.failAbout(
          args.range,
          what + "a kernel in HWIO has a window of " + joined(kernel.take_front(2), " x ") + " here, in OIHW one of " +
              joined(kernel.take_back(2), " x ") +
              "; say which: dimension_numbers=(\"NHWC\", \"HWIO\", \"NHWC\") or (\"NHWC\", \"OIHW\", \"NHWC\")",
          {x, k});
}

/// One contraction over taps and channels together, with the accumulation of a matrix product.
template <size_t positions> Value convolution(Args &args) {
  Emitter &e = args.e;
  const Value &x = args.array(0), &kernel = args.array(1);
  constexpr int64_t rank = positions + 2;
  if (x.rank() != rank)
    args.fail(0, std::string("an array [batch, ") + (positions == 1 ? "position" : "row, column") + ", channel]");
  if (kernel.rank() != rank)
    args.fail(1, std::string("a kernel [") + (positions == 1 ? "window" : "rows, columns") +
                     ", channels in, channels out]");
  ConvLayouts layouts = layoutsOf<positions>(args), standard = standardLayouts<positions>();
  DTypeClass type = e.commonClass({x, kernel}, "'" + std::string(args.function) + "'");
  mlir::Value array = e.transpose(e.materialize(x, type.dtype), permutationOf(layouts.array, standard.array));
  mlir::Value filters = e.transpose(e.materialize(kernel, type.dtype), permutationOf(layouts.kernel, standard.kernel));
  llvm::SmallVector<int64_t> sizes(plainTypeOf(array).getShape()), shape(plainTypeOf(filters).getShape());
  checkChannels<positions>(args, sizes, shape);
  int64_t channels = sizes.back(), outputs = shape.back();
  std::vector<int64_t> strides = perDimension(args, 2, positions, 1), dilations = perDimension(args, 4, positions, 1);
  llvm::SmallVector<SlidingWindow> windows(positions);
  int64_t taps = 1;
  for (size_t d = 0; d < positions; ++d) {
    windows[d].size = shape[d];
    windows[d].stride = strides[d];
    windows[d].dilation = dilations[d];
    taps *= windows[d].size;
  }
  if (taps == 0)
    args.fail(1, "a kernel with at least one element in each window");
  setPadding(args, 3, "SAME", llvm::ArrayRef(sizes).drop_front().drop_back(), windows);
  mlir::Value wide = patches(e, padded(e, array, windows, zeroOf(type.dtype)), windows, /*dim=*/1);
  mlir::Value matrix = e.reshape(filters, {taps * channels, outputs});
  llvm::SmallVector<int64_t> labels, output;
  for (int64_t d = 0; d < rank; ++d)
    labels.push_back(d);
  output.append(labels.begin(), labels.end() - 1);
  output.push_back(rank);
  mlir::Value result = emitContraction(e, {{wide, labels}, {matrix, {rank - 1, rank}}}, output);
  return args.result(e.transpose(result, permutationOf(standard.result, layouts.result)), type.isWeak);
}

/// The least value of a dtype.
Scalar lowest(DType dtype) {
  if (spmd::isFloat(dtype))
    return Scalar::ofFloat(-std::numeric_limits<double>::infinity());
  return Scalar::ofInt(spmd::isInteger(dtype) ? integerRange(dtype).low : 0);
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

/// The average includes padding, as in flax.linen.avg_pool. Half precision is added up in f32.
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
    {"conv1d", "x kernel strides=1 padding=SAME dilation=1 dimension_numbers=None", convolution<1>},
    {"conv2d", "x kernel strides=1 padding=SAME dilation=1 dimension_numbers=None", convolution<2>},
    {"max_pool", "x window strides=1 padding=VALID", maxPool},
    {"avg_pool", "x window strides=1 padding=VALID", avgPool},
};

} // namespace

llvm::ArrayRef<Builtin> windowBuiltins() { return table; }

} // namespace spmdc
