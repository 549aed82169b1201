//===- BuiltinsReduce.cpp - reductions and scans --------------------------===//
//
// Results and intermediate precision are jax.numpy's: bf16 and f16 means and variances are computed in f32, sums of
// small integers widen, an empty maximum is an error.
//
//===----------------------------------------------------------------------===//

#include "frontend/builtins/Builtins.h"
#include "frontend/emit/Leaves.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>

namespace spmdc {

using spmd::DType;

namespace {

constexpr std::string_view reductionParameters = "x axis=None keepdims=false";

std::string quoted(const Args &args) { return "'" + std::string(args.function) + "'"; }

/// The reduced value, with dimensions of size 1 if keepdims is set.
mlir::Value keepDims(Args &args, mlir::Value reduced, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> axes) {
  if (!args.flag(2, false))
    return reduced;
  llvm::SmallVector<int64_t> kept(shape);
  for (int64_t axis : axes)
    kept[axis] = 1;
  return args.e.reshape(reduced, kept);
}

/// Sums of integers of less than 32 bits, and of bools, have 32 bits.
DType widened(DType dtype) {
  if (dtype != DType::Bool && (!spmd::isInteger(dtype) || spmd::byteSize(dtype) >= 4))
    return dtype;
  return spmd::isUnsigned(dtype) ? DType::U32 : DType::I32;
}

template <ReductionKind kind> Value sumOrProduct(Args &args) {
  DTypeClass type = args.e.commonClass({args[0]}, quoted(args));
  auto axes = args.axes(1, args[0].rank());
  mlir::Value x = args.e.materialize(args[0], widened(type.dtype));
  return args.result(keepDims(args, args.e.reduce(x, kind, axes), args[0].shape(), axes));
}

void checkNotEmpty(Args &args, llvm::ArrayRef<int64_t> axes) {
  for (int64_t axis : axes)
    if (args[0].shape()[axis] == 0)
      args.e.fail(args.range, quoted(args) + " of no elements: dimension " + std::to_string(axis) + " of " +
                                  args[0].describe() + " is empty");
}

/// `max(x, axis=)` reduces; `max(x, y)` is elementwise. With `initial` it is the extreme of that and all elements; the
/// array may be empty.
template <ReductionKind kind, typename ElementwiseOp> Value extreme(Args &args) {
  Emitter &e = args.e;
  if (args.has(1)) {
    if (args.has(2) || args.has(3) || args.has(4))
      e.fail(args.range, quoted(args) + " of two arrays is elementwise and takes no axis; to reduce, write " +
                             std::string(args.function) + "(x, axis=...)");
    DTypeClass type = e.commonClass({args[0], args[1]}, quoted(args));
    auto xy = e.unify({args[0], args[1]}, type.dtype, args.range, quoted(args));
    return args.result(e.apply<ElementwiseOp>(xy[0], xy[1]), type.isWeak);
  }
  e.commonClass({args[0]}, quoted(args));
  auto axes = args.axes(2, args[0].rank());
  if (!args.has(4))
    checkNotEmpty(args, axes);
  mlir::Value x = e.materialize(args[0]);
  mlir::Value reduced = e.reduce(x, kind, axes);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  // Nothing exceeds -inf.
  if (args.has(4) && args.number(4) != (kind == ReductionKind::max ? -infinity : infinity)) {
    mlir::Value initial = e.truncated(args[4], plainTypeOf(reduced).getDType());
    reduced = e.apply<ElementwiseOp>(reduced, e.broadcastTo(initial, plainTypeOf(reduced).getShape()));
  }
  if (args.flag(3, false)) {
    llvm::SmallVector<int64_t> kept(args[0].shape());
    for (int64_t axis : axes)
      kept[axis] = 1;
    reduced = e.reshape(reduced, kept);
  }
  return args.result(reduced);
}

template <ReductionKind kind> Value anyOrAll(Args &args) {
  args.e.commonClass({args[0]}, quoted(args));
  auto axes = args.axes(1, args[0].rank());
  mlir::Value x = args.e.isNonZero(args.e.materialize(args[0]));
  return args.result(keepDims(args, args.e.reduce(x, kind, axes), args[0].shape(), axes));
}

double elementsOver(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> axes) {
  double count = 1;
  for (int64_t axis : axes)
    count *= static_cast<double>(shape[axis]);
  return count;
}

DType accumulatorOf(DType dtype) { return dtype == DType::F64 ? DType::F64 : DType::F32; }

/// Sum over the axes divided by their size.
mlir::Value meanOf(Emitter &e, mlir::Value x, llvm::ArrayRef<int64_t> axes) {
  double count = elementsOver(plainTypeOf(x).getShape(), axes);
  mlir::Value sum = e.reduce(x, ReductionKind::sum, axes);
  return e.apply<DivideOp>(sum, e.splatLike(sum, count));
}

Value mean(Args &args) {
  DTypeClass type = toInexact(args.e.commonClass({args[0]}, quoted(args)));
  auto axes = args.axes(1, args[0].rank());
  mlir::Value x = args.e.materialize(args[0], accumulatorOf(type.dtype));
  mlir::Value result = args.e.convert(meanOf(args.e, x, axes), type.dtype);
  return args.result(keepDims(args, result, args[0].shape(), axes));
}

/// Mean of the squared distances from the mean (ddof 0).
Value var(Args &args) {
  Emitter &e = args.e;
  DTypeClass type = toInexact(e.commonClass({args[0]}, quoted(args)));
  auto axes = args.axes(1, args[0].rank());
  mlir::Value x = e.materialize(args[0], accumulatorOf(type.dtype));
  llvm::SmallVector<int64_t> kept(args[0].shape());
  for (int64_t axis : axes)
    kept[axis] = 1;
  mlir::Value center = e.broadcastTo(e.reshape(meanOf(e, x, axes), kept), args[0].shape());
  mlir::Value distance = e.apply<SubtractOp>(x, center);
  mlir::Value result = meanOf(e, e.apply<MultiplyOp>(distance, distance), axes);
  return args.result(keepDims(args, e.convert(result, type.dtype), args[0].shape(), axes));
}

/// log of the sum of exponentials, taken relative to the largest element where that is finite.
Value logsumexp(Args &args) {
  Emitter &e = args.e;
  DTypeClass type = toInexact(e.commonClass({args[0]}, quoted(args)));
  auto axes = args.axes(1, args[0].rank()); // Of no elements it is -inf, the logarithm of an empty sum.
  mlir::Value x = e.materialize(args[0], type.dtype);
  llvm::SmallVector<int64_t> kept(args[0].shape());
  for (int64_t axis : axes)
    kept[axis] = 1;
  mlir::Value largest = e.reshape(e.reduce(x, ReductionKind::max, axes), kept);
  mlir::Value isFinite = e.create<IsFiniteOp>(plainTypeOf(largest).withElementType(e.builder.getI1Type()), largest);
  largest = e.select(isFinite, largest, e.splatLike(largest, 0));
  largest = e.apply<StopGradientOp>(largest); // It cancels, so it needs no gradient.
  mlir::Value shifted = e.apply<SubtractOp>(x, e.broadcastTo(largest, args[0].shape()));
  mlir::Value sum = e.reduce(e.apply<ExpOp>(shifted), ReductionKind::sum, axes);
  mlir::Value logSum = e.apply<LogOp>(sum);
  mlir::Value result = e.apply<AddOp>(logSum, e.reshape(largest, plainTypeOf(logSum).getShape()));
  return args.result(keepDims(args, result, args[0].shape(), axes));
}

template <bool isMax> Value argReduce(Args &args) {
  Emitter &e = args.e;
  e.commonClass({args[0]}, quoted(args));
  mlir::Value x = e.materialize(args[0]);
  llvm::SmallVector<int64_t> shape(args[0].shape());
  if (!args.has(1)) { // Over all elements in row-major order.
    int64_t count = plainTypeOf(x).getNumElements();
    if (count == 0)
      e.fail(args.range, quoted(args) + " of no elements");
    x = e.reshape(x, {count});
  }
  int64_t axis = args.has(1) ? args.axis(1, args[0].rank()) : 0;
  if (args.has(1))
    checkNotEmpty(args, {axis});
  llvm::SmallVector<int64_t> reduced(plainTypeOf(x).getShape());
  reduced.erase(reduced.begin() + axis);
  int64_t size = plainTypeOf(x).getDimSize(axis);
  mlir::Value result =
      e.create<ArgReduceOp>(e.arrayType(reduced, positionDType(size)), x, isMax, static_cast<uint64_t>(axis));
  result = asIndexDType(args, result, size, 3);
  if (args.flag(2, false)) {
    for (auto [i, size] : llvm::enumerate(shape))
      if (!args.has(1) || static_cast<int64_t>(i) == axis)
        size = 1;
    result = e.reshape(result, shape);
  }
  return args.result(result);
}

/// Scans; without an axis, over all elements in row-major order. `reverse`: from the end, as in jax.lax.cumsum.
template <ReductionKind kind> Value cumulative(Args &args) {
  Emitter &e = args.e;
  DTypeClass type = e.commonClass({args[0]}, quoted(args));
  if (type.dtype == DType::Bool && kind != ReductionKind::max)
    type.dtype = DType::I32;
  mlir::Value x = e.materialize(args[0], type.dtype);
  if (args[0].rank() == 0 || !args.has(1))
    x = e.reshape(x, {plainTypeOf(x).getNumElements()});
  int64_t axis = args.has(1) ? args.axis(1, args[0].rank()) : 0;
  return args.result(e.create<CumulativeOp>(plainTypeOf(x), x, kind, static_cast<uint64_t>(axis), args.flag(2, false)));
}

/// As in jax.lax.cummax: along the first axis if none is given.
Value cummax(Args &args) {
  Emitter &e = args.e;
  DTypeClass type = e.commonClass({args[0]}, quoted(args));
  int64_t axis = args.axis(1, args[0].rank(), 0);
  mlir::Value x = e.materialize(args[0]);
  return args.result(
      e.create<CumulativeOp>(plainTypeOf(x), x, ReductionKind::max, static_cast<uint64_t>(axis), args.flag(2, false)),
      type.isWeak);
}

/// The Euclidean norm of all leaves together, as one vector.
Value globalNorm(Args &args) {
  Emitter &e = args.e;
  std::optional<Value> total;
  for (const Value &leaf : getLeaves(args[0])) {
    if (!leaf.isNumeric())
      e.fail(args[0].range, quoted(args) + " takes arrays and structs of them, not " + leaf.describe());
    DTypeClass type = toInexact(leaf.dtypeClass());
    Value x = Value::ofArray(e.materialize(leaf, type.dtype), type.isWeak, leaf.range);
    mlir::Value squares = e.apply<MultiplyOp>(x.array, x.array);
    llvm::SmallVector<int64_t> dims;
    for (int64_t dim = 0; dim < leaf.rank(); ++dim)
      dims.push_back(dim);
    Value sum = Value::ofArray(e.reduce(squares, ReductionKind::sum, dims), type.isWeak, args.range);
    total = total ? e.binary(BinaryOp::Add, *total, sum, args.range) : sum;
  }
  if (!total)
    args.fail(0, "an array, or a tree with at least one");
  return args.result(e.apply<SqrtOp>(total->array), total->isWeak);
}

const Builtin table[] = {
    {"sum", reductionParameters, sumOrProduct<ReductionKind::sum>},
    {"prod", reductionParameters, sumOrProduct<ReductionKind::prod>},
    {"max", "x y=None axis=None keepdims=false initial=None", extreme<ReductionKind::max, MaximumOp>},
    {"min", "x y=None axis=None keepdims=false initial=None", extreme<ReductionKind::min, MinimumOp>},
    {"mean", reductionParameters, mean},
    {"var", reductionParameters, var},
    {"any", reductionParameters, anyOrAll<ReductionKind::or_>},
    {"all", reductionParameters, anyOrAll<ReductionKind::and_>},
    {"argmax", "x axis=None keepdims=false index_dtype=None", argReduce<true>},
    {"argmin", "x axis=None keepdims=false index_dtype=None", argReduce<false>},
    {"logsumexp", reductionParameters, logsumexp},
    {"cumsum", "x axis=None reverse=false", cumulative<ReductionKind::sum>},
    {"cumprod", "x axis=None reverse=false", cumulative<ReductionKind::prod>},
    {"cummax", "x axis=0 reverse=false", cummax},
    {"global_norm", "p", globalNorm},
};

} // namespace

llvm::ArrayRef<Builtin> reductionBuiltins() { return table; }

} // namespace spmdc
