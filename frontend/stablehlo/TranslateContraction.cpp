//===- TranslateContraction.cpp - products and convolutions ---------------===//
//
// A convolution is a concatenation of strided slices and one product, as the language's conv2d is
// (frontend/builtins/BuiltinsWindow.cpp): partitioning has no case of its own for it.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/Translation.h"

#include "ir/interfaces/Tensor.h"

using namespace mlir;

namespace spmdc::stablehlo {

using One = FailureOr<Value>;

namespace {

/// Whether the dimensions of both lists are different ones of the array.
bool areDistinctDims(ArrayRef<int64_t> batch, ArrayRef<int64_t> contract, size_t rank) {
  SmallVector<int64_t> all(batch);
  llvm::append_range(all, contract);
  return areDims(all, static_cast<int64_t>(rank));
}

/// The operand in a type whose products are exact in the result's: bf16 and f16 stay, for a result of f32.
Value widen(Translation &t, Value x, Value other, Type result) {
  Type type = typeOf(x).getElementType();
  bool isNative = type == result || (llvm::isa<FloatType>(type) && type == typeOf(other).getElementType() &&
                                     type.getIntOrFloatBitWidth() == 16 && result.isF32());
  return isNative ? x : t.convert(x, result);
}

Value product(Translation &t, Value lhs, Value rhs, Type element, ArrayRef<int64_t> lhsContract,
              ArrayRef<int64_t> rhsContract, ArrayRef<int64_t> lhsBatch, ArrayRef<int64_t> rhsBatch) {
  // Products of bools are counted by StableHLO as `or` of `and`; as i32 sums they are positive exactly then.
  if (element.isInteger(1)) {
    Type integer = t.b.getI32Type();
    Value sum = product(t, t.convert(lhs, integer), t.convert(rhs, integer), integer, lhsContract, rhsContract,
                        lhsBatch, rhsBatch);
    return t.convert(sum, element);
  }
  Value x = widen(t, lhs, rhs, element), y = widen(t, rhs, lhs, element);
  SmallVector<int64_t> shape =
      spmdc::DotGeneralOp::inferShape(plainTypeOf(x), plainTypeOf(y), lhsContract, rhsContract, lhsBatch, rhsBatch);
  return t.create<spmdc::DotGeneralOp>(ArrayType::get(shape, element), x, y, lhsContract, rhsContract, lhsBatch,
                                       rhsBatch);
}

One dotGeneral(Translation &t, DotGeneralOp op) {
  Value lhs = t.get(op.getLhs()), rhs = t.get(op.getRhs());
  ArrayRef<int64_t> lhsContract = op.getLhsContractingDimensions(), rhsContract = op.getRhsContractingDimensions();
  ArrayRef<int64_t> lhsBatch = op.getLhsBatchingDimensions(), rhsBatch = op.getRhsBatchingDimensions();
  if (lhsContract.size() != rhsContract.size() || lhsBatch.size() != rhsBatch.size() ||
      !areDistinctDims(lhsBatch, lhsContract, shapeOf(lhs).size()) ||
      !areDistinctDims(rhsBatch, rhsContract, shapeOf(rhs).size()))
    return refuse(op, "names other dimensions than its operands have");
  for (auto [lhsDims, rhsDims] : {std::pair(lhsContract, rhsContract), std::pair(lhsBatch, rhsBatch)})
    for (auto [left, right] : llvm::zip_equal(lhsDims, rhsDims))
      if (shapeOf(lhs)[left] != shapeOf(rhs)[right])
        return refuse(op, "pairs dimensions of " + Twine(shapeOf(lhs)[left]) + " and " + Twine(shapeOf(rhs)[right]) +
                              " elements");
  return product(t, lhs, rhs, Translation::typeOf(op.getType()).getElementType(), lhsContract, rhsContract, lhsBatch,
                 rhsBatch);
}

//===- Convolution --------------------------------------------------------===//

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

/// The most taps of a kernel: a program grows with their number.
constexpr int64_t kMaxTaps = 4096;

/// The patches of a convolution in the layouts [b, positions..., f] and [positions..., i, o], already padded: the
/// elements that each tap of the window meets, side by side: [b, result positions..., taps * f].
Value patchesOf(Translation &t, ConvolutionOp op, Value x, ArrayRef<int64_t> window, ArrayRef<int64_t> sizes) {
  SmallVector<Value> parts;
  SmallVector<int64_t> tap(window.size(), 0);
  size_t rank = shapeOf(x).size();
  do {
    SmallVector<int64_t> starts(rank, 0), limits(shapeOf(x)), strides(rank, 1);
    for (size_t i = 0; i < window.size(); ++i) {
      starts[i + 1] = tap[i] * op.getRhsDilation()[i];
      strides[i + 1] = op.getWindowStrides()[i];
      limits[i + 1] = starts[i + 1] + (sizes[i] - 1) * strides[i + 1] + 1;
    }
    parts.push_back(t.slice(x, starts, limits, strides));
  } while (nextIndex(tap, window));
  return t.concatenate(parts, static_cast<int64_t>(rank) - 1);
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

One convolution(Translation &t, ConvolutionOp op) {
  size_t positions = op.getWindowStrides().size();
  std::string inner;
  for (size_t i = 0; i < positions; ++i)
    inner += static_cast<char>('0' + i);
  auto lhsPerm = permutation(op.getLhsLayout(), "b" + inner + "f"),
       rhsPerm = permutation(op.getRhsLayout(), inner + "io");
  auto resultPerm = permutation("b" + inner + "f", op.getResultLayout());
  Value x = t.get(op.getLhs()), kernel = t.get(op.getRhs());
  size_t rank = positions + 2;
  if (!lhsPerm || !rhsPerm || !resultPerm || positions > 9 || shapeOf(x).size() != rank ||
      shapeOf(kernel).size() != rank || op.getPadding().size() != 2 * positions ||
      op.getLhsDilation().size() != positions || op.getRhsDilation().size() != positions ||
      op.getWindowReversal().size() != positions)
    return refuse(op, "has layouts or window entries that do not fit its operands");
  for (ArrayRef<int64_t> factors : {op.getWindowStrides(), op.getLhsDilation(), op.getRhsDilation()})
    if (llvm::any_of(factors, [](int64_t factor) { return factor < 1; }))
      return refuse(op, "has a stride or dilation below 1");

  x = t.transpose(x, *lhsPerm);
  kernel = t.transpose(kernel, *rhsPerm);
  auto groups = static_cast<int64_t>(op.getFeatureGroupCount()),
       batches = static_cast<int64_t>(op.getBatchGroupCount());
  int64_t channels = shapeOf(x).back(), outputs = shapeOf(kernel).back();
  if (groups < 1 || batches < 1 || (groups > 1 && batches > 1) || channels % groups || outputs % groups ||
      shapeOf(x).front() % batches || outputs % batches || shapeOf(kernel)[positions] != channels / groups)
    return refuse(op, "has channels or groups that do not fit its operands");

  SmallVector<int64_t> low(rank, 0), high(rank, 0), interior(rank, 0), reversed, sizes;
  int64_t taps = 1;
  for (size_t i = 0; i < positions; ++i) {
    low[i + 1] = op.getPadding()[2 * i];
    high[i + 1] = op.getPadding()[2 * i + 1];
    interior[i + 1] = op.getLhsDilation()[i] - 1;
    if (op.getWindowReversal()[i])
      reversed.push_back(static_cast<int64_t>(i));
    taps *= shapeOf(kernel)[i];
    if (taps > kMaxTaps)
      return refuse(op, "has more than " + Twine(kMaxTaps) +
                            " taps; write it as a product of Fourier transforms or of patches");
  }
  Type element = Translation::typeOf(op.getType()).getElementType();
  x = t.pad(x, t.splat(ArrayType::get({}, spmdc::typeOf(x).getElementType()), 0), low, high, interior);
  if (!reversed.empty())
    kernel = t.create<spmdc::ReverseOp>(plainTypeOf(kernel), kernel, reversed);
  for (size_t i = 0; i < positions; ++i) {
    int64_t extent = taps == 0 ? 0 : (shapeOf(kernel)[i] - 1) * op.getRhsDilation()[i] + 1;
    int64_t room = shapeOf(x)[i + 1] - extent;
    sizes.push_back(room < 0 || taps == 0 ? 0 : room / op.getWindowStrides()[i] + 1);
  }
  SmallVector<int64_t> shape{shapeOf(x).front() / batches};
  shape.append(sizes);
  shape.push_back(outputs);
  if (taps == 0 || llvm::is_contained(shape, 0))
    return t.transpose(t.splat(ArrayType::get(shape, element), 0), *resultPerm);

  Value patches = patchesOf(t, op, x, shapeOf(kernel).take_front(positions), sizes);
  auto last = static_cast<int64_t>(positions) + 1;
  Value result;
  if (groups == 1) {
    Value flat = t.reshape(kernel, {taps * channels, outputs});
    if (batches == 1) {
      result = product(t, patches, flat, element, {last}, {0}, {}, {});
    } else { // [batches, b, positions..., o / batches], then the groups' outputs side by side.
      Value split = splitDim(t, patches, 0, batches);
      result = product(t, split, splitDim(t, flat, 1, batches), element, {last + 1}, {0}, {0}, {1});
      result = mergeDims(t, moveDim(t, result, 0, last), last);
    }
  } else { // Channels [g, i]: patches of each group, and products with a batch dimension g.
    int64_t each = channels / groups;
    patches = splitDim(t, patches, last, taps);       // [b, positions..., taps, g * i]
    patches = splitDim(t, patches, last + 1, groups); // [..., taps, g, i]
    patches = mergeDims(t, moveDim(t, patches, last + 1, last), last + 1);
    Value split = splitDim(t, t.reshape(kernel, {taps * each, outputs}), 1, groups); // [taps * i, g, o]
    result = product(t, patches, split, element, {last + 1}, {0}, {last}, {1});      // [g, b, positions..., o]
    result = mergeDims(t, moveDim(t, result, 0, last), last);
  }
  return t.transpose(result, *resultPerm);
}

} // namespace

void addContractionRules(Rules &rules) {
  rules.add<DotGeneralOp>(dotGeneral);
  rules.add<ConvolutionOp>(convolution);
}

} // namespace spmdc::stablehlo
