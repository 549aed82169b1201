//===- TranslateConvolution.cpp - convolutions ----------------------------===//
//
// A convolution is a concatenation of strided slices and one product, as the language's conv2d is
// (frontend/builtins/BuiltinsWindow.cpp): partitioning has no case of its own for it, and a CPU's product reads the
// slices where they are (passes/kernel/StridedViews.h).
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/Translation.h"
#include "frontend/stablehlo/Window.h"

#include "ir/interfaces/Tensor.h"

using namespace mlir;

namespace spmdc::stablehlo {

using One = FailureOr<Value>;

namespace {

/// The permutation that brings dimensions with the letters of `from` into the order of `to`; nullopt if the letters
/// differ.
std::optional<SmallVector<int64_t>> permutation(StringRef from, StringRef to) {
  SmallVector<int64_t> perm;
  for (char letter : to) {
    size_t dim = from.find(letter);
    if (dim == StringRef::npos || from.count(letter) != 1)
      return std::nullopt;
    perm.push_back(static_cast<int64_t>(dim));
  }
  return from.size() == to.size() ? std::optional(perm) : std::nullopt;
}

/// The most slices of a convolution: a program grows with their number.
constexpr int64_t kMaxSlices = 4096;
/// Products of so few columns are sums of products of elements: no tile of a matrix product would be filled.
constexpr int64_t kMostThin = 4;
/// The most terms of such a sum, which are one kernel.
constexpr int64_t kMostTerms = 128;

/// The most phases of a convolution over a dilated array, each of which is a product: 4 x 4, or 2 x 2 x 2.
constexpr int64_t kMostPhases = 16;

/// The dimensions of one operand or of the result of a convolution.
struct ConvolutionDims {
  int64_t outer, inner; ///< Batch and features; of a kernel: features in and out.
  SmallVector<int64_t> positions;
};

/// The dimensions by the letters of a layout, as `b01f`.
ConvolutionDims dimsOf(StringRef layout, char outer, char inner) {
  ConvolutionDims dims{static_cast<int64_t>(layout.find(outer)), static_cast<int64_t>(layout.find(inner)), {}};
  for (size_t i = 0; i + 2 < layout.size(); ++i)
    dims.positions.push_back(static_cast<int64_t>(layout.find(static_cast<char>('0' + i))));
  return dims;
}

/// For each index of a list of `counts` sizes, the slice of `x` that begins that many steps in, and has `sizes`
/// elements along the positions.
SmallVector<Value> slicesOf(Translation &t, Value x, ArrayRef<int64_t> positions, ArrayRef<int64_t> counts,
                            ArrayRef<int64_t> steps, ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides) {
  SmallVector<Value> parts;
  SmallVector<int64_t> index(counts.size(), 0);
  do {
    SmallVector<int64_t> starts(shapeOf(x).size(), 0), limits(shapeOf(x)), dimStrides(shapeOf(x).size(), 1);
    for (auto [i, dim] : llvm::enumerate(positions)) {
      starts[dim] = index[i] * steps[i];
      dimStrides[dim] = strides[i];
      limits[dim] = starts[dim] + (sizes[i] - 1) * strides[i] + 1;
    }
    parts.push_back(t.slice(x, starts, limits, dimStrides));
  } while (nextIndex(index, counts));
  return parts;
}

/// The dimension `dim` as [groups, rest].
Value splitDim(Translation &t, Value x, int64_t dim, int64_t groups) {
  SmallVector<int64_t> shape(shapeOf(x));
  shape[dim] /= groups;
  shape.insert(shape.begin() + dim, groups);
  return t.reshape(x, shape);
}

/// Dimensions `dim` and `dim` + 1 as one.
Value mergeDims(Translation &t, Value x, int64_t dim) {
  SmallVector<int64_t> shape(shapeOf(x));
  shape[dim] *= shape[dim + 1];
  shape.erase(shape.begin() + dim + 1);
  return t.reshape(x, shape);
}

/// Moves dimension `from` to the place `to`.
Value moveDim(Translation &t, Value x, int64_t from, int64_t to) {
  SmallVector<int64_t> perm = llvm::to_vector(llvm::seq<int64_t>(0, shapeOf(x).size()));
  perm.erase(perm.begin() + from);
  perm.insert(perm.begin() + to, from);
  return t.transpose(x, perm);
}

/// A convolution whose operands fit: the array is padded, the kernel as it is multiplied.
struct Convolution {
  Value x, kernel;
  ConvolutionDims ofArray, ofKernel;
  SmallVector<int64_t> window, sizes;      ///< Of the kernel and of the result, along the positions.
  SmallVector<int64_t> strides, dilations; ///< Of the window.
  int64_t groups, batches, channels, outputs;
  Type element;
};

/// The type in which products of elements are added up: that of the result, but f32 for 16-bit floats.
Type sumTypeOf(Translation &t, const Convolution &c) {
  bool isHalf = llvm::isa<FloatType>(c.element) && c.element.getIntOrFloatBitWidth() < 32;
  return isHalf ? t.b.getF32Type() : c.element;
}

Value multiply(Translation &t, Value x, Value y) { return t.create<spmdc::MultiplyOp>(plainTypeOf(x), x, y); }

/// A convolution of each channel by itself, or of all to one: a sum of the taps' slices, each multiplied with its
/// weights. A product would have one column, and a reduction over patches would choose a slice for each element.
/// [b, positions..., f]
Value convolveChannels(Translation &t, const Convolution &c, Value kernel, ArrayRef<Value> slices) {
  Type type = sumTypeOf(t, c);
  int64_t each = c.groups == c.channels ? c.outputs / c.groups : 1, taps = elementCount(c.window);
  auto last = static_cast<int64_t>(c.window.size()) + 1;
  Value weights = t.reshape(t.convert(kernel, type), {taps, c.channels, each}), sum;
  for (auto [tap, slice] : llvm::enumerate(slices)) {
    SmallVector<int64_t> shape(shapeOf(slice));
    shape.push_back(each);
    Value wide = t.broadcast(t.convert(slice, type), shape, llvm::to_vector(llvm::seq<int64_t>(0, last + 1)));
    auto begin = static_cast<int64_t>(tap);
    Value weight = t.reshape(t.sliceDim(weights, 0, begin, begin + 1), {c.channels, each});
    Value term = multiply(t, wide, t.broadcast(weight, shape, {last, last + 1}));
    sum = sum ? t.combine(ReductionKind::sum, sum, term) : term;
  }
  if (c.groups < c.channels)
    sum = t.create<spmdc::ReduceOp>(sum, ReductionKind::sum, ArrayRef<int64_t>{last});
  return c.groups < c.channels ? t.convert(sum, c.element) : mergeDims(t, t.convert(sum, c.element), last);
}

/// The elements that each tap of the window meets, side by side, and one product: [b, positions..., f]. For kernels of
/// few taps.
Value convolveByTaps(Translation &t, const Convolution &c) {
  SmallVector<int64_t> perm{c.ofArray.outer}, kernelPerm(c.ofKernel.positions);
  llvm::append_range(perm, c.ofArray.positions);
  perm.push_back(c.ofArray.inner);
  llvm::append_range(kernelPerm, ArrayRef<int64_t>{c.ofKernel.outer, c.ofKernel.inner});
  Value x = t.transpose(c.x, perm), kernel = t.transpose(c.kernel, kernelPerm);
  auto last = static_cast<int64_t>(c.window.size()) + 1, taps = elementCount(c.window);
  SmallVector<int64_t> positions = llvm::to_vector(llvm::seq<int64_t>(1, last));
  SmallVector<Value> slices = slicesOf(t, x, positions, c.window, c.dilations, c.sizes, c.strides);
  bool isByChannel = c.groups == c.channels && c.groups > 1 && c.outputs / c.groups <= kMostThin;
  bool isToOne = c.channels > 1 && c.outputs == 1;
  if ((isByChannel || isToOne) && taps <= kMostTerms)
    return convolveChannels(t, c, kernel, slices);
  Value patches = t.concatenate(slices, last);
  if (c.groups == 1) {
    Value flat = t.reshape(kernel, {taps * c.channels, c.outputs});
    if (c.batches == 1)
      return product(t, patches, flat, c.element, {last}, {0}, {}, {});
    // [batches, b, positions..., o / batches], then the groups' outputs side by side.
    Value split = splitDim(t, patches, 0, c.batches);
    Value result = product(t, split, splitDim(t, flat, 1, c.batches), c.element, {last + 1}, {0}, {0}, {1});
    return mergeDims(t, moveDim(t, result, 0, last), last);
  }
  // Channels [g, i]: patches of each group, and products with a batch dimension g.
  int64_t each = c.channels / c.groups;
  patches = splitDim(t, patches, last, taps);         // [b, positions..., taps, g * i]
  patches = splitDim(t, patches, last + 1, c.groups); // [..., taps, g, i]
  patches = mergeDims(t, moveDim(t, patches, last + 1, last), last + 1);
  Value split = splitDim(t, t.reshape(kernel, {taps * each, c.outputs}), 1, c.groups); // [taps * i, g, o]
  Value result = product(t, patches, split, c.element, {last + 1}, {0}, {last}, {1});  // [g, b, positions..., o]
  return mergeDims(t, moveDim(t, result, 0, last), last);
}

/// The gradient of such a convolution by its kernel: for each place, the sum of products of a window and the kernel in
/// each channel. The channels are the array's batch; the features out are the same channels, or one, which every
/// channel meets. [b, positions..., f]
Value convolveChannelsByPlaces(Translation &t, const Convolution &c, ArrayRef<Value> windows) {
  Type type = sumTypeOf(t, c);
  // The kernel in the order of the array's dimensions; its features out are the array's batch.
  SmallVector<int64_t> perm(shapeOf(c.x).size()), others;
  perm[c.ofArray.outer] = c.ofKernel.inner;
  perm[c.ofArray.inner] = c.ofKernel.outer;
  for (auto [ofArray, ofKernel] : llvm::zip_equal(c.ofArray.positions, c.ofKernel.positions))
    perm[ofArray] = ofKernel;
  for (int64_t dim = 0; dim < static_cast<int64_t>(perm.size()); ++dim)
    if (dim != c.ofArray.outer)
      others.push_back(dim);
  Value kernel = t.convert(t.transpose(c.kernel, perm), type);
  int64_t channels = shapeOf(c.x)[c.ofArray.outer];
  if (c.outputs == 1) {
    SmallVector<int64_t> shape(shapeOf(kernel)), wide(shape);
    shape.erase(shape.begin() + c.ofArray.outer);
    wide[c.ofArray.outer] = channels;
    kernel = t.broadcast(t.reshape(kernel, shape), wide, others);
  }
  SmallVector<Value> sums;
  for (Value window : windows) {
    Value terms = multiply(t, t.convert(window, type), kernel);
    sums.push_back(t.reshape(t.create<spmdc::ReduceOp>(terms, ReductionKind::sum, others), {1, channels}));
  }
  Value all = t.concatenate(sums, 0); // [positions, channels]
  if (c.outputs == 1)
    all = t.transpose(all, {1, 0});
  SmallVector<int64_t> shape{channels / c.outputs};
  llvm::append_range(shape, c.sizes);
  shape.push_back(c.outputs);
  return t.convert(t.reshape(all, shape), c.element);
}

/// The window of each place, one behind the other, and one product: [b, positions..., f]. For results of few places:
/// the gradient by a kernel is a convolution with a kernel as large as the images.
Value convolveByPlaces(Translation &t, const Convolution &c) {
  SmallVector<Value> windows = slicesOf(t, c.x, c.ofArray.positions, c.sizes, c.strides, c.window, c.dilations);
  auto places = static_cast<int64_t>(windows.size());
  bool isByChannel = c.batches > 1 && c.batches == shapeOf(c.x)[c.ofArray.outer] && c.batches == c.outputs;
  if (isByChannel || (c.outputs == 1 && c.groups == 1 && places <= kMostTerms))
    return convolveChannelsByPlaces(t, c, windows);
  Value x = splitDim(t, t.concatenate(windows, 0), 0, places), kernel = c.kernel; // [places, layout...]
  // Groups are a dimension in front of the features, or of the batch, and of the features out.
  int64_t groups = std::max(c.groups, c.batches);
  int64_t batch = c.ofArray.outer + 1, features = c.ofArray.inner + 1, out = c.ofKernel.inner;
  int64_t grouped = c.batches > 1 ? batch : features;
  auto behind = [&](int64_t dim, int64_t split) { return groups > 1 && dim >= split ? dim + 1 : dim; };
  SmallVector<int64_t> contract, kernelContract;
  for (auto [ofArray, ofKernel] : llvm::zip_equal(c.ofArray.positions, c.ofKernel.positions)) {
    contract.push_back(behind(ofArray + 1, grouped));
    kernelContract.push_back(behind(ofKernel, out));
  }
  contract.push_back(behind(features, grouped));
  kernelContract.push_back(behind(c.ofKernel.outer, out));
  SmallVector<int64_t> lhsBatch, rhsBatch;
  if (groups > 1) {
    x = splitDim(t, x, grouped, groups);
    kernel = splitDim(t, kernel, out, groups);
    lhsBatch = {grouped};
    rhsBatch = {out};
  }
  Value result = product(t, x, kernel, c.element, contract, kernelContract, lhsBatch, rhsBatch); // [g, places, b, o]
  SmallVector<int64_t> split{groups};
  llvm::append_range(split, c.sizes);
  split.append({shapeOf(c.x)[c.ofArray.outer] / c.batches, c.outputs / groups});
  result = t.reshape(result, split); // [g, positions..., b, o]
  auto last = static_cast<int64_t>(c.sizes.size()) + 1;
  result = moveDim(t, moveDim(t, result, last, 0), 1, last); // [b, positions..., g, o]
  return mergeDims(t, result, last);
}

Value convolve(Translation &t, const Convolution &c) {
  return elementCount(c.window) <= elementCount(c.sizes) ? convolveByTaps(t, c) : convolveByPlaces(t, c);
}

/// Elements d m + r of the result, for each m below ceil(size / d) along each position: with zeros between its elements
/// an array x meets at these places the taps first, first + d, ... alone, of a window that begins at x[m + shift].
/// `c.x` is not padded. [b, positions..., f]
One convolvePhase(Translation &t, ConvolutionOp op, const Convolution &c, ArrayRef<int64_t> phase) {
  Convolution part = c;
  size_t rank = shapeOf(c.x).size();
  SmallVector<int64_t> low(rank, 0), high(rank, 0), interior(rank, 0), starts(rank, 0), limits(shapeOf(c.kernel)),
      strides(rank, 1);
  bool meetsElements = true;
  for (auto [i, dim] : llvm::enumerate(c.ofArray.positions)) {
    int64_t d = op.getLhsDilation()[i], padding = op.getPadding()[2 * i], size = shapeOf(c.x)[dim];
    low[dim] = padding;
    high[dim] = op.getPadding()[2 * i + 1];
    if (d == 1)
      continue;
    int64_t first = ((padding - phase[i]) % d + d) % d, shift = (phase[i] + first - padding) / d;
    int64_t taps = llvm::divideCeil(std::max<int64_t>(c.window[i] - first, 0), d);
    part.window[i] = taps;
    part.sizes[i] = llvm::divideCeil(c.sizes[i], d);
    low[dim] = -shift;
    high[dim] = part.sizes[i] + taps - 1 - low[dim] - size;
    starts[c.ofKernel.positions[i]] = first;
    strides[c.ofKernel.positions[i]] = d;
    meetsElements &= taps > 0 && shift < size && shift + part.sizes[i] + taps - 1 > 0;
  }
  if (!meetsElements) {
    SmallVector<int64_t> shape{shapeOf(c.x)[c.ofArray.outer] / c.batches};
    shape.append(part.sizes);
    shape.push_back(c.outputs);
    return t.splat(ArrayType::get(shape, c.element), 0);
  }
  Value zero = t.splat(ArrayType::get({}, spmdc::typeOf(c.x).getElementType()), 0);
  FailureOr<Value> padded = t.padFor(op, c.x, zero, low, high, interior);
  if (failed(padded))
    return failure();
  part.x = *padded;
  part.kernel = t.slice(c.kernel, starts, limits, strides);
  return convolve(t, part);
}

/// A convolution over an array with zeros between its elements, as a transposed convolution and the gradient of a
/// strided one by its array are: one of each phase, whose elements alternate, so that no zero is multiplied.
/// [b, positions..., f]
One convolveDilated(Translation &t, ConvolutionOp op, const Convolution &c) {
  SmallVector<int64_t> phases(op.getLhsDilation()), phase(phases.size(), 0), first(c.sizes.size() + 2, 0);
  SmallVector<Value> results;
  do {
    One result = convolvePhase(t, op, c, phase);
    if (failed(result))
      return failure();
    results.push_back(*result);
  } while (nextIndex(phase, phases));
  for (size_t i = phases.size(); i-- > 0;) {
    auto dim = static_cast<int64_t>(i) + 1;
    size_t each = static_cast<size_t>(phases[i]);
    if (each == 1)
      continue;
    SmallVector<Value> joined;
    for (size_t begin = 0; begin < results.size(); begin += each) {
      SmallVector<Value> parts;
      for (Value result : ArrayRef(results).slice(begin, each)) // [..., m, 1, ...]
        parts.push_back(splitDim(t, result, dim, shapeOf(result)[dim]));
      joined.push_back(mergeDims(t, t.concatenate(parts, dim + 1), dim));
    }
    results = joined;
  }
  SmallVector<int64_t> limits(shapeOf(results.front()));
  llvm::copy(c.sizes, limits.begin() + 1);
  return t.slice(results.front(), first, limits, SmallVector<int64_t>(limits.size(), 1));
}

/// Whether phases are fewer operations: along dilated dimensions each element of the result is a phase's.
bool hasPhases(ConvolutionOp op, Value x, const ConvolutionDims &dims) {
  for (auto [i, dim] : llvm::enumerate(dims.positions))
    if (shapeOf(x)[dim] == 0 ||
        (op.getLhsDilation()[i] > 1 && (op.getWindowStrides()[i] > 1 || op.getRhsDilation()[i] > 1)))
      return false;
  bool isDilated = llvm::any_of(op.getLhsDilation(), [](int64_t d) { return d > 1; });
  return isDilated && llvm::all_of(op.getLhsDilation(), [](int64_t d) { return d <= kMostPhases; }) &&
         elementCount(op.getLhsDilation()) <= kMostPhases;
}

One convolution(Translation &t, ConvolutionOp op) {
  size_t positions = op.getWindowStrides().size();
  std::string inner;
  for (size_t i = 0; i < positions; ++i)
    inner += static_cast<char>('0' + i);
  auto resultPerm = permutation("b" + inner + "f", op.getResultLayout());
  Value x = t.get(op.getLhs()), kernel = t.get(op.getRhs());
  size_t rank = positions + 2;
  if (!permutation(op.getLhsLayout(), "b" + inner + "f") || !permutation(op.getRhsLayout(), inner + "io") ||
      !resultPerm || positions > 9 || shapeOf(x).size() != rank || shapeOf(kernel).size() != rank ||
      op.getPadding().size() != 2 * positions || op.getLhsDilation().size() != positions ||
      op.getRhsDilation().size() != positions || op.getWindowReversal().size() != positions)
    return refuse(op, "has layouts or window entries that do not fit its operands");
  for (ArrayRef<int64_t> factors : {op.getWindowStrides(), op.getLhsDilation(), op.getRhsDilation()})
    if (!llvm::all_of(factors, isWindowFactor))
      return refuse(op, "has a stride or dilation below 1, or one that is larger than any array");
  if (!llvm::all_of(op.getPadding(), isWindowPadding))
    return refuse(op, "pads an array to more elements than any memory holds");

  Convolution c;
  c.strides.assign(op.getWindowStrides().begin(), op.getWindowStrides().end());
  c.dilations.assign(op.getRhsDilation().begin(), op.getRhsDilation().end());
  c.ofArray = dimsOf(op.getLhsLayout(), 'b', 'f');
  c.ofKernel = dimsOf(op.getRhsLayout(), 'i', 'o');
  c.groups = static_cast<int64_t>(op.getFeatureGroupCount());
  c.batches = static_cast<int64_t>(op.getBatchGroupCount());
  c.channels = shapeOf(x)[c.ofArray.inner];
  c.outputs = shapeOf(kernel)[c.ofKernel.inner];
  c.element = Translation::typeOf(op.getType()).getElementType();
  int64_t batch = shapeOf(x)[c.ofArray.outer];
  if (c.groups < 1 || c.batches < 1 || (c.groups > 1 && c.batches > 1) || c.channels % c.groups ||
      c.outputs % c.groups || batch % c.batches || c.outputs % c.batches ||
      shapeOf(kernel)[c.ofKernel.outer] != c.channels / c.groups)
    return refuse(op, "has channels or groups that do not fit its operands");

  SmallVector<int64_t> low(rank, 0), high(rank, 0), interior(rank, 0), reversed;
  for (auto [i, dim] : llvm::enumerate(c.ofArray.positions)) {
    low[dim] = op.getPadding()[2 * i];
    high[dim] = op.getPadding()[2 * i + 1];
    interior[dim] = op.getLhsDilation()[i] - 1;
    if (op.getWindowReversal()[i])
      reversed.push_back(c.ofKernel.positions[i]);
  }
  Value zero = t.splat(ArrayType::get({}, spmdc::typeOf(x).getElementType()), 0);
  FailureOr<Value> padded = t.padFor(op, x, zero, low, high, interior);
  if (failed(padded))
    return failure();
  c.x = *padded;
  c.kernel = reversed.empty() ? kernel : t.create<spmdc::ReverseOp>(plainTypeOf(kernel), kernel, reversed);
  for (auto [i, dim] : llvm::enumerate(c.ofArray.positions)) {
    c.window.push_back(shapeOf(kernel)[c.ofKernel.positions[i]]);
    c.sizes.push_back(countWindowPlaces(shapeOf(c.x)[dim], c.window.back(), c.dilations[i], c.strides[i]));
  }
  int64_t taps = elementCount(c.window), places = elementCount(c.sizes);
  if (taps == 0 || places == 0 || batch == 0 || c.outputs == 0) {
    SmallVector<int64_t> shape{batch / c.batches};
    shape.append(c.sizes);
    shape.push_back(c.outputs);
    return t.transpose(t.splat(ArrayType::get(shape, c.element), 0), *resultPerm);
  }
  if (std::min(taps, places) > kMaxSlices)
    return refuse(op, "has more than " + Twine(kMaxSlices) + " taps and more than " + Twine(kMaxSlices) +
                          " places; write it as a product of Fourier transforms or of patches");
  if (!hasPhases(op, x, c.ofArray))
    return t.transpose(convolve(t, c), *resultPerm);
  c.x = x;
  One result = convolveDilated(t, op, c);
  return failed(result) ? One(failure()) : One(t.transpose(*result, *resultPerm));
}

} // namespace

void addConvolutionRules(Rules &rules) { rules.add<ConvolutionOp>(convolution); }

} // namespace spmdc::stablehlo
