//===- BuiltinsIndex.cpp - run-time indices, sorts ------------------------===//

#include "frontend/builtins/Builtins.h"
#include "ir/array/Positions.h"

#include <limits>

namespace spmdc {

using spmd::DType;

namespace {

mlir::Value splatInt(Emitter &e, mlir::Value like, int64_t value) {
  return e.splat(plainTypeOf(like), Scalar::ofInt(value));
}

/// Integers of any dtype as i64; those of u64 that do not fit are clamped.
mlir::Value asI64(Emitter &e, mlir::Value x) {
  if (plainTypeOf(x).getDType() == DType::U64)
    x = e.apply<MinimumOp>(x, splatInt(e, x, INT64_MAX));
  return e.convert(x, DType::I64);
}

/// Integers of any dtype as i32; values that do not fit are clamped to the range of i32.
mlir::Value asI32(Emitter &e, mlir::Value x) {
  DType dtype = plainTypeOf(x).getDType();
  if (dtype == DType::I64)
    x = e.create<ClampOp>(plainTypeOf(x), splatInt(e, x, INT32_MIN), x, splatInt(e, x, INT32_MAX));
  else if (dtype == DType::U32 || dtype == DType::U64)
    x = e.apply<MinimumOp>(x, splatInt(e, x, INT32_MAX));
  return e.convert(x, DType::I32);
}

const Value &integers(const Args &args, size_t i) {
  const Value &value = args.array(i);
  bool isInteger = value.isConstant() ? value.isInt() : spmd::isInteger(value.dtype());
  if (!isInteger)
    args.fail(i, "an integer or an array of integers");
  return value;
}

/// The value for indices out of range: jnp's mode `fill`.
Scalar fillOf(DType dtype) {
  if (spmd::isFloat(dtype))
    return Scalar::ofFloat(std::numeric_limits<double>::quiet_NaN());
  if (spmd::isUnsigned(dtype)) // The largest number, whose bits are all set.
    return Scalar::ofInt(-1);
  return spmd::isInteger(dtype) ? Scalar::ofInt(integerRange(dtype).low) : Scalar::ofBool(true);
}

/// `taken` where the index is in range, else the fill value; the dimensions of the indices begin at `dim`.
mlir::Value fillOutside(Emitter &e, mlir::Value taken, mlir::Value indices, int64_t size, int64_t dim) {
  mlir::Value fromLow = e.compare(ComparisonDirection::ge, indices, splatInt(e, indices, 0));
  mlir::Value belowHigh = e.compare(ComparisonDirection::lt, indices, splatInt(e, indices, size));
  llvm::SmallVector<int64_t> dims;
  for (int64_t d = 0; d < plainTypeOf(indices).getRank(); ++d)
    dims.push_back(dim + d);
  ArrayType type = plainTypeOf(taken);
  mlir::Value isInside = e.broadcastInDim(e.apply<AndOp>(fromLow, belowHigh), type.getShape(), dims);
  return e.select(isInside, taken, e.splat(type, fillOf(type.getDType())));
}

void needElements(const Args &args, size_t i, int64_t axis, mlir::Value indices) {
  if (args[i].shape()[axis] == 0 && plainTypeOf(indices).getNumElements() != 0)
    args.fail(i, "an array that is not empty along axis " + std::to_string(axis));
}

/// take(x, indices, axis=): takes from the flattened array if no axis is given.
Value take(Args &args) {
  Emitter &e = args.e;
  const Value &x = args.array(0);
  mlir::Value array = e.materialize(x);
  int64_t axis = 0;
  if (args.has(2))
    axis = args.axis(2, x.rank());
  else
    array = e.reshape(array, {plainTypeOf(array).getNumElements()});
  int64_t size = plainTypeOf(array).getDimSize(axis);
  mlir::Value indices = indicesOf(e, integers(args, 1), size);
  if (size == 0 && plainTypeOf(indices).getNumElements() != 0)
    args.fail(0, "an array that is not empty");
  ArrayType type = plainTypeOf(array).withShape(TakeOp::inferShape(plainTypeOf(array), plainTypeOf(indices), axis));
  mlir::Value taken = e.create<TakeOp>(type, array, indices, axis);
  return args.result(fillOutside(e, taken, indices, size, axis), x.dtypeClass().isWeak);
}

/// All dimensions except the axis broadcast against each other.
Value takeAlongAxis(Args &args) {
  Emitter &e = args.e;
  const Value &x = args.array(0), &given = integers(args, 1);
  int64_t axis = args.axis(2, x.rank(), -1);
  if (given.rank() != x.rank())
    args.fail(1, "an array of the same rank as " + x.describe());
  int64_t size = x.shape()[axis];
  llvm::SmallVector<int64_t> shape(x.shape()), indexShape(given.shape());
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (d == axis)
      continue;
    int64_t common = shape[d] == 1 ? indexShape[d] : shape[d];
    if (indexShape[d] != 1 && indexShape[d] != common)
      args.fail(1, "an array that broadcasts to " + x.describe() + " except for axis " + std::to_string(axis));
    shape[d] = indexShape[d] = common;
  }
  mlir::Value array = e.broadcastTo(e.materialize(x), shape);
  mlir::Value indices = e.broadcastTo(indicesOf(e, given, size), indexShape);
  needElements(args, 0, axis, indices);
  mlir::Value taken = e.create<TakeAlongOp>(plainTypeOf(array).withShape(indexShape), array, indices, axis);
  return args.result(fillOutside(e, taken, indices, size, 0), x.dtypeClass().isWeak);
}

/// update(x, v, start=[i, 0]): x with a window replaced by v.
Value update(Args &args) {
  Emitter &e = args.e;
  const Value &x = args.array(0), &v = args.array(1);
  mlir::Value array = e.materialize(x);
  ArrayType type = plainTypeOf(array);
  if (v.rank() != x.rank())
    args.fail(1, "an array of the same rank as " + x.describe());
  for (auto [size, written] : llvm::zip(x.shape(), v.shape()))
    if (written > size)
      args.fail(1, "an array that fits into " + x.describe());
  if (!v.isConstant() && !v.isWeak && v.dtype() != x.dtype())
    args.fail(1, "an array of the same dtype as " + x.describe());
  if (!args[2].isSequence() || static_cast<int64_t>(args[2].elements.size()) != x.rank())
    args.fail(2, "a list of " + std::to_string(x.rank()) + (x.rank() == 1 ? " integer" : " integers") +
                     ", one for each dimension");
  llvm::SmallVector<mlir::Value> starts;
  for (auto [d, start] : llvm::enumerate(args[2].elements)) {
    bool isInteger = start.isConstant() ? start.isInt() : start.isArray() && spmd::isInteger(start.dtype());
    if (!isInteger || start.rank() != 0)
      e.fail(start.range, "'start' of 'update' is a list of integers; this is " + start.describe());
    starts.push_back(indicesOf(e, start, x.shape()[d]));
  }
  mlir::Value window = e.materialize(v, type.getDType());
  return args.result(e.create<DynamicUpdateSliceOp>(type, array, window, mlir::ValueRange(starts)));
}

Value scatterAdd(Args &args) {
  Emitter &e = args.e;
  const Value &x = args.array(0), &v = args.array(2);
  mlir::Value array = e.materialize(x);
  ArrayType type = plainTypeOf(array);
  if (x.rank() == 0 || x.dtype() == DType::Bool)
    args.fail(0, "an array of numbers with at least one dimension");
  int64_t axis = args.axis(3, x.rank(), 0);
  mlir::Value indices = indicesOf(e, integers(args, 1), x.shape()[axis]);
  llvm::SmallVector<int64_t> shape = TakeOp::inferShape(type, plainTypeOf(indices), axis);
  if (!v.isConstant() && !v.isWeak && v.dtype() != x.dtype())
    args.fail(2, "an array of the same dtype as " + x.describe());
  Value like = Value::ofArray(e.splat(e.arrayType(shape, x.dtype()), Scalar()), false, args.range);
  if (v.rank() > static_cast<int64_t>(shape.size()) ||
      llvm::ArrayRef<int64_t>(e.commonShape({v, like}, args.range, "updates")) != llvm::ArrayRef<int64_t>(shape))
    args.fail(2, "an array that broadcasts to " + shapeStr(shape));
  mlir::Value updates = e.broadcastTo(e.materialize(v, type.getDType()), shape);
  return args.result(e.create<ScatterAddOp>(type, array, indices, updates, axis));
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

mlir::Value orderOf(Emitter &e, mlir::Value x, int64_t axis, bool isDescending) {
  ArrayType type = plainTypeOf(x);
  type = type.withElementType(e.elementType(positionDType(type.getDimSize(axis))));
  return e.create<ArgsortOp>(type, x, axis, isDescending);
}

/// The array to sort, and the axis.
std::pair<mlir::Value, int64_t> orderedArgument(const Args &args) {
  const Value &x = args.array(0);
  if (x.rank() == 0)
    args.fail(0, "an array with at least one dimension");
  return {args.e.materialize(x), args.axis(1, x.rank(), -1)};
}

Value sort(Args &args) {
  auto [x, axis] = orderedArgument(args);
  mlir::Value order = orderOf(args.e, x, axis, false);
  return args.result(args.e.create<TakeAlongOp>(plainTypeOf(x), x, order, axis), args[0].dtypeClass().isWeak);
}

Value argsort(Args &args) {
  auto [x, axis] = orderedArgument(args);
  mlir::Value order = orderOf(args.e, x, axis, false);
  return args.result(asIndexDType(args, order, plainTypeOf(x).getDimSize(axis), 2));
}

/// The k largest of the last dimension and their positions, in descending order.
Value topK(Args &args) {
  Emitter &e = args.e;
  const Value &given = args.array(0);
  if (given.rank() == 0)
    args.fail(0, "an array with at least one dimension");
  mlir::Value x = e.materialize(given);
  int64_t axis = given.rank() - 1, size = given.shape()[axis], k = args.integer(1);
  if (k < 0 || k > size)
    args.fail(1, "between 0 and " + std::to_string(size) + ", the size of the last dimension");
  mlir::Value order = e.sliceDim(orderOf(e, x, axis, true), axis, 0, k);
  ArrayType type = plainTypeOf(x).withShape(plainTypeOf(order).getShape());
  Value result;
  result.kind = ValueKind::Tuple;
  result.range = args.range;
  result.elements = {args.result(e.create<TakeAlongOp>(type, x, order, axis), given.dtypeClass().isWeak),
                     args.result(asIndexDType(args, order, size, 2))};
  return result;
}

const Builtin table[] = {
    {"take", "x indices axis=None", take},
    {"take_along_axis", "x indices axis=-1", takeAlongAxis},
    {"update", "x v start", update},
    {"scatter_add", "x indices v axis=0", scatterAdd},
    {"sort", "x axis=-1", sort},
    {"argsort", "x axis=-1 index_dtype=None", argsort},
    {"top_k", "x k index_dtype=None", topK},
};

} // namespace

DType positionDType(int64_t size) { return size <= kMaxNarrowSize ? DType::I32 : DType::I64; }

mlir::Value asIndexDType(const Args &args, mlir::Value positions, int64_t size, size_t i) {
  DType dtype = DType::I32;
  if (args.has(i)) {
    if (args[i].kind != ValueKind::Type || args[i].type.getRank() != 0 ||
        (args[i].type.getDType() != DType::I32 && args[i].type.getDType() != DType::I64))
      args.fail(i, "i32 or i64");
    dtype = args[i].type.getDType();
  }
  if (dtype == DType::I32 && size - 1 > INT32_MAX)
    args.e.fail(args.range, "'" + std::string(args.function) + "' over " + std::to_string(size) +
                                " elements: the largest position, " + std::to_string(size - 1) +
                                ", does not fit into i32; write " + std::string(args.function) +
                                "(..., index_dtype=i64)");
  return args.e.convert(positions, dtype);
}

mlir::Value indicesOf(Emitter &e, const Value &value, int64_t size) {
  DType dtype = positionDType(size);
  mlir::Value x = value.isConstant() ? e.materialize(value, dtype) : value.array;
  x = dtype == DType::I32 ? asI32(e, x) : asI64(e, x);
  mlir::Value isNegative = e.compare(ComparisonDirection::lt, x, splatInt(e, x, 0));
  return e.select(isNegative, e.apply<AddOp>(x, splatInt(e, x, size)), x);
}

llvm::ArrayRef<Builtin> indexBuiltins() { return table; }

} // namespace spmdc
