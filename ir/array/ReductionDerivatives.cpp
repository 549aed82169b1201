//===- ReductionDerivatives.cpp - cotangents of contractions and reductions -===//
//
// Derivatives are JAX's: ties of an extreme share the cotangent, a product with zeros in it has the exact gradient, and
// scans are differentiated as the tree of pairs of jax.lax.associative_scan.
//
//===----------------------------------------------------------------------===//

#include "ir/array/ArrayOps.h"
#include "ir/array/Formula.h"

#include <numeric>

using namespace mlir;

namespace spmdc {
namespace {

//===----------------------------------------------------------------------===//
// Contraction
//===----------------------------------------------------------------------===//

/// One side of a contraction: its dimensions by role.
struct Side {
  Value value;
  ArrayRef<int64_t> contract, batch;
  SmallVector<int64_t> free;
};

SmallVector<int64_t> countFrom(size_t begin, size_t count) {
  SmallVector<int64_t> dims(count);
  std::iota(dims.begin(), dims.end(), static_cast<int64_t>(begin));
  return dims;
}

/// The cotangent of `side`: that of the result contracted with the other side over the other side's free dimensions.
/// `isLhs`: the result's dimensions are batch, free of `side`, free of `other`; else batch, free of `other`, free of
/// `side`.
Value transposeContraction(OpBuilder &builder, Location loc, Value cotangent, const Side &side, const Side &other,
                           bool isLhs) {
  // A result in a wider type than the operands' is contracted in that type.
  Type accumulator = plainTypeOf(cotangent).getElementType();
  Value factor = convert(Term(builder, loc, other.value), accumulator);
  size_t otherBegin = side.batch.size() + (isLhs ? side.free.size() : 0);
  SmallVector<int64_t> batch = countFrom(0, side.batch.size()), contracted = countFrom(otherBegin, other.free.size());
  // The order of the sides is such that in x @ y the products have the layout of the operands, and need no transpose.
  auto contract = [&](Value x, Value y, ArrayRef<int64_t> xContract, ArrayRef<int64_t> yContract,
                      ArrayRef<int64_t> xBatch, ArrayRef<int64_t> yBatch) -> Value {
    ArrayType xType = plainTypeOf(x), yType = plainTypeOf(y);
    ArrayType type = xType.withShape(DotGeneralOp::inferShape(xType, yType, xContract, yContract, xBatch, yBatch));
    return builder.create<DotGeneralOp>(loc, type, x, y, xContract, yContract, xBatch, yBatch);
  };
  Value product = isLhs ? contract(cotangent, factor, contracted, other.free, batch, other.batch)
                        : contract(factor, cotangent, other.free, contracted, other.batch, batch);
  // The dimensions of `side` in the order of the product; contracted ones are in the other side's order.
  SmallVector<std::pair<int64_t, int64_t>> pairs;
  for (auto [theirs, ours] : llvm::zip(other.contract, side.contract))
    pairs.emplace_back(theirs, ours);
  llvm::sort(pairs);
  SmallVector<int64_t> order(side.batch);
  if (isLhs)
    llvm::append_range(order, side.free);
  llvm::append_range(order, llvm::make_second_range(pairs));
  if (!isLhs)
    llvm::append_range(order, side.free);
  SmallVector<int64_t> perm(order.size());
  for (auto [position, dim] : llvm::enumerate(order))
    perm[dim] = static_cast<int64_t>(position);
  if (!llvm::is_sorted(perm))
    product = builder.create<TransposeOp>(loc, product, perm);
  return convert(Term(builder, loc, product), plainTypeOf(side.value).getElementType());
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// Broadcasts the reduced value along the dimensions.
Value spread(OpBuilder &builder, Location loc, Value reduced, ArrayType type, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> kept;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (!llvm::is_contained(dims, dim))
      kept.push_back(dim);
  return builder.create<BroadcastInDimOp>(loc, type, reduced, kept);
}

/// The product of all elements before (with `isAfter`: after) each one along a dimension.
Value productOfOthers(OpBuilder &builder, Location loc, Value x, int64_t dim, bool isAfter) {
  ArrayType type = plainTypeOf(x);
  SmallVector<int64_t> low(type.getRank()), high(low), none(low);
  low[dim] = isAfter ? -1 : 1;
  high[dim] = -low[dim];
  Value one = builder.create<ConstantOp>(loc, ArrayType::get({}, type.getElementType()), Scalar::ofFloat(1));
  Value shifted = builder.create<PadOp>(loc, type, x, one, low, high, none);
  return builder.create<CumulativeOp>(loc, type, shifted, ReductionKind::prod, static_cast<uint64_t>(dim), isAfter);
}

/// The product of all other elements for each one: without division, so zeros are handled.
Value buildProductCotangent(OpBuilder &builder, Location loc, Value x, Value cotangent, ArrayRef<int64_t> dims) {
  ArrayType type = plainTypeOf(x);
  // Merges the reduced dimensions into one, at the end.
  SmallVector<int64_t> perm, shape;
  int64_t count = 1;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (!llvm::is_contained(dims, dim)) {
      perm.push_back(dim);
      shape.push_back(type.getDimSize(dim));
    }
  auto last = static_cast<int64_t>(shape.size());
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (llvm::is_contained(dims, dim)) {
      perm.push_back(dim);
      count *= type.getDimSize(dim);
    }
  shape.push_back(count);
  SmallVector<int64_t> inverse(perm.size());
  for (auto [to, from] : llvm::enumerate(perm))
    inverse[from] = static_cast<int64_t>(to);
  Value moved = builder.create<TransposeOp>(loc, x, perm);
  ArrayType movedType = plainTypeOf(moved), flatType = type.withShape(shape);
  Value flat = builder.create<ReshapeOp>(loc, flatType, moved);
  Term before(builder, loc, productOfOthers(builder, loc, flat, last, false));
  Term after(builder, loc, productOfOthers(builder, loc, flat, last, true));
  Term g(builder, loc, spread(builder, loc, cotangent, flatType, {last}));
  Value result = g * (before * after);
  result = builder.create<ReshapeOp>(loc, movedType, result);
  return builder.create<TransposeOp>(loc, result, inverse);
}

//===----------------------------------------------------------------------===//
// Running combinations
//===----------------------------------------------------------------------===//

/// Differentiates y = scan(x) along a dimension. The scan combines adjacent elements into half as many pairs, scans the
/// pairs, and computes the other results from that scan and the elements between.
class ScanTransposer {
public:
  ScanTransposer(OpBuilder &builder, Location loc, ReductionKind kind, int64_t dim)
      : builder(builder), loc(loc), kind(kind), dim(dim) {}

  /// The values of the forward pass at one level.
  struct Level {
    Value left, right, pairs;    ///< Adjacent elements, and their combinations.
    Value odd;                   ///< The scan of the pairs: the results at odd positions.
    Value before, between, even; ///< The odd results before even ones, the elements between, the even results.
  };

  Value scan(Value x, SmallVectorImpl<Level> &levels) {
    int64_t n = sizeOf(x);
    if (n < 2)
      return x;
    Level level;
    level.left = take(x, 0, n - 1, 2);
    level.right = take(x, 1, n, 2);
    level.pairs = combine(level.left, level.right);
    size_t index = levels.size();
    levels.emplace_back();
    level.odd = scan(level.pairs, levels);
    Value even = take(x, 0, 1, 1);
    if (n > 2) {
      level.before = n % 2 ? level.odd : take(level.odd, 0, sizeOf(level.odd) - 1, 1);
      level.between = take(x, 2, n, 2);
      level.even = combine(level.before, level.between);
      even = builder.create<ConcatenateOp>(loc, withSize(x, (n + 1) / 2), ValueRange{even, level.even},
                                           builder.getI64IntegerAttr(dim));
    }
    levels[index] = level;
    return add(place(even, n, 0, 2), place(level.odd, n, 1, 2));
  }

  Value transpose(Value cotangent, ArrayRef<Level> levels) {
    int64_t n = sizeOf(cotangent);
    if (n < 2)
      return cotangent;
    const Level &level = levels.front();
    Value odd = take(cotangent, 1, n, 2);
    Value result = place(take(cotangent, 0, 1, 1), n, 0, 1);
    if (n > 2) {
      auto [before, between] = transposeCombine(level.before, level.between, level.even, take(cotangent, 2, n, 2));
      result = add(result, place(between, n, 2, 2));
      odd = add(odd, place(before, sizeOf(odd), 0, 1));
    }
    auto [left, right] = transposeCombine(level.left, level.right, level.pairs, transpose(odd, levels.drop_front()));
    return add(result, add(place(left, n, 0, 2), place(right, n, 1, 2)));
  }

private:
  int64_t sizeOf(Value x) const { return plainTypeOf(x).getDimSize(dim); }

  ArrayType withSize(Value x, int64_t size) const {
    SmallVector<int64_t> shape(plainTypeOf(x).getShape());
    shape[dim] = size;
    return plainTypeOf(x).withShape(shape);
  }

  Value add(Value x, Value y) { return builder.create<AddOp>(loc, x, y); }

  Value combine(Value x, Value y) {
    if (kind == ReductionKind::prod)
      return builder.create<MultiplyOp>(loc, x, y);
    if (kind == ReductionKind::max)
      return builder.create<MaximumOp>(loc, x, y);
    return builder.create<MinimumOp>(loc, x, y);
  }

  std::pair<Value, Value> transposeCombine(Value left, Value right, Value combined, Value cotangent) {
    Term g(builder, loc, cotangent), x(builder, loc, left), y(builder, loc, right), r(builder, loc, combined);
    if (kind == ReductionKind::prod)
      return {g * y, g * x};
    return {g * shareOf(x, r, y), g * shareOf(y, r, x)};
  }

  Value take(Value x, int64_t start, int64_t limit, int64_t stride) {
    SmallVector<int64_t> starts(plainTypeOf(x).getRank()), strides(starts.size(), 1), limits(plainTypeOf(x).getShape());
    starts[dim] = start;
    limits[dim] = limit;
    strides[dim] = stride;
    return builder.create<SliceOp>(loc, x, starts, limits, strides);
  }

  /// An array of n zeros with the elements of x at start, start + stride, ...
  Value place(Value x, int64_t n, int64_t start, int64_t stride) {
    SmallVector<int64_t> low(plainTypeOf(x).getRank()), high(low), interior(low);
    low[dim] = start;
    high[dim] = n - 1 - start - (sizeOf(x) - 1) * stride;
    interior[dim] = stride - 1;
    Value zero = builder.create<ConstantOp>(loc, ArrayType::get({}, plainTypeOf(x).getElementType()), Scalar());
    return builder.create<PadOp>(loc, withSize(x, n), x, zero, low, high, interior);
  }

  OpBuilder &builder;
  Location loc;
  ReductionKind kind;
  int64_t dim;
};

} // namespace

SmallVector<Value> DotGeneralOp::buildCotangents(OpBuilder &builder, Location loc, Value cotangent,
                                                 ArrayRef<bool> isNeeded) {
  Side lhs{getLhs(), getLhsContract(), getLhsBatch(), getLhsFreeDims()};
  Side rhs{getRhs(), getRhsContract(), getRhsBatch(), getRhsFreeDims()};
  SmallVector<Value> cotangents(2);
  if (isNeeded[0])
    cotangents[0] = transposeContraction(builder, loc, cotangent, lhs, rhs, /*isLhs=*/true);
  if (isNeeded[1])
    cotangents[1] = transposeContraction(builder, loc, cotangent, rhs, lhs, /*isLhs=*/false);
  return cotangents;
}

SmallVector<Value> ReduceOp::buildCotangents(OpBuilder &builder, Location loc, Value cotangent, ArrayRef<bool>) {
  ArrayType type = plainTypeOf(getOperand());
  switch (getKind()) {
  case ReductionKind::sum:
    return {spread(builder, loc, cotangent, type, getDims())};
  case ReductionKind::prod:
    return {buildProductCotangent(builder, loc, getOperand(), cotangent, getDims())};
  case ReductionKind::max:
  case ReductionKind::min: {
    // All elements that equal the extreme share its cotangent.
    Term x(builder, loc, getOperand()), extreme(builder, loc, spread(builder, loc, getResult(), type, getDims()));
    Term isExtreme = convert(equal(x, extreme), type.getElementType());
    Term count(builder, loc, builder.create<ReduceOp>(loc, isExtreme, ReductionKind::sum, getDims()));
    Value share = Term(builder, loc, cotangent) / count;
    return {isExtreme * Term(builder, loc, spread(builder, loc, share, type, getDims()))};
  }
  case ReductionKind::and_:
  case ReductionKind::or_:
    return {Value()}; // No cotangents of bools and integers.
  }
  llvm_unreachable("unknown reduction");
}

SmallVector<Value> CumulativeOp::buildCotangents(OpBuilder &builder, Location loc, Value cotangent, ArrayRef<bool>) {
  ArrayType type = plainTypeOf(getOperand());
  auto dim = static_cast<int64_t>(getDim());
  if (type.getNumElements() == 0)
    return {cotangent};
  if (getKind() == ReductionKind::sum)
    return {builder.create<CumulativeOp>(loc, type, cotangent, ReductionKind::sum, getDim(), !getReversed(),
                                         getContinued())};
  ArrayType lines = type;
  if (getContinued()) {
    lines = getJoinedType();
    --dim;
  }
  auto reshape = [&](ArrayType to, Value value) -> Value {
    return getContinued() ? builder.create<ReshapeOp>(loc, to, value).getResult() : value;
  };
  auto fromFront = [&](Value value) -> Value {
    return getReversed() ? builder.create<ReverseOp>(loc, lines, value, ArrayRef<int64_t>{dim}).getResult() : value;
  };
  ScanTransposer transposer(builder, loc, getKind(), dim);
  SmallVector<ScanTransposer::Level> levels;
  transposer.scan(fromFront(reshape(lines, getOperand())), levels);
  return {reshape(type, fromFront(transposer.transpose(fromFront(reshape(lines, cotangent)), levels)))};
}

} // namespace spmdc
