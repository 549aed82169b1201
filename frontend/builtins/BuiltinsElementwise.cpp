//===- BuiltinsElementwise.cpp - element-wise functions -------------------===//

#include "frontend/builtins/Builtins.h"

#include "llvm/ADT/STLExtras.h"

namespace spmdc {

using spmd::DType;

namespace {

std::string quoted(const Args &args) { return "'" + std::string(args.function) + "'"; }

/// A function of a real number: integers become f32.
template <typename Op, bool mayBeWeak = true> Value floatFunction(Args &args) {
  DTypeClass type = toInexact(args.e.commonClass({args[0]}, quoted(args)));
  return args.result(args.e.apply<Op>(args.e.materialize(args[0], type.dtype)), mayBeWeak && type.isWeak);
}

/// A rounding function: integers and bools do not change.
template <typename Op> Value rounding(Args &args) {
  DTypeClass type = args.e.commonClass({args[0]}, quoted(args));
  mlir::Value x = args.e.materialize(args[0]);
  return args.result(spmd::isFloat(type.dtype) ? args.e.apply<Op>(x) : x, type.isWeak);
}

/// A function of any number but bools.
template <typename Op> Value numberFunction(Args &args) {
  DTypeClass type = args.e.commonClass({args[0]}, quoted(args));
  if (type.dtype == DType::Bool)
    args.fail(0, "a number");
  return args.result(args.e.apply<Op>(args.e.materialize(args[0])), type.isWeak);
}

template <typename Op> Value binaryFunction(Args &args) {
  DTypeClass type = args.e.commonClass({args[0], args[1]}, quoted(args));
  auto xy = args.e.unify({args[0], args[1]}, type.dtype, args.range, quoted(args));
  return args.result(args.e.apply<Op>(xy[0], xy[1]), type.isWeak);
}

Value absolute(Args &args) {
  DTypeClass type = args.e.commonClass({args[0]}, quoted(args));
  mlir::Value x = args.e.materialize(args[0]);
  bool isItsOwn = type.dtype == DType::Bool || spmd::isUnsigned(type.dtype);
  return args.result(isItsOwn ? x : args.e.apply<AbsOp>(x), type.isWeak);
}

Value atan2Function(Args &args) {
  DTypeClass type = toInexact(args.e.commonClass({args[0], args[1]}, quoted(args)));
  auto xy = args.e.unify({args[0], args[1]}, type.dtype, args.range, quoted(args));
  return args.result(args.e.apply<Atan2Op>(xy[0], xy[1]), type.isWeak);
}

Value floorDivide(Args &args) {
  DTypeClass type = args.e.commonClass({args[0], args[1]}, quoted(args));
  if (type.dtype == DType::Bool)
    args.fail(0, "a number");
  auto xy = args.e.unify({args[0], args[1]}, type.dtype, args.range, quoted(args));
  return args.result(emitFloorDivide(args.e, xy[0], xy[1]), type.isWeak);
}

Value pow(Args &args) { return args.e.binary(BinaryOp::Power, args.array(0), args.array(1), args.range); }

/// A predicate on floats; its value for every integer is `ofIntegers`.
Value predicate(Args &args, bool ofIntegers, mlir::Value (*emit)(Emitter &, mlir::Value)) {
  DTypeClass type = args.e.commonClass({args[0]}, quoted(args));
  if (!spmd::isFloat(type.dtype))
    return args.result(args.e.splat(args.e.arrayType(args[0].shape(), DType::Bool), Scalar::ofBool(ofIntegers)));
  return args.result(emit(args.e, args.e.materialize(args[0])));
}

Value isFinite(Args &args) {
  return predicate(args, true, [](Emitter &e, mlir::Value x) {
    return e.create<IsFiniteOp>(plainTypeOf(x).withElementType(e.builder.getI1Type()), x);
  });
}

Value isNaN(Args &args) {
  return predicate(args, false, [](Emitter &e, mlir::Value x) { return e.isNaN(x); });
}

Value where(Args &args) {
  Emitter &e = args.e;
  bool areKeys = args[1].isKey() && args[2].isKey();
  DTypeClass type;
  if (!areKeys)
    type = e.commonClass({args[1], args[2]}, quoted(args));
  Value condition = Value::ofArray(e.isNonZero(e.materialize(args.array(0))), false, args[0].range);
  // All three together, so that their shapes broadcast; each keeps its dtype.
  llvm::SmallVector<int64_t> shape = e.commonShape({condition, args[1], args[2]}, args.range, quoted(args));
  if (areKeys) {
    // The same condition selects both words of a key.
    llvm::SmallVector<int64_t> words = Emitter::keyWords(shape), one(shape);
    one.push_back(1);
    mlir::Value chosen = e.broadcastTo(e.reshape(e.broadcastTo(condition.array, shape), one), words);
    return Value::ofKey(e.select(chosen, e.broadcastTo(args[1].array, words), e.broadcastTo(args[2].array, words)),
                        args.range);
  }
  mlir::Value onTrue = e.broadcastTo(e.materialize(args[1], type.dtype), shape);
  mlir::Value onFalse = e.broadcastTo(e.materialize(args[2], type.dtype), shape);
  return args.result(e.select(e.broadcastTo(condition.array, shape), onTrue, onFalse), type.isWeak);
}

Value clamp(Args &args) {
  DTypeClass type = args.e.commonClass({args[0], args[1], args[2]}, quoted(args));
  auto all = args.e.unify({args[0], args[1], args[2]}, type.dtype, args.range, quoted(args));
  return args.result(args.e.create<ClampOp>(plainTypeOf(all[1]), all[0], all[1], all[2]), type.isWeak);
}

DType dtypeArgument(const Args &args, size_t i) {
  if (args[i].kind != ValueKind::Type || args[i].type.getRank() != 0)
    args.fail(i, "a dtype, as in cast(x, bf16)");
  return args[i].type.getDType();
}

Value cast(Args &args) {
  DType dtype = dtypeArgument(args, 1);
  const Value &x = args.array(0);
  // A number is cast as if it were an array: cast(2.7, i32) is 2, cast(300, i8) is 44. An integer beyond i32 becomes an
  // array of the target type directly.
  bool isHeld =
      x.isInt() && !spmd::isFloat(dtype) && dtype != DType::Bool && integerRange(dtype).contains(x.constant.i);
  bool isReal = x.isInt() && (spmd::isFloat(dtype) || dtype == DType::Bool);
  return args.result(args.e.convert(args.e.materialize(x, isHeld || isReal ? dtype : x.dtype()), dtype));
}

Value bitcast(Args &args) {
  DType dtype = dtypeArgument(args, 1);
  mlir::Value x = args.e.materialize(args.array(0));
  ArrayType type = plainTypeOf(x);
  bool isBool = type.getDType() == DType::Bool || dtype == DType::Bool;
  if (isBool && type.getDType() != dtype)
    args.e.fail(args.range, "'bitcast' does not take bools");
  if (spmd::byteSize(type.getDType()) != spmd::byteSize(dtype))
    args.e.fail(args.range, "'bitcast' requires equal widths: " + std::string(spmd::dtypeName(type.getDType())) +
                                " has " + std::to_string(8 * spmd::byteSize(type.getDType())) + " bits, " +
                                std::string(spmd::dtypeName(dtype)) + " has " +
                                std::to_string(8 * spmd::byteSize(dtype)));
  if (type.getDType() == dtype)
    return args.result(x);
  return args.result(args.e.create<BitcastConvertOp>(type.withElementType(args.e.elementType(dtype)), x));
}

const Builtin table[] = {
    {"exp", "x", floatFunction<ExpOp>},
    {"exp2", "x", floatFunction<Exp2Op>},
    {"expm1", "x", floatFunction<Expm1Op>},
    {"log", "x", floatFunction<LogOp>},
    {"log1p", "x", floatFunction<Log1pOp>},
    {"log2", "x", floatFunction<Log2Op, /*mayBeWeak=*/false>}, // As in jnp.log2.
    {"sqrt", "x", floatFunction<SqrtOp>},
    {"rsqrt", "x", floatFunction<RsqrtOp>},
    {"cbrt", "x", floatFunction<CbrtOp>},
    {"sin", "x", floatFunction<SinOp>},
    {"cos", "x", floatFunction<CosOp>},
    {"tan", "x", floatFunction<TanOp>},
    {"tanh", "x", floatFunction<TanhOp>},
    {"sinh", "x", floatFunction<SinhOp>},
    {"cosh", "x", floatFunction<CoshOp>},
    {"asin", "x", floatFunction<AsinOp>},
    {"acos", "x", floatFunction<AcosOp>},
    {"atan", "x", floatFunction<AtanOp>},
    {"erf", "x", floatFunction<ErfOp>},
    {"erf_inv", "x", floatFunction<ErfInvOp>},
    {"sigmoid", "x", floatFunction<LogisticOp>},
    {"floor", "x", rounding<FloorOp>},
    {"ceil", "x", rounding<CeilOp>},
    {"round", "x", rounding<RoundNearestEvenOp>},
    {"abs", "x", absolute},
    {"sign", "x", numberFunction<SignOp>},
    {"maximum", "x y", binaryFunction<MaximumOp>},
    {"minimum", "x y", binaryFunction<MinimumOp>},
    {"atan2", "y x", atan2Function},
    {"floor_divide", "x y", floorDivide},
    {"pow", "x y", pow},
    {"is_finite", "x", isFinite},
    {"is_nan", "x", isNaN},
    {"where", "condition x y", where},
    {"clamp", "lo x hi", clamp},
    {"cast", "x dtype", cast},
    {"bitcast", "x dtype", bitcast},
};

} // namespace

llvm::ArrayRef<Builtin> elementwiseBuiltins() { return table; }

} // namespace spmdc
