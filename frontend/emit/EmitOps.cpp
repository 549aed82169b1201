//===- EmitOps.cpp - helpers that build operations ------------------------===//

#include "frontend/emit/Emitter.h"

#include "ir/spmd/Location.h"
#include "runtime/support/ArraySize.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace spmdc {

static mlir::Location rangeLoc(mlir::MLIRContext *context, const Range &range) {
  LineColumn first = range.start();
  LineColumn last = range.source->position(range.end > range.begin ? range.end - 1 : range.begin);
  return getRangeLoc(context, range.source->getName(), first.line, first.column, last.line, last.column);
}

mlir::Location Emitter::locAt(Range range) { return rangeLoc(builder.getContext(), range); }

/// The range of the current expression. Inside the prelude that is the user's call; inside an inlined function the
/// location also holds the calls around it.
mlir::Location Emitter::loc() {
  mlir::MLIRContext *context = builder.getContext();
  Frame *at = frame;
  Range range = currentRange;
  while (at && at->isPrelude) {
    range = at->callRange;
    at = at->caller;
  }
  if (!range.source)
    return mlir::UnknownLoc::get(context);
  mlir::Location result = rangeLoc(context, range);
  mlir::LocationAttr callers = callLoc(at);
  return callers ? mlir::Location(mlir::CallSiteLoc::get(result, mlir::Location(callers))) : result;
}

/// Cached in the frame, since every operation of a body needs it.
mlir::LocationAttr Emitter::callLoc(Frame *at) {
  if (!at || !at->callRange.source)
    return {};
  if (!at->callLoc) {
    mlir::Location here = rangeLoc(builder.getContext(), at->callRange);
    mlir::LocationAttr callers = callLoc(at->caller);
    if (callers)
      here = mlir::CallSiteLoc::get(here, mlir::Location(callers));
    at->callLoc = here;
  }
  return at->callLoc;
}

void Emitter::checkSize(ArrayType type, Range range) {
  if (!type.hasAllowedSize())
    fail(range, "the array would have more than 2^56 bytes");
}

mlir::Value Emitter::splat(ArrayType type, Scalar value) { return create<ConstantOp>(type, value); }

mlir::Value Emitter::splat(ArrayType type, double value) {
  bool isFloat = spmd::isFloat(type.getDType());
  return splat(type, isFloat ? Scalar::ofFloat(value) : Scalar::ofInt(static_cast<int64_t>(value)));
}

mlir::Value Emitter::compare(ComparisonDirection direction, mlir::Value x, mlir::Value y) {
  return create<CompareOp>(plainTypeOf(x).withElementType(builder.getI1Type()), x, y, direction);
}

mlir::Value Emitter::select(mlir::Value predicate, mlir::Value onTrue, mlir::Value onFalse) {
  return create<SelectOp>(plainTypeOf(onTrue), predicate, onTrue, onFalse);
}

mlir::Value Emitter::convert(mlir::Value x, spmd::DType dtype) {
  ArrayType type = plainTypeOf(x);
  if (type.getDType() == dtype)
    return x;
  return create<ConvertOp>(type.withElementType(elementType(dtype)), x);
}

mlir::Value Emitter::reshape(mlir::Value x, llvm::ArrayRef<int64_t> shape) {
  ArrayType type = plainTypeOf(x);
  return type.getShape() == shape ? x : create<ReshapeOp>(type.withShape(shape), x);
}

mlir::Value Emitter::transpose(mlir::Value x, llvm::ArrayRef<int64_t> perm) {
  ArrayType type = plainTypeOf(x);
  llvm::SmallVector<int64_t> shape;
  bool isIdentity = true;
  for (auto [i, dim] : llvm::enumerate(perm)) {
    shape.push_back(type.getDimSize(dim));
    isIdentity &= static_cast<int64_t>(i) == dim;
  }
  return isIdentity ? x : create<TransposeOp>(type.withShape(shape), x, perm);
}

mlir::Value Emitter::reverse(mlir::Value x, llvm::ArrayRef<int64_t> dims) {
  return dims.empty() ? x : create<ReverseOp>(plainTypeOf(x), x, dims);
}

mlir::Value Emitter::slice(mlir::Value x, llvm::ArrayRef<int64_t> starts, llvm::ArrayRef<int64_t> limits,
                           llvm::ArrayRef<int64_t> strides) {
  ArrayType type = plainTypeOf(x);
  llvm::SmallVector<int64_t> shape;
  for (auto [start, limit, stride] : llvm::zip(starts, limits, strides))
    shape.push_back(limit <= start ? 0 : (limit - start + stride - 1) / stride);
  bool isFullSlice = llvm::all_of(strides, [](int64_t stride) { return stride == 1; }) && type.getShape().equals(shape);
  return isFullSlice ? x : create<SliceOp>(type.withShape(shape), x, starts, limits, strides);
}

mlir::Value Emitter::sliceDim(mlir::Value x, int64_t dim, int64_t start, int64_t limit, int64_t stride) {
  llvm::SmallVector<int64_t> starts(plainTypeOf(x).getRank(), 0), limits(plainTypeOf(x).getShape());
  llvm::SmallVector<int64_t> strides(plainTypeOf(x).getRank(), 1);
  starts[dim] = start;
  limits[dim] = limit;
  strides[dim] = stride;
  return slice(x, starts, limits, strides);
}

mlir::Value Emitter::concatenate(llvm::ArrayRef<mlir::Value> parts, int64_t dim) {
  if (parts.size() == 1)
    return parts[0];
  llvm::SmallVector<int64_t> shape(plainTypeOf(parts[0]).getShape());
  shape[dim] = 0;
  for (mlir::Value part : parts)
    shape[dim] = spmd::addSaturated(shape[dim], plainTypeOf(part).getDimSize(dim));
  return create<ConcatenateOp>(plainTypeOf(parts[0]).withShape(shape), parts, dim);
}

mlir::Value Emitter::broadcastInDim(mlir::Value x, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dims) {
  if (plainTypeOf(x).getShape() == shape)
    return x;
  return create<BroadcastInDimOp>(plainTypeOf(x).withShape(shape), x, dims);
}

mlir::Value Emitter::broadcastTo(mlir::Value x, llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t> dims;
  int64_t missing = shape.size() - plainTypeOf(x).getRank();
  for (int64_t i = missing; i < static_cast<int64_t>(shape.size()); ++i)
    dims.push_back(i);
  return broadcastInDim(x, shape, dims);
}

mlir::Value Emitter::reduce(mlir::Value x, ReductionKind kind, llvm::ArrayRef<int64_t> dims) {
  if (dims.empty())
    return x;
  llvm::SmallVector<int64_t> shape;
  for (auto [i, size] : llvm::enumerate(plainTypeOf(x).getShape()))
    if (!llvm::is_contained(dims, static_cast<int64_t>(i)))
      shape.push_back(size);
  return create<ReduceOp>(plainTypeOf(x).withShape(shape), x, kind, dims);
}

mlir::Value Emitter::iota(ArrayType type, int64_t dim) {
  return create<IotaOp>(type.withoutSharding(), static_cast<uint64_t>(dim));
}

mlir::Value Emitter::constrain(mlir::Value x, ShardingAttr sharding, Range written) {
  ArrayType type = plainTypeOf(x).withSharding(sharding);
  if (type == x.getType() || type == plainTypeOf(x))
    return x;
  if (isManual)
    checkAnnotationInside(sharding);
  return createConstraint(type, x, written);
}

mlir::Value Emitter::createConstraint(ArrayType type, mlir::Value x, Range written) {
  ++operationCount;
  return builder.create<ConstraintOp>(getAnnotatedLoc(loc(), locAt(written)), type, x);
}

mlir::Value Emitter::isNonZero(mlir::Value x) {
  if (plainTypeOf(x).getDType() == spmd::DType::Bool)
    return x;
  return compare(ComparisonDirection::ne, x, splatLike(x, 0));
}

mlir::Value Emitter::isNaN(mlir::Value x) { return compare(ComparisonDirection::ne, x, x); }

//===----------------------------------------------------------------------===//
// From values to operands
//===----------------------------------------------------------------------===//

mlir::Value Emitter::materialize(const Value &value, spmd::DType dtype) {
  if (value.isArray())
    return convert(value.array, dtype);
  if (value.isKey() && dtype == spmd::DType::Key)
    return value.array;
  if (!value.isConstant())
    fail(value.range, "expected an array or a number, got " + value.describe());
  ArrayType type = arrayType({}, dtype);
  const Constant &constant = value.constant;
  if (spmd::isFloat(dtype))
    return splat(type, Scalar::ofFloat(constant.asDouble()));
  if (dtype == spmd::DType::Bool)
    return splat(type, Scalar::ofBool(constant.isTrue()));
  if (constant.kind == Constant::Kind::Float)
    fail(value.range, "the number " + constant.str() + " is no " + std::string(spmd::dtypeName(dtype)));
  if (!integerRange(dtype).contains(constant.i))
    failRange(value, dtype);
  return splat(type, Scalar::ofInt(constant.i));
}

void Emitter::failRange(const Value &number, spmd::DType dtype) {
  IntegerRange range = integerRange(dtype);
  bool isU64 = dtype == spmd::DType::U64;
  fail(number.range, number.describe() + " does not fit in " + std::string(spmd::dtypeName(dtype)) + ", which holds " +
                         std::to_string(range.low) + " to " +
                         (isU64 ? std::to_string(UINT64_MAX) : std::to_string(range.high)));
}

mlir::Value Emitter::truncated(const Value &number, spmd::DType dtype) {
  bool isFraction = number.isConstant() && number.constant.kind == Constant::Kind::Float && spmd::isInteger(dtype);
  if (!isFraction)
    return materialize(number, dtype);
  // By powers of two, which are exact: the largest i64 and u64 are no doubles. NaN does not fit either.
  double whole = std::trunc(number.constant.f);
  bool isUnsigned = spmd::isUnsigned(dtype);
  auto bits = static_cast<int>(8 * spmd::byteSize(dtype));
  double low = isUnsigned ? 0 : -std::ldexp(1.0, bits - 1), end = std::ldexp(1.0, isUnsigned ? bits : bits - 1);
  if (!(whole >= low && whole < end))
    failRange(number, dtype);
  int64_t value = isUnsigned ? static_cast<int64_t>(static_cast<uint64_t>(whole)) : static_cast<int64_t>(whole);
  return splat(arrayType({}, dtype), Scalar::ofInt(value));
}

std::string takeApart(const Value &value) {
  if (value.isStruct()) {
    std::string fields;
    for (const FieldDecl &field : value.structDecl->fields)
      fields += (fields.empty() ? "" : ", ") + std::string(field.name.text);
    return fields.empty() ? "" : "; take its fields one by one: " + fields;
  }
  if (!value.isSequence() || value.elements.empty())
    return "";
  bool isNumbers = llvm::all_of(value.elements, [](const Value &v) { return v.isConstant(); });
  return isNumbers ? "; stack([..]) turns it into an array"
                   : "; take its elements one by one, with an index or 'let (a, b) = ...'";
}

DTypeClass Emitter::commonClass(llvm::ArrayRef<Value> values, std::string_view what) {
  std::optional<DTypeClass> common;
  for (const Value &value : values) {
    if (!value.isNumeric())
      fail(value.range, std::string(what) + " takes arrays and numbers, not " + value.describe() + takeApart(value));
    common = common ? promote(*common, value.dtypeClass()) : value.dtypeClass();
    if (!common || common->dtype == spmd::DType::Key)
      fail(value.range, std::string(what) + " takes numbers, not random keys");
  }
  return *common;
}

llvm::SmallVector<int64_t> Emitter::commonShape(llvm::ArrayRef<Value> values, Range where, std::string_view what) {
  llvm::SmallVector<int64_t> shape;
  for (const Value &value : values) {
    llvm::ArrayRef<int64_t> other = value.shape();
    llvm::SmallVector<int64_t> joined(std::max(shape.size(), other.size()));
    for (size_t fromEnd = 1; fromEnd <= joined.size(); ++fromEnd) {
      int64_t a = fromEnd <= shape.size() ? shape[shape.size() - fromEnd] : 1;
      int64_t b = fromEnd <= other.size() ? other[other.size() - fromEnd] : 1;
      if (a != b && a != 1 && b != 1)
        failAbout(where,
                  "shapes do not broadcast in " + std::string(what) + ": " + shapeStr(shape) + " and " +
                      shapeStr(other) + " differ in dimension -" + std::to_string(fromEnd) + " (" + std::to_string(a) +
                      " and " + std::to_string(b) + ")",
                  values);
      joined[joined.size() - fromEnd] = a == 1 ? b : a;
    }
    shape = joined;
  }
  return shape;
}

llvm::SmallVector<mlir::Value> Emitter::unify(llvm::ArrayRef<Value> values, spmd::DType dtype, Range where,
                                              std::string_view what) {
  llvm::SmallVector<int64_t> shape = commonShape(values, where, what);
  llvm::SmallVector<mlir::Value> result;
  for (const Value &value : values) {
    if (value.isArray()) {
      result.push_back(broadcastTo(convert(value.array, dtype), shape));
      continue;
    }
    // A number is broadcast to the shape directly.
    mlir::Value scalar = materialize(value, dtype);
    if (!shape.empty()) {
      auto constant = scalar.getDefiningOp<ConstantOp>();
      auto elements = llvm::cast<mlir::DenseElementsAttr>(constant.getValue());
      ArrayType type = plainTypeOf(scalar).withShape(shape);
      constant.erase();
      scalar = create<ConstantOp>(type, elements.resizeSplat(type.getTensorType()));
    }
    result.push_back(scalar);
  }
  return result;
}

} // namespace spmdc
