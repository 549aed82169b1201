//===- BuiltinsCreation.cpp - new arrays ----------------------------------===//

#include "frontend/builtins/Builtins.h"
#include "frontend/emit/Leaves.h"

#include <cmath>

namespace spmdc {

using spmd::DType;

ArrayType typeArgument(const Args &args, size_t i, DType bareDType) {
  if (args[i].kind == ValueKind::Type && args[i].type.getDType() != DType::Key)
    return args[i].type;
  if (!args[i].isSequence() && !args[i].isInt())
    args.fail(i, "a type such as f32[2, 3], or a list of sizes");
  std::vector<int64_t> sizes = args.integers(i);
  for (int64_t size : sizes)
    if (size < 0)
      args.e.fail(args[i].range, "a size cannot be negative: " + shapeStr(sizes));
  return args.e.arrayType(sizes, bareDType);
}

Value created(const Args &args, mlir::Value value, ArrayType type) {
  Range written = args.range;
  for (size_t i = 0; args.has(i); ++i)
    if (args[i].kind == ValueKind::Type)
      written = args[i].range;
  return args.result(args.e.constrain(value, type.getSharding(), written));
}

namespace {

/// Whether the argument is the type of a struct, or another tree of types.
bool isTypeTree(const Value &value) {
  return isTree(value) && llvm::all_of(getLeaves(value), [](const Value &v) { return v.kind == ValueKind::Type; }) &&
         (value.isStruct() || !value.elements.empty());
}

/// Creates each leaf of a tree of types separately.
Value ofEachType(Args &args, llvm::function_ref<Value(ArrayType)> create) {
  if (!isTypeTree(args[0]))
    return create(typeArgument(args, 0, DType::F32));
  std::vector<Value> leaves = getLeaves(args[0]);
  for (Value &leaf : leaves)
    leaf = create(leaf.type);
  return withLeaves(args[0], leaves);
}

Value filled(Args &args, double value) {
  return ofEachType(args,
                    [&](ArrayType type) { return created(args, args.e.splat(type.withoutSharding(), value), type); });
}

Value zeros(Args &args) { return filled(args, 0); }
Value ones(Args &args) { return filled(args, 1); }

Value fullOf(Args &args, ArrayType type) {
  const Value &value = args.array(1);
  mlir::Value scalar =
      value.isConstant() ? args.e.materialize(value, type.getDType()) : args.e.convert(value.array, type.getDType());
  if (value.rank() > type.getRank() || (value.rank() > 0 && value.shape() != type.getShape().take_back(value.rank())))
    args.e.fail(args[1].range, value.describe() + " does not fill " + type.withoutSharding().str());
  if (auto constant = scalar.getDefiningOp<ConstantOp>(); constant && value.isConstant()) {
    auto elements = llvm::cast<mlir::DenseElementsAttr>(constant.getValue());
    scalar = args.e.create<ConstantOp>(type.withoutSharding(), elements.resizeSplat(type.getTensorType()));
    constant.erase();
  }
  return created(args, args.e.broadcastTo(scalar, type.getShape()), type);
}

Value full(Args &args) {
  return ofEachType(args, [&](ArrayType type) { return fullOf(args, type); });
}

Value iota(Args &args) {
  ArrayType type = typeArgument(args, 0, DType::I32);
  if (type.getDType() == DType::Bool || type.getRank() == 0)
    args.fail(0, "the type of an array of numbers");
  return created(args, args.e.iota(type, args.axis(1, type.getRank(), 0)), type);
}

/// arange(stop), arange(start, stop[, step]): i32 of integers, f32 of floats.
Value arange(Args &args) {
  Emitter &e = args.e;
  bool isFloat = false;
  for (size_t i = 0; i < 3; ++i)
    if (args.has(i)) {
      args.number(i);
      isFloat |= !args[i].isInt();
    }
  double start = args.has(1) ? args.number(0) : 0, stop = args.number(args.has(1) ? 1 : 0);
  double step = args.has(2) ? args.number(2) : 1;
  if (step == 0 || !std::isfinite(start) || !std::isfinite(stop) || !std::isfinite(step))
    e.fail(args.range, "'arange' needs finite bounds and a step that is not 0");
  double count = std::max(0.0, std::ceil((stop - start) / step));
  if (count > 0x1p40)
    e.fail(args.range, "'arange' would have more than 2^40 elements");
  if (!isFloat && (std::abs(start) > INT32_MAX || std::abs(stop) > 0x1p31 || std::abs(step) > INT32_MAX))
    e.fail(args.range, "'arange' of integers is i32: its bounds do not fit");
  ArrayType type = e.arrayType({static_cast<int64_t>(count)}, isFloat ? DType::F32 : DType::I32);
  mlir::Value result = e.iota(type, 0);
  if (step != 1)
    result = e.apply<MultiplyOp>(result, e.splat(type, step));
  if (start != 0)
    result = e.apply<AddOp>(result, e.splat(type, start));
  return args.result(result);
}

/// A mask of the elements whose column - row compares to k. The last dimensions of `shape` are rows and columns.
mlir::Value diagonalMask(Emitter &e, llvm::ArrayRef<int64_t> shape, int64_t k, ComparisonDirection direction) {
  llvm::ArrayRef<int64_t> sizes = shape.take_back(2);
  ArrayType type = e.arrayType(sizes, positionDType(std::max(sizes[0], sizes[1])));
  k = std::clamp(k, -sizes[0], sizes[1]); // Beyond the corners the mask does not change.
  mlir::Value rows = e.iota(type, 0), columns = e.iota(type, 1);
  if (k != 0)
    rows = e.apply<AddOp>(rows, e.splat(type, static_cast<double>(k)));
  return e.broadcastTo(e.compare(direction, columns, rows), shape);
}

Value eye(Args &args) {
  int64_t rows = args.integer(0), columns = args.integer(1, rows);
  if (rows < 0 || columns < 0)
    args.e.fail(args.range, "a size cannot be negative");
  mlir::Value mask = diagonalMask(args.e, {rows, columns}, args.integer(2, 0), ComparisonDirection::eq);
  return args.result(args.e.convert(mask, DType::F32));
}

template <ComparisonDirection kept> Value triangle(Args &args) {
  if (args.array(0).rank() < 2)
    args.fail(0, "an array of at least two dimensions");
  int64_t k = args.integer(1, 0);
  if (std::abs(k) > INT32_MAX / 2)
    args.fail(1, "a diagonal of the array");
  mlir::Value x = args.e.materialize(args[0]);
  mlir::Value mask = diagonalMask(args.e, args[0].shape(), k, kept);
  return args.result(args.e.select(mask, x, args.e.splatLike(x, 0)), args[0].dtypeClass().isWeak);
}

/// The type in which integers of a type and positions below `size` are compared; it holds both.
DType positionType(DType dtype, int64_t size) {
  if (spmd::byteSize(dtype) == 8)
    return dtype;
  if (size - 1 > INT32_MAX)
    return DType::I64;
  return dtype == DType::U32 ? DType::U32 : DType::I32;
}

/// f32: 1 where the index is the position along a new last dimension.
Value oneHot(Args &args) {
  Emitter &e = args.e;
  const Value &index = args.array(0);
  DTypeClass type = e.commonClass({index}, "'one_hot'");
  if (!spmd::isInteger(type.dtype))
    args.fail(0, "an array of integers");
  int64_t classes = args.integer(1);
  if (classes < 0)
    args.fail(1, "at least 0");
  llvm::SmallVector<int64_t> shape(index.shape());
  llvm::SmallVector<int64_t> dims;
  for (int64_t i = 0; i < index.rank(); ++i)
    dims.push_back(i);
  shape.push_back(classes);
  // The type holds every position: an iota of i8 or u8 would wrap around, and 19 would also match position 275 (as it
  // does in jax.nn.one_hot).
  mlir::Value wide = e.broadcastInDim(e.convert(e.materialize(index), positionType(type.dtype, classes)), shape, dims);
  mlir::Value positions = e.iota(plainTypeOf(wide), index.rank());
  return args.result(e.convert(e.compare(ComparisonDirection::eq, wide, positions), DType::F32));
}

const Builtin table[] = {
    {"zeros", "type", zeros},
    {"ones", "type", ones},
    {"full", "type value", full},
    {"iota", "type axis=0", iota},
    {"arange", "start stop=None step=None", arange},
    {"eye", "n m=None k=0", eye},
    {"tril", "x k=0", triangle<ComparisonDirection::le>},
    {"triu", "x k=0", triangle<ComparisonDirection::ge>},
    {"one_hot", "index n", oneHot},
};

} // namespace

llvm::ArrayRef<Builtin> creationBuiltins() { return table; }

} // namespace spmdc
