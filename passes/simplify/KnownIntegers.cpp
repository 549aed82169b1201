//===- KnownIntegers.cpp - integers that the compiler knows ---------------===//

#include "passes/simplify/KnownIntegers.h"

#include "passes/simplify/IntegerFunctions.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace spmdc {
namespace {

using Part = KnownIntegers::Part;

/// The largest literal that is searched for parts: a program with larger ones in its text is already slow to parse.
constexpr int64_t kMostLiteralElements = 1 << 16;
/// The greatest element that counts as a position: `arange` has no more elements.
constexpr int64_t kGreatest = int64_t(1) << 40;
/// The longest chain of operations that is followed: hand-written indices have far fewer, and each takes stack space.
constexpr int kMostDepth = 256;
/// The limit of a dimension's contribution to an element, and of the element at position 0, which may be outside of the
/// part.
constexpr int64_t kMostSpan = int64_t(1) << 50;

/// The range of the element type, up to kGreatest.
std::pair<int64_t, int64_t> getTypeRange(Type type) {
  unsigned bits = std::min(type.getIntOrFloatBitWidth(), 41u);
  if (type.isInteger(1))
    return {0, 1};
  return type.isUnsignedInteger()
             ? std::pair<int64_t, int64_t>(0, std::min(kGreatest, (int64_t(1) << bits) - 1))
             : std::pair<int64_t, int64_t>(-(int64_t(1) << (bits - 1)), (int64_t(1) << (bits - 1)) - 1);
}

/// Whether all elements are within `range`; also merges adjacent parts with the same function.
bool finish(KnownIntegers &array, std::pair<int64_t, int64_t> range) {
  auto [least, greatest] = range;
  std::vector<Part> parts;
  for (Part &part : array.parts) {
    // The limits ensure that sums of two such functions, and their elements, do not overflow 64 bits.
    int64_t span;
    for (auto [stride, size] : llvm::zip(part.value.strides, array.shape))
      if (llvm::MulOverflow(stride, size, span) || std::abs(span) > kMostSpan)
        return false;
    if (std::abs(part.value.base) > kMostSpan)
      return false;
    auto [low, high] = array.getRange(part);
    if (low < least || high > greatest)
      return false;
    // A part of one position continues any function that has its value there.
    auto isOne = [&](const Part &part) { return part.end - part.begin == 1 && !array.shape.empty(); };
    auto valueAt = [&](const Part &part, int64_t at) {
      AffineIndex value = part.value;
      value.base += value.strides[array.dim] * at;
      value.strides[array.dim] = 0;
      return value;
    };
    if (!parts.empty() && isOne(part) && valueAt(parts.back(), part.begin) == valueAt(part, part.begin)) {
      parts.back().end = part.end;
      continue;
    }
    if (!parts.empty() && isOne(parts.back()) &&
        valueAt(parts.back(), parts.back().begin) == valueAt(part, parts.back().begin)) {
      parts.back() = {parts.back().begin, part.end, part.value};
      continue;
    }
    parts.push_back(std::move(part));
  }
  array.parts = std::move(parts);
  return array.parts.size() <= kMostKnownParts;
}

MaybeKnown knowLiteral(ConstantOp op) {
  auto literal = cast<DenseElementsAttr>(op.getValue());
  KnownIntegers array{SmallVector<int64_t>(op.getType().getShape()), 0, {}};
  bool isUnsigned = op.getType().getElementType().isUnsignedInteger() || op.getType().getElementType().isInteger(1);
  auto valueOf = [&](const APInt &value) {
    return static_cast<int64_t>(isUnsigned ? value.getZExtValue() : value.getSExtValue());
  };
  if (literal.isSplat())
    return splat(array, valueOf(literal.getSplatValue<APInt>()));
  if (array.shape.size() != 1 || array.shape[0] > kMostLiteralElements)
    return std::nullopt;
  std::vector<int64_t> values;
  for (const APInt &value : literal.getValues<APInt>())
    values.push_back(valueOf(value));
  auto count = static_cast<int64_t>(values.size());
  for (int64_t begin = 0, end; begin < count; begin = end) {
    int64_t stride = begin + 1 < count ? values[begin + 1] - values[begin] : 0;
    for (end = begin + 1; end < count && values[end] - values[end - 1] == stride;)
      ++end;
    if (end == begin + 1)
      stride = 0;
    array.parts.push_back({begin, end, {values[begin] - stride * begin, {stride}}});
  }
  return array;
}

} // namespace

std::pair<int64_t, int64_t> KnownIntegers::getRange(const Part &part) const {
  int64_t low = part.value.base, high = part.value.base;
  for (auto [d, stride] : llvm::enumerate(part.value.strides)) {
    bool isSplit = static_cast<int64_t>(d) == dim;
    int64_t first = stride * (isSplit ? part.begin : 0), last = stride * ((isSplit ? part.end : shape[d]) - 1);
    low += std::min(first, last);
    high += std::max(first, last);
  }
  return {low, high};
}

std::optional<KnownIntegers> IntegerKnowledge::clamp(const KnownIntegers &array, int64_t low, int64_t high) {
  MaybeKnown raised = pick(array, splat(array, low), /*isGreater=*/true);
  MaybeKnown both = raised ? pick(*raised, splat(array, high), /*isGreater=*/false) : std::nullopt;
  return both && finish(*both, {low, high}) ? both : std::nullopt;
}

const KnownIntegers *IntegerKnowledge::find(Value value) {
  auto entry = known.find(value);
  if (entry != known.end())
    return entry->second.get();
  std::unique_ptr<KnownIntegers> result;
  Operation *op = value.getDefiningOp();
  auto type = dyn_cast<ArrayType>(value.getType());
  bool isInteger = type && isa<IntegerType>(type.getElementType()) && type.getNumElements() > 0;
  if (op && op->getNumResults() == 1 && isInteger && depth < kMostDepth) {
    ++depth;
    MaybeKnown array = evaluate(op);
    --depth;
    if (array && finish(*array, getTypeRange(type.getElementType())))
      result = std::make_unique<KnownIntegers>(std::move(*array));
  }
  return (known[value] = std::move(result)).get();
}

MaybeKnown IntegerKnowledge::evaluate(Operation *op) {
  if (auto constant = dyn_cast<ConstantOp>(op))
    return knowLiteral(constant);
  if (auto iota = dyn_cast<IotaOp>(op)) {
    KnownIntegers positions{SmallVector<int64_t>(iota.getType().getShape()), 0, {}};
    AffineIndex value = constantOf(positions, 0);
    value.strides[iota.getDim()] = 1;
    positions.parts.push_back({0, positions.shape[0], value});
    return positions;
  }
  SmallVector<const KnownIntegers *, 3> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(find(operand));
    if (!operands.back())
      return std::nullopt;
  }
  if (operands.empty())
    return std::nullopt;
  const KnownIntegers &x = *operands[0], &y = *operands[std::min<size_t>(1, operands.size() - 1)];
  bool isBool = cast<ArrayType>(op->getResult(0).getType()).getElementType().isInteger(1);
  auto typed = [&](auto function) -> MaybeKnown {
    return isBool ? combineConstants(x, y, function) : MaybeKnown(std::nullopt);
  };
  return llvm::TypeSwitch<Operation *, MaybeKnown>(op)
      .Case([&](AddOp) { return isBool ? std::nullopt : combineArrays(x, 1, y, 1); })
      .Case([&](SubtractOp) { return isBool ? std::nullopt : combineArrays(x, 1, y, -1); })
      .Case([&](NegateOp) { return multiply(x, splat(x, -1)); })
      .Case([&](MultiplyOp) { return multiply(x, y); })
      .Case([&](DivideOp) { return divide(x, y, /*isRemainder=*/false); })
      .Case([&](RemainderOp) { return divide(x, y, /*isRemainder=*/true); })
      .Case([&](MaximumOp) { return pick(x, y, /*isGreater=*/true); })
      .Case([&](MinimumOp) { return pick(x, y, /*isGreater=*/false); })
      .Case([&](ClampOp) {
        MaybeKnown raised = pick(y, x, /*isGreater=*/true);
        return raised ? pick(*raised, *operands[2], /*isGreater=*/false) : std::nullopt;
      })
      .Case([&](AbsOp) {
        MaybeKnown negated = multiply(x, splat(x, -1));
        return negated ? chooseBySign(x, *negated, x, x) : std::nullopt;
      })
      .Case([&](SignOp) { return chooseBySign(x, splat(x, -1), splat(x, 0), splat(x, 1)); })
      .Case([&](CompareOp op) { return compare(op.getDirection(), x, y); })
      .Case([&](SelectOp) { return chooseBySign(x, splat(x, 0), *operands[2], y); })
      .Case([&](AndOp) { return typed([](int64_t a, int64_t b) { return a & b; }); })
      .Case([&](OrOp) { return typed([](int64_t a, int64_t b) { return a | b; }); })
      .Case([&](XorOp) { return typed([](int64_t a, int64_t b) { return a ^ b; }); })
      .Case([&](NotOp) { return typed([](int64_t a, int64_t) { return 1 - a; }); })
      .Case([&](ConvertOp) { return isBool ? compare(ComparisonDirection::ne, x, splat(x, 0)) : MaybeKnown(x); })
      .Case([&](BroadcastInDimOp op) { return broadcast(x, op.getType().getShape(), op.getDims()); })
      .Case([&](ReshapeOp op) { return reshape(x, op.getType().getShape()); })
      .Case([&](TransposeOp op) { return transpose(x, op.getPerm()); })
      .Case([&](ConcatenateOp op) { return concatenate(operands, static_cast<int64_t>(op.getDim())); })
      .Case([&](SliceOp op) { return MaybeKnown(slice(x, op.getType().getShape(), op.getStarts(), op.getStrides())); })
      .Case([&](ReverseOp op) {
        SmallVector<int64_t> first(x.shape.size(), 0), step(x.shape.size(), 1);
        for (int64_t d : op.getDims()) {
          first[d] = x.shape[d] - 1;
          step[d] = -1;
        }
        return MaybeKnown(slice(x, x.shape, first, step));
      })
      .Default([](Operation *) { return std::nullopt; });
}

} // namespace spmdc
