//===- KnownIntegers.cpp - integers that the compiler knows ---------------===//

#include "passes/propagate/KnownIntegers.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <array>

using namespace mlir;

namespace spmdc {
namespace {

using Part = KnownIntegers::Part;
using MaybeKnown = std::optional<KnownIntegers>;
using MaybeParts = std::optional<std::vector<Part>>;

/// An index array of more parts is no slice of anything; on the way to few parts there may be one for each multiple of
/// a divisor.
constexpr size_t kMostParts = 4096;
/// Literals of more elements are not searched for parts: a program that has them in its text is already slow to read.
constexpr int64_t kMostLiteralElements = 1 << 16;
/// Beyond this no element is a position: `arange` has no more elements. Sums of two such numbers do not overflow.
constexpr int64_t kGreatest = int64_t(1) << 40;

ArrayType typeOf(Value value) { return cast<ArrayType>(value.getType()); }

/// What the element type can hold, as far as it is looked at.
std::pair<int64_t, int64_t> getTypeRange(Type type) {
  unsigned bits = std::min(type.getIntOrFloatBitWidth(), 41u);
  if (type.isInteger(1))
    return {0, 1};
  return type.isUnsignedInteger()
             ? std::pair<int64_t, int64_t>(0, std::min(kGreatest, (int64_t(1) << bits) - 1))
             : std::pair<int64_t, int64_t>(-(int64_t(1) << (bits - 1)), (int64_t(1) << (bits - 1)) - 1);
}

int64_t sizeOf(const KnownIntegers &array, int64_t dim) { return array.shape.empty() ? 1 : array.shape[dim]; }

/// The dimension that a part depends on, if that is one.
std::optional<int64_t> getOnlyDim(const KnownIntegers &array, const Part &part) {
  std::optional<int64_t> only;
  for (auto [dim, stride] : llvm::enumerate(part.value.strides)) {
    if (stride == 0 || array.shape[dim] == 1)
      continue;
    if (only)
      return std::nullopt;
    only = dim;
  }
  return only;
}

AffineIndex constantOf(const KnownIntegers &array, int64_t value) {
  return {value, SmallVector<int64_t>(array.shape.size(), 0)};
}

/// Whether all elements are within a range; joins parts that are one.
bool finish(KnownIntegers &array, std::pair<int64_t, int64_t> range) {
  auto [least, greatest] = range;
  std::vector<Part> parts;
  for (Part &part : array.parts) {
    auto [low, high] = array.getRange(part);
    if (low < least || high > greatest)
      return false;
    // One position continues any function that has its value there.
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
  return array.parts.size() <= kMostParts;
}

/// Both with the same parts.
bool align(KnownIntegers &one, KnownIntegers &two) {
  if (one.parts.size() == 1 || two.parts.size() == 1) {
    KnownIntegers &single = one.parts.size() == 1 ? one : two, &other = one.parts.size() == 1 ? two : one;
    AffineIndex value = single.parts.front().value;
    single.dim = other.dim;
    single.parts = other.parts;
    for (Part &part : single.parts)
      part.value = value;
    return true;
  }
  if (one.dim != two.dim)
    return false;
  std::array<std::vector<Part>, 2> parts;
  for (size_t i = 0, k = 0; i < one.parts.size() && k < two.parts.size();) {
    const Part &a = one.parts[i], &b = two.parts[k];
    int64_t begin = std::max(a.begin, b.begin), end = std::min(a.end, b.end);
    parts[0].push_back({begin, end, a.value});
    parts[1].push_back({begin, end, b.value});
    i += a.end == end;
    k += b.end == end;
  }
  one.parts = std::move(parts[0]);
  two.parts = std::move(parts[1]);
  return true;
}

/// Each part made of parts of its own, which `divide` gives, along the dimension that it depends on.
MaybeKnown splitParts(const KnownIntegers &array, function_ref<MaybeParts(const Part &, int64_t dim)> divide) {
  KnownIntegers result{array.shape, array.dim, {}};
  for (const Part &part : array.parts) {
    std::optional<int64_t> dim = part.value.isConstant() ? array.dim : getOnlyDim(array, part);
    if (!dim || (*dim != array.dim && array.parts.size() > 1)) {
      // What is the same everywhere needs no parts.
      MaybeParts parts = divide(part, -1);
      if (!parts)
        return std::nullopt;
      llvm::append_range(result.parts, *parts);
      continue;
    }
    Part own = part;
    if (*dim != array.dim) {
      own.begin = 0;
      own.end = sizeOf(array, *dim);
      result.dim = *dim;
    }
    MaybeParts parts = divide(own, *dim);
    if (!parts || result.parts.size() + parts->size() > kMostParts)
      return std::nullopt;
    llvm::append_range(result.parts, *parts);
  }
  return result;
}

AffineIndex combine(const AffineIndex &x, int64_t a, const AffineIndex &y, int64_t b) {
  AffineIndex sum{a * x.base + b * y.base, x.strides};
  for (auto [stride, other] : llvm::zip(sum.strides, y.strides))
    stride = a * stride + b * other;
  return sum;
}

/// The sign of all elements of a part, 0 counting as `zero` does; nothing where they differ.
std::optional<int64_t> signOf(const KnownIntegers &array, const Part &part, int64_t zero) {
  auto [low, high] = array.getRange(part);
  auto sign = [&](int64_t value) -> int64_t { return value > 0 ? 1 : value < 0 ? -1 : zero; };
  return sign(low) == sign(high) ? std::make_optional(sign(low)) : std::nullopt;
}

/// Parts whose elements are of one sign each, 0 counting as `zero` does: 1 (positive), -1 (negative), or 0 (by itself).
MaybeKnown splitBySign(const KnownIntegers &array, int64_t zero) {
  return splitParts(array, [&](const Part &part, int64_t dim) -> MaybeParts {
    if (signOf(array, part, zero))
      return std::vector<Part>{part};
    if (dim < 0)
      return std::nullopt;
    // As of a rising function: the first position that is not below 0, and the first that is above.
    int64_t direction = part.value.strides[dim] > 0 ? 1 : -1;
    int64_t stride = direction * part.value.strides[dim], base = direction * part.value.base;
    int64_t atZero = llvm::divideCeilSigned(-base, stride), above = llvm::divideFloorSigned(-base, stride) + 1;
    if (zero != 0)
      (zero == direction ? above : atZero) = zero == direction ? atZero : above;
    std::vector<Part> parts;
    int64_t begin = part.begin;
    for (int64_t end : {atZero, above, part.end}) {
      end = std::clamp(end, begin, part.end);
      if (begin < end)
        parts.push_back({begin, end, part.value});
      begin = end;
    }
    return parts;
  });
}

bool isSame(const KnownIntegers &one, const KnownIntegers &two) {
  return one.parts.size() == 1 && two.parts.size() == 1 && one.parts[0].value == two.parts[0].value;
}

/// Part by part one of three arrays: as the sign of a fourth one says.
MaybeKnown chooseBySign(const KnownIntegers &sign, KnownIntegers below, KnownIntegers zero, KnownIntegers above) {
  // Where nothing depends on it, no position needs to be found at which the sign is 0.
  int64_t side = isSame(zero, above) ? 1 : isSame(zero, below) ? -1 : 0;
  MaybeKnown split = splitBySign(sign, side);
  if (!split)
    return std::nullopt;
  // Twice: what the last one has parts for the others have not seen.
  for (int round = 0; round < 2; ++round)
    for (KnownIntegers *array : {&below, &zero, &above})
      if (!align(*split, *array))
        return std::nullopt;
  KnownIntegers result{split->shape, split->dim, {}};
  for (auto [part, a, b, c] : llvm::zip(split->parts, below.parts, zero.parts, above.parts)) {
    int64_t at = signOf(*split, part, side).value_or(0);
    result.parts.push_back({part.begin, part.end, at < 0 ? a.value : at > 0 ? c.value : b.value});
  }
  return result;
}

MaybeKnown combineArrays(KnownIntegers x, int64_t a, KnownIntegers y, int64_t b) {
  if (!align(x, y))
    return std::nullopt;
  for (auto [one, two] : llvm::zip(x.parts, y.parts))
    one.value = combine(one.value, a, two.value, b);
  return x;
}

KnownIntegers splat(const KnownIntegers &like, int64_t value) {
  int64_t end = like.shape.empty() ? 1 : like.shape[0];
  return {like.shape, 0, {{0, end, constantOf(like, value)}}};
}

MaybeKnown multiply(KnownIntegers x, KnownIntegers y) {
  if (!align(x, y))
    return std::nullopt;
  for (auto [one, two] : llvm::zip(x.parts, y.parts)) {
    if (!one.value.isConstant())
      std::swap(one.value, two.value);
    if (!one.value.isConstant())
      return std::nullopt;
    auto [low, high] = x.getRange({one.begin, one.end, two.value});
    int64_t factor = one.value.base, product;
    for (int64_t end : {low, high})
      if (llvm::MulOverflow(end, factor, product) || std::abs(product) > kGreatest)
        return std::nullopt;
    one.value = combine(two.value, factor, two.value, 0);
  }
  return x;
}

/// Quotient or remainder, towards zero, by divisors that are constant in each part.
MaybeKnown divide(KnownIntegers x, KnownIntegers y, bool isRemainder) {
  MaybeKnown bySign = splitBySign(x, /*zero=*/1);
  if (!bySign || !align(*bySign, y))
    return std::nullopt;
  std::vector<int64_t> divisors;
  for (const Part &part : y.parts)
    divisors.push_back(part.value.base);
  if (llvm::any_of(y.parts, [](const Part &part) { return !part.value.isConstant() || part.value.base == 0; }))
    return std::nullopt;
  size_t next = 0;
  return splitParts(*bySign, [&](const Part &part, int64_t dim) -> MaybeParts {
    int64_t divisor = divisors[next++], size = std::abs(divisor);
    auto valueOf = [&](int64_t quotient) {
      AffineIndex value = constantOf(*bySign, quotient);
      return isRemainder ? combine(part.value, 1, constantOf(*bySign, divisor), -quotient) : value;
    };
    auto [low, high] = bySign->getRange(part);
    if (low / divisor == high / divisor)
      return std::vector<Part>{{part.begin, part.end, valueOf(low / divisor)}};
    if (dim < 0)
      return std::nullopt;
    std::vector<Part> parts;
    int64_t stride = part.value.strides[dim];
    for (int64_t at = part.begin; at < part.end;) {
      if (parts.size() == kMostParts)
        return std::nullopt;
      int64_t value = part.value.base + stride * at, quotient = value / divisor;
      // How far the magnitude may go until the next multiple, upward or downward; there is no change of sign.
      int64_t magnitude = std::abs(value), rest = magnitude % size;
      bool grows = (stride > 0) == (value > 0) || value == 0;
      int64_t steps = grows ? (size - 1 - rest) / std::abs(stride) : rest / std::abs(stride);
      int64_t end = std::min(part.end, at + steps + 1);
      parts.push_back({at, end, valueOf(quotient)});
      at = end;
    }
    return parts;
  });
}

MaybeKnown compare(ComparisonDirection direction, const KnownIntegers &x, const KnownIntegers &y) {
  MaybeKnown difference = combineArrays(x, 1, y, -1);
  if (!difference)
    return std::nullopt;
  using enum ComparisonDirection;
  auto when = [&](std::initializer_list<ComparisonDirection> directions) {
    return splat(*difference, llvm::is_contained(directions, direction));
  };
  return chooseBySign(*difference, when({lt, le, ne}), when({eq, le, ge}), when({gt, ge, ne}));
}

MaybeKnown pick(const KnownIntegers &x, const KnownIntegers &y, bool isGreater) {
  MaybeKnown difference = combineArrays(x, 1, y, -1);
  return difference ? chooseBySign(*difference, isGreater ? y : x, x, isGreater ? x : y) : std::nullopt;
}

/// A function of bools that are constant in each part.
MaybeKnown combineBools(KnownIntegers x, KnownIntegers y, function_ref<int64_t(int64_t, int64_t)> function) {
  if (!align(x, y))
    return std::nullopt;
  for (auto [one, two] : llvm::zip(x.parts, y.parts)) {
    if (!one.value.isConstant() || !two.value.isConstant())
      return std::nullopt;
    one.value.base = function(one.value.base, two.value.base);
  }
  return x;
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

MaybeKnown broadcast(const KnownIntegers &array, BroadcastInDimOp op) {
  KnownIntegers result{SmallVector<int64_t>(op.getType().getShape()), 0, {}};
  ArrayRef<int64_t> dims = op.getDims();
  bool isSplit = array.parts.size() > 1;
  if (isSplit)
    result.dim = dims[array.dim];
  for (const Part &part : array.parts) {
    AffineIndex value = constantOf(result, part.value.base);
    for (auto [from, to] : llvm::enumerate(dims))
      value.strides[to] = array.shape[from] == 1 ? 0 : part.value.strides[from];
    result.parts.push_back({isSplit ? part.begin : 0, isSplit ? part.end : sizeOf(result, 0), value});
  }
  return result;
}

/// Dimensions of size 1 come and go, and one dimension becomes several or several one where that leaves the function
/// affine.
MaybeKnown reshape(const KnownIntegers &array, ReshapeOp op) {
  KnownIntegers result{SmallVector<int64_t>(op.getType().getShape()), 0, {}};
  bool isSplit = array.parts.size() > 1;
  for (const Part &part : array.parts)
    result.parts.push_back({part.begin, part.end, constantOf(result, part.value.base)});
  if (!isSplit) {
    result.parts[0].begin = 0;
    result.parts[0].end = sizeOf(result, 0);
  }
  size_t from = 0, to = 0;
  while (from < array.shape.size() || to < result.shape.size()) {
    // Dimensions on both sides that have as many elements.
    size_t fromEnd = from, toEnd = to;
    int64_t before = 1, behind = 1;
    do {
      bool takesFrom = fromEnd < array.shape.size() && (before <= behind || toEnd == result.shape.size());
      (takesFrom ? before : behind) *= takesFrom ? array.shape[fromEnd++] : result.shape[toEnd++];
    } while (before != behind);
    SmallVector<size_t> sources, targets;
    for (size_t d = from; d < fromEnd; ++d)
      if (array.shape[d] != 1)
        sources.push_back(d);
    for (size_t d = to; d < toEnd; ++d)
      if (result.shape[d] != 1)
        targets.push_back(d);
    bool hasParts = isSplit && array.dim >= static_cast<int64_t>(from) && array.dim < static_cast<int64_t>(fromEnd);
    if (hasParts && (sources.size() != 1 || targets.size() != 1))
      return std::nullopt;
    if (hasParts)
      result.dim = targets.front();
    for (auto [part, made] : llvm::zip(array.parts, result.parts)) {
      for (size_t k = 1; k < sources.size(); ++k)
        if (part.value.strides[sources[k - 1]] != part.value.strides[sources[k]] * array.shape[sources[k]])
          return std::nullopt;
      int64_t stride = sources.empty() ? 0 : part.value.strides[sources.back()];
      for (size_t target : llvm::reverse(targets)) {
        made.value.strides[target] = stride;
        stride *= result.shape[target];
      }
    }
    from = fromEnd;
    to = toEnd;
  }
  return result;
}

MaybeKnown join(ConcatenateOp op, ArrayRef<const KnownIntegers *> operands) {
  KnownIntegers result{SmallVector<int64_t>(op.getType().getShape()), static_cast<int64_t>(op.getDim()), {}};
  int64_t offset = 0;
  for (const KnownIntegers *operand : operands) {
    if (operand->parts.size() > 1 && operand->dim != result.dim)
      return std::nullopt;
    for (Part part : operand->parts) {
      if (operand->parts.size() == 1) {
        part.begin = 0;
        part.end = operand->shape[result.dim];
      }
      part.value.base -= part.value.strides[result.dim] * offset;
      part.begin += offset;
      part.end += offset;
      result.parts.push_back(part);
    }
    offset += operand->shape[result.dim];
  }
  return result;
}

/// Positions of the result as positions of the operand: those of dimension d are first[d] + step[d] * i.
MaybeKnown look(const KnownIntegers &array, ArrayRef<int64_t> shape, ArrayRef<int64_t> first, ArrayRef<int64_t> step) {
  KnownIntegers result{SmallVector<int64_t>(shape), array.dim, {}};
  for (const Part &part : array.parts) {
    AffineIndex value = part.value;
    for (size_t d = 0; d < shape.size(); ++d) {
      value.base += value.strides[d] * first[d];
      value.strides[d] *= step[d];
    }
    int64_t begin = 0, end = shape.empty() ? 1 : shape[array.dim];
    if (array.parts.size() > 1) { // first + step * i is from begin up to end - 1.
      int64_t start = first[array.dim], by = step[array.dim];
      int64_t low = by > 0 ? part.begin : part.end - 1, high = by > 0 ? part.end - 1 : part.begin;
      begin = std::max(begin, llvm::divideCeilSigned(low - start, by));
      end = std::min(end, llvm::divideFloorSigned(high - start, by) + 1);
    }
    if (begin < end)
      result.parts.push_back({begin, end, value});
  }
  llvm::sort(result.parts, [](const Part &a, const Part &b) { return a.begin < b.begin; });
  return result;
}

MaybeKnown transpose(const KnownIntegers &array, TransposeOp op) {
  KnownIntegers result{SmallVector<int64_t>(op.getType().getShape()), 0, {}};
  ArrayRef<int64_t> perm = op.getPerm();
  result.dim = llvm::find(perm, array.dim) - perm.begin();
  for (const Part &part : array.parts) {
    Part made = part;
    for (auto [to, from] : llvm::enumerate(perm))
      made.value.strides[to] = part.value.strides[from];
    result.parts.push_back(made);
  }
  return result;
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
  if (op && op->getNumResults() == 1 && isInteger) {
    MaybeKnown array = evaluate(op);
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
  Type type = typeOf(op->getResult(0)).getElementType();
  bool isBool = type.isInteger(1);
  auto typed = [&](auto function) -> MaybeKnown {
    return isBool ? combineBools(x, y, function) : MaybeKnown(std::nullopt);
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
      .Case([&](BroadcastInDimOp op) { return broadcast(x, op); })
      .Case([&](ReshapeOp op) { return reshape(x, op); })
      .Case([&](TransposeOp op) { return transpose(x, op); })
      .Case([&](ConcatenateOp op) { return join(op, operands); })
      .Case([&](SliceOp op) { return look(x, op.getType().getShape(), op.getStarts(), op.getStrides()); })
      .Case([&](ReverseOp op) {
        SmallVector<int64_t> first(x.shape.size(), 0), step(x.shape.size(), 1);
        for (int64_t d : op.getDims()) {
          first[d] = x.shape[d] - 1;
          step[d] = -1;
        }
        return look(x, x.shape, first, step);
      })
      .Default([](Operation *) { return std::nullopt; });
}

} // namespace spmdc
