//===- IntegerArithmetic.cpp - element-wise operations on known integers --===//

#include "passes/simplify/IntegerFunctions.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <array>

using namespace mlir;

namespace spmdc {
namespace {

using Part = KnownIntegers::Part;
using MaybeParts = std::optional<std::vector<Part>>;

int64_t sizeOf(const KnownIntegers &array, int64_t dim) { return array.shape.empty() ? 1 : array.shape[dim]; }

/// The only dimension that a part depends on; nothing if there are several or none.
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

/// Gives both arrays the same parts; false if their parts are along different dimensions.
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

/// Replaces each part by the parts that `divide` returns for it, along the dimension that it depends on.
MaybeKnown splitParts(const KnownIntegers &array, function_ref<MaybeParts(const Part &, int64_t dim)> divide) {
  KnownIntegers result{array.shape, array.dim, {}};
  for (const Part &part : array.parts) {
    std::optional<int64_t> dim = part.value.isConstant() ? array.dim : getOnlyDim(array, part);
    if (!dim || (*dim != array.dim && array.parts.size() > 1)) {
      // Parts that need no division may pass.
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
    if (!parts || result.parts.size() + parts->size() > kMostKnownParts)
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

/// The sign of all elements of a part, with `zero` as the sign of 0; nothing if signs differ.
std::optional<int64_t> signOf(const KnownIntegers &array, const Part &part, int64_t zero) {
  auto [low, high] = array.getRange(part);
  auto sign = [&](int64_t value) -> int64_t { return value > 0 ? 1 : value < 0 ? -1 : zero; };
  return sign(low) == sign(high) ? std::make_optional(sign(low)) : std::nullopt;
}

/// Divides parts so that each has elements of one sign, with `zero` as the sign of 0: 1, -1, or 0 (zeros in parts of
/// their own).
MaybeKnown splitBySign(const KnownIntegers &array, int64_t zero) {
  return splitParts(array, [&](const Part &part, int64_t dim) -> MaybeParts {
    if (signOf(array, part, zero))
      return std::vector<Part>{part};
    if (dim < 0)
      return std::nullopt;
    // For an increasing function: the first position that is not below 0, and the first that is above.
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

} // namespace

KnownIntegers splat(const KnownIntegers &like, int64_t value) {
  int64_t end = like.shape.empty() ? 1 : like.shape[0];
  return {like.shape, 0, {{0, end, constantOf(like, value)}}};
}

MaybeKnown chooseBySign(const KnownIntegers &sign, KnownIntegers below, KnownIntegers zero, KnownIntegers above) {
  // If the result does not depend on zeros, the position of sign 0 is not needed.
  int64_t side = isSame(zero, above) ? 1 : isSame(zero, below) ? -1 : 0;
  MaybeKnown split = splitBySign(sign, side);
  if (!split)
    return std::nullopt;
  // Two rounds, since the last array may have parts that the others lack in the first round.
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

MaybeKnown multiply(KnownIntegers x, KnownIntegers y) {
  if (!align(x, y))
    return std::nullopt;
  for (auto [one, two] : llvm::zip(x.parts, y.parts)) {
    if (!one.value.isConstant())
      std::swap(one.value, two.value);
    if (!one.value.isConstant())
      return std::nullopt;
    int64_t factor = one.value.base;
    one.value = two.value;
    bool isTooLarge = llvm::MulOverflow(one.value.base, factor, one.value.base);
    for (int64_t &stride : one.value.strides)
      isTooLarge |= llvm::MulOverflow(stride, factor, stride);
    if (isTooLarge)
      return std::nullopt;
  }
  return x;
}

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
      if (parts.size() == kMostKnownParts)
        return std::nullopt;
      int64_t value = part.value.base + stride * at, quotient = value / divisor;
      // The number of positions until the quotient changes, for growing or shrinking magnitude; the sign does not
      // change.
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

MaybeKnown combineConstants(KnownIntegers x, KnownIntegers y, function_ref<int64_t(int64_t, int64_t)> function) {
  if (!align(x, y))
    return std::nullopt;
  for (auto [one, two] : llvm::zip(x.parts, y.parts)) {
    if (!one.value.isConstant() || !two.value.isConstant())
      return std::nullopt;
    one.value.base = function(one.value.base, two.value.base);
  }
  return x;
}

} // namespace spmdc
