//===- BuiltinsRandom.cpp - random keys and numbers -----------------------===//
//
// JAX's threefry2x32 with partitionable counters: number i of an array is the block cipher of i under the key, so each
// device computes its own shard, and the numbers are the same on every mesh. Algorithms are those of jax.random, step
// by step, for the same bits.
//
//===----------------------------------------------------------------------===//

#include "frontend/builtins/Builtins.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

namespace spmdc {

using spmd::DType;
using Shape = llvm::ArrayRef<int64_t>;

namespace {

/// One word of a cipher block for each element.
struct Words {
  mlir::Value first, second;
};

/// The words of a single key, as scalars.
Words wordsOf(const Args &args, size_t i) {
  const Value &key = args.key(i);
  if (key.rank() != 0)
    args.fail(i, "one key (pick one of several by an index)");
  Emitter &e = args.e;
  return {e.reshape(e.sliceDim(key.array, 0, 0, 1), {}), e.reshape(e.sliceDim(key.array, 0, 1, 2), {})};
}

mlir::Value scalar(Emitter &e, DType dtype, uint64_t value) {
  return e.splat(e.arrayType({}, dtype), Scalar::ofInt(static_cast<int64_t>(value)));
}

mlir::Value splatBits(Emitter &e, mlir::Value like, uint64_t value) {
  return e.splat(plainTypeOf(like), Scalar::ofInt(static_cast<int64_t>(value)));
}

Words encrypt(Emitter &e, Words key, Words counter) {
  Shape shape = plainTypeOf(counter.first).getShape();
  mlir::Value k0 = e.broadcastTo(key.first, shape), k1 = e.broadcastTo(key.second, shape);
  ArrayType type = plainTypeOf(counter.first);
  auto word = [&](int64_t number) {
    return e.create<Threefry2x32Op>(type, k0, k1, counter.first, counter.second, number);
  };
  return {word(0), word(1)};
}

/// The row-major number of each element, as the high and the low word.
Words countersOf(Emitter &e, Shape shape) {
  int64_t size = 1;
  for (int64_t extent : shape)
    size *= extent;
  bool isWide = size > int64_t(1) << 32;
  ArrayType type = e.arrayType(shape, isWide ? DType::I64 : DType::U32);
  mlir::Value number;
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0; stride *= shape[d]) {
    if (shape[d] == 1)
      continue;
    mlir::Value part = e.iota(type, static_cast<int64_t>(d));
    if (stride != 1)
      part = e.apply<MultiplyOp>(part, splatBits(e, part, static_cast<uint64_t>(stride)));
    number = number ? e.apply<AddOp>(number, part) : part;
  }
  if (!number)
    number = e.splat(type, 0.0);
  if (!isWide)
    return {splatBits(e, number, 0), number};
  mlir::Value high = e.apply<ShiftRightLogicalOp>(number, splatBits(e, number, 32));
  mlir::Value low = e.apply<AndOp>(number, splatBits(e, number, 0xffffffff));
  return {e.convert(high, DType::U32), e.convert(low, DType::U32)};
}

Words blocksOf(Emitter &e, Words key, Shape shape) { return encrypt(e, key, countersOf(e, shape)); }

/// 32 random bits for each element.
mlir::Value randomBits(Emitter &e, Words key, Shape shape) {
  Words words = blocksOf(e, key, shape);
  return e.apply<XorOp>(words.first, words.second);
}

/// 64 random bits for each element, in a u64.
mlir::Value randomBits64(Emitter &e, Words key, Shape shape) {
  Words words = blocksOf(e, key, shape);
  mlir::Value high = e.convert(words.first, DType::U64), low = e.convert(words.second, DType::U64);
  return e.apply<OrOp>(e.apply<ShiftLeftOp>(high, splatBits(e, high, 32)), low);
}

/// The n keys of `split`, u32[n, 2].
mlir::Value splitKeys(Emitter &e, Words key, int64_t n) {
  Words words = blocksOf(e, key, {n});
  return e.concatenate({e.reshape(words.first, {n, 1}), e.reshape(words.second, {n, 1})}, 1);
}

/// One of the keys of `split`.
Words splitOff(Emitter &e, Words key, uint64_t number) {
  return encrypt(e, key, {scalar(e, DType::U32, 0), scalar(e, DType::U32, number)});
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

Value keyOf(const Args &args, Words words) {
  Emitter &e = args.e;
  return Value::ofKey(e.concatenate({e.reshape(words.first, {1}), e.reshape(words.second, {1})}, 0), args.range);
}

/// A scalar integer: the argument as u32, the high word is 0 if the integer has fewer than 64 bits.
Words integerWords(const Args &args, size_t i) {
  Emitter &e = args.e;
  const Value &value = args.array(i);
  if (value.isInt())
    return {scalar(e, DType::U32, 0), scalar(e, DType::U32, static_cast<uint32_t>(value.constant.i))};
  if (!value.isArray() || value.rank() != 0 || !spmd::isInteger(value.dtype()))
    args.fail(i, "an integer");
  mlir::Value low = e.convert(value.array, DType::U32);
  if (spmd::byteSize(value.dtype()) < 8)
    return {scalar(e, DType::U32, 0), low};
  mlir::Value high = e.apply<ShiftRightLogicalOp>(value.array, scalar(e, value.dtype(), 32));
  return {e.convert(high, DType::U32), low};
}

Value key(Args &args) { return keyOf(args, integerWords(args, 0)); }

Value foldIn(Args &args) {
  // The data is converted to u32 before it becomes a seed.
  Words data{scalar(args.e, DType::U32, 0), integerWords(args, 1).second};
  return keyOf(args, encrypt(args.e, wordsOf(args, 0), data));
}

Value keyData(Args &args) { return args.result(args.key(0).array); }

/// Keys from two words each: the inverse of keyData.
Value wrapKeyData(Args &args) {
  const Value &words = args.array(0);
  if (!words.isArray() || words.dtype() != DType::U32 || words.rank() == 0 || words.shape().back() != 2)
    args.fail(0, "an array of u32 whose last dimension is 2");
  return Value::ofKey(words.array, args.range);
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// x * y + z, rounded once: XLA contracts it. f32 and less are exact enough in f64; f64 by the exact product and sum
/// of Dekker and Knuth.
mlir::Value multiplyAdd(Emitter &e, mlir::Value x, mlir::Value y, mlir::Value z) {
  DType dtype = plainTypeOf(x).getDType();
  auto times = [&](mlir::Value a, mlir::Value b) { return e.apply<MultiplyOp>(a, b); };
  auto plus = [&](mlir::Value a, mlir::Value b) { return e.apply<AddOp>(a, b); };
  auto minus = [&](mlir::Value a, mlir::Value b) { return e.apply<SubtractOp>(a, b); };
  if (dtype == DType::F32) {
    auto wide = [&](mlir::Value a) { return e.convert(a, DType::F64); };
    return e.convert(plus(times(wide(x), wide(y)), wide(z)), dtype);
  }
  if (dtype != DType::F64)
    return plus(times(x, y), z);
  // Halves of 26 bits, whose products are exact.
  auto halves = [&](mlir::Value a) {
    mlir::Value scaled = times(a, e.splatLike(a, 134217729.0));
    mlir::Value high = minus(scaled, minus(scaled, a));
    return std::pair(high, minus(a, high));
  };
  auto [xHigh, xLow] = halves(x);
  auto [yHigh, yLow] = halves(y);
  mlir::Value product = times(x, y);
  mlir::Value error = minus(times(xHigh, yHigh), product);
  error = plus(plus(plus(error, times(xHigh, yLow)), times(xLow, yHigh)), times(xLow, yLow));
  mlir::Value sum = plus(product, z), part = minus(sum, product);
  mlir::Value rest = plus(minus(product, minus(sum, part)), minus(z, part));
  return plus(sum, plus(rest, error));
}

/// Uniform in [0, 1): random mantissas with the exponent of 1, minus 1.
mlir::Value unitFloats(Emitter &e, Words key, ArrayType type) {
  mlir::Value one = e.splat(type, 1.0);
  auto fromBits = [&](mlir::Value bits, int shift, int position, uint64_t exponent, DType carrier) {
    mlir::Value mantissa = e.apply<ShiftRightLogicalOp>(bits, splatBits(e, bits, static_cast<uint64_t>(shift)));
    if (position)
      mantissa = e.apply<ShiftLeftOp>(mantissa, splatBits(e, mantissa, static_cast<uint64_t>(position)));
    mlir::Value pattern = e.apply<OrOp>(mantissa, splatBits(e, mantissa, exponent));
    mlir::Value number = e.create<BitcastConvertOp>(e.arrayType(type.getShape(), carrier), pattern);
    return e.apply<SubtractOp>(e.convert(number, type.getDType()), one);
  };
  auto lowBits = [&](uint64_t mask) {
    mlir::Value bits = randomBits(e, key, type.getShape());
    return e.apply<AndOp>(bits, splatBits(e, bits, mask));
  };
  constexpr uint64_t kOne = 0x3f800000;
  switch (type.getDType()) {
  case DType::F64:
    return fromBits(randomBits64(e, key, type.getShape()), 12, 0, 0x3ff0000000000000, DType::F64);
  case DType::F16: // 16 bits, 10 of them the mantissa, as an f32, which holds f16 exactly.
    return fromBits(lowBits(0xffff), 6, 13, kOne, DType::F32);
  case DType::BF16: // 8 bits, 7 of them the mantissa
    return fromBits(lowBits(0xff), 1, 16, kOne, DType::F32);
  default:
    return fromBits(randomBits(e, key, type.getShape()), 9, 0, kOne, DType::F32);
  }
}

/// `low` and `high` have the type of the result.
mlir::Value uniformFloats(Emitter &e, Words key, mlir::Value low, mlir::Value high) {
  ArrayType type = plainTypeOf(low);
  mlir::Value unit = unitFloats(e, key, type);
  return e.apply<MaximumOp>(low, multiplyAdd(e, unit, e.apply<SubtractOp>(high, low), low));
}

mlir::Value uniformFloats(Emitter &e, Words key, ArrayType type, double low, double high) {
  return uniformFloats(e, key, e.splat(type, low), e.splat(type, high));
}

/// The array type that an argument names, without its sharding; its dtype must satisfy `isWanted`.
ArrayType randomType(const Args &args, size_t i, DType bare, llvm::function_ref<bool(DType)> isWanted,
                     const char *expected) {
  ArrayType type = typeArgument(args, i, bare);
  if (!isWanted(type.getDType()))
    args.fail(i, expected);
  return type;
}

ArrayType floatType(const Args &args, size_t i) {
  return randomType(args, i, DType::F32, spmd::isFloat, "a type of floats");
}

/// A bound, as an array of the requested type.
mlir::Value boundOf(const Args &args, size_t i, ArrayType type, double otherwise) {
  if (!args.has(i))
    return args.e.splat(type, otherwise);
  const Value &bound = args.array(i);
  Value whole = Value::ofArray(args.e.splat(type, 0.0), false, args.range);
  if (bound.rank() > type.getRank() ||
      llvm::ArrayRef<int64_t>(args.e.commonShape({bound, whole}, args.range, "bounds")) != type.getShape())
    args.fail(i, "a number or an array that broadcasts to " + type.str());
  return args.e.broadcastTo(args.e.materialize(bound, type.getDType()), type.getShape());
}

Value bits(Args &args) {
  ArrayType type = randomType(args, 1, DType::U32, spmd::isUnsigned, "a type of u64, u32, u16 or u8");
  DType dtype = type.getDType();
  Words key = wordsOf(args, 0);
  mlir::Value value = dtype == DType::U64 ? randomBits64(args.e, key, type.getShape())
                                          : args.e.convert(randomBits(args.e, key, type.getShape()), dtype);
  return created(args, value, type);
}

Value uniform(Args &args) {
  ArrayType type = floatType(args, 1), plain = type.withoutSharding();
  Words key = wordsOf(args, 0);
  mlir::Value low = boundOf(args, 2, plain, 0), high = boundOf(args, 3, plain, 1);
  return created(args, uniformFloats(args.e, key, low, high), type);
}

Value normal(Args &args) {
  ArrayType type = floatType(args, 1), plain = type.withoutSharding();
  // The number after -1: floats below 1 are twice as dense as those above.
  int mantissa = type.getDType() == DType::F64   ? 53
                 : type.getDType() == DType::F32 ? 24
                 : type.getDType() == DType::F16 ? 11
                                                 : 8;
  double low = -1 + std::ldexp(1.0, -mantissa);
  mlir::Value unit = uniformFloats(args.e, wordsOf(args, 0), plain, low, 1);
  mlir::Value value = args.e.apply<MultiplyOp>(args.e.splat(plain, M_SQRT2), args.e.apply<ErfInvOp>(unit));
  return created(args, value, type);
}

Value bernoulli(Args &args) {
  Emitter &e = args.e;
  const Value &p = args.array(1);
  DType dtype = p.isConstant() ? DType::F32 : p.dtype();
  if (!spmd::isFloat(dtype) || (p.isConstant() && p.constant.kind == Constant::Kind::Bool))
    args.fail(1, "a probability");
  ArrayType type = e.arrayType(p.shape(), DType::Bool);
  if (args.has(2))
    type = randomType(args, 2, DType::Bool, [](DType wanted) { return wanted == DType::Bool; }, "a type of bool");
  ArrayType numbers = e.arrayType(type.getShape(), dtype);
  mlir::Value limit = boundOf(args, 1, numbers, 0);
  mlir::Value unit = uniformFloats(e, wordsOf(args, 0), numbers, 0, 1);
  return created(args, e.compare(ComparisonDirection::lt, unit, limit), type);
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// A bound of randint, broadcast, in i64 or, if it is a u64, in u64.
mlir::Value integerBound(const Args &args, size_t i, ArrayType type) {
  const Value &bound = args.array(i);
  if (!spmd::isInteger(bound.dtype()) || (bound.isConstant() && !bound.isInt()))
    args.fail(i, "an integer or an array of integers");
  DType carrier = bound.dtype() == DType::U64 ? DType::U64 : DType::I64;
  return boundOf(args, i, type.withElementType(args.e.elementType(carrier)), 0);
}

Value randint(Args &args) {
  Emitter &e = args.e;
  ArrayType type = randomType(
      args, 1, DType::I32, [](DType dtype) { return spmd::isInteger(dtype) && dtype != DType::Bool; },
      "a type of integers");
  // Eight or sixteen bits would be too few: numbers of a small type are computed as i32.
  DType wanted = type.getDType();
  bool isSmall = spmd::byteSize(wanted) < 4;
  DType dtype = isSmall ? DType::I32 : wanted;
  ArrayType plain = type.withoutSharding().withElementType(e.elementType(dtype));
  DType unsignedType = spmd::byteSize(dtype) == 8 ? DType::U64 : DType::U32;
  IntegerRange range = integerRange(wanted);
  // A limit in the type of a bound; in the largest u64, which is no int64_t, all bits are set.
  auto limitOf = [&](mlir::Value bound, int64_t value) {
    bool areAllBits = wanted == DType::U64 && plainTypeOf(bound).getDType() == DType::U64 && value == range.high;
    return splatBits(e, bound, areAllBits ? ~uint64_t(0) : static_cast<uint64_t>(value));
  };
  auto clip = [&](mlir::Value bound, int64_t highest) {
    int64_t lowest = plainTypeOf(bound).getDType() == DType::U64 ? std::max<int64_t>(range.low, 0) : range.low;
    mlir::Value low = limitOf(bound, lowest), high = limitOf(bound, highest);
    return e.convert(e.create<ClampOp>(plainTypeOf(bound), low, bound, high), dtype);
  };
  // The bound after the largest number does not fit into the type.
  mlir::Value high = integerBound(args, 3, plain);
  mlir::Value isBeyond = e.compare(ComparisonDirection::gt, high, limitOf(high, isSmall ? INT32_MAX : range.high));
  mlir::Value low = clip(integerBound(args, 2, plain), range.high);
  high = clip(high, isSmall ? range.high + 1 : range.high);
  // Twice as many bits as the type has, so that the remainder has little bias.
  Words key = wordsOf(args, 0);
  auto bitsOf = [&](uint64_t number) {
    Words part = splitOff(e, key, number);
    return unsignedType == DType::U64 ? randomBits64(e, part, plain.getShape()) : randomBits(e, part, plain.getShape());
  };
  mlir::Value upper = bitsOf(0), lower = bitsOf(1);
  mlir::Value isEmpty = e.compare(ComparisonDirection::le, high, low);
  mlir::Value span = e.convert(e.apply<SubtractOp>(high, low), unsignedType);
  mlir::Value one = splatBits(e, span, 1);
  span = e.select(isEmpty, one, span);
  mlir::Value grows = e.apply<AndOp>(isBeyond, e.compare(ComparisonDirection::gt, high, low));
  span = e.select(grows, e.apply<AddOp>(span, one), span);
  // 2^bits mod span, as the square of its root.
  uint64_t root = uint64_t(1) << (spmd::byteSize(dtype) * 4);
  mlir::Value multiplier = e.apply<RemainderOp>(splatBits(e, span, root), span);
  multiplier = e.apply<RemainderOp>(e.apply<MultiplyOp>(multiplier, multiplier), span);
  mlir::Value offset = e.apply<MultiplyOp>(e.apply<RemainderOp>(upper, span), multiplier);
  offset = e.apply<RemainderOp>(e.apply<AddOp>(offset, e.apply<RemainderOp>(lower, span)), span);
  return created(args, e.convert(e.apply<AddOp>(low, e.convert(offset, dtype)), wanted), type);
}

/// The index of the largest logit after adding Gumbel noise.
Value categorical(Args &args) {
  Emitter &e = args.e;
  const Value &logits = args.array(1);
  DType dtype = logits.dtype();
  if (!logits.isArray() || !spmd::isFloat(dtype) || logits.rank() == 0)
    args.fail(1, "an array of floats");
  int64_t axis = args.axis(2, logits.rank(), -1);
  if (logits.shape()[axis] == 0)
    args.fail(1, "an array with at least one category");
  ArrayType type = plainTypeOf(logits.array);
  double tiny = dtype == DType::F64 ? std::ldexp(1.0, -1022) : std::ldexp(1.0, dtype == DType::F16 ? -14 : -126);
  mlir::Value noise = uniformFloats(e, wordsOf(args, 0), type, tiny, 1);
  for (int i = 0; i < 2; ++i)
    noise = e.apply<NegateOp>(e.apply<LogOp>(noise));
  llvm::SmallVector<int64_t> shape(type.getShape());
  shape.erase(shape.begin() + axis);
  int64_t size = type.getDimSize(axis);
  mlir::Value choice = e.create<ArgReduceOp>(e.arrayType(shape, positionDType(size)),
                                             e.apply<AddOp>(noise, logits.array), /*isMax=*/true, axis);
  return args.result(asIndexDType(args, choice, size, 3));
}

const Builtin table[] = {
    {"key", "seed", key},
    {"fold_in", "key data", foldIn},
    {"key_data", "key", keyData},
    {"wrap_key_data", "x", wrapKeyData},
    {"bits", "key type", bits},
    {"uniform", "key type minval=0 maxval=1", uniform},
    {"normal", "key type", normal},
    {"bernoulli", "key p type=None", bernoulli},
    {"randint", "key type low high", randint},
    {"categorical", "key logits axis=-1 index_dtype=None", categorical},
};

} // namespace

Value splitKey(Args &args) {
  if (args.has(2))
    args.fail(2, "left out: keys have no axes");
  int64_t n = args.has(1) ? args.integer(1) : 2;
  if (n < 0)
    args.fail(1, "at least 0");
  return Value::ofKey(splitKeys(args.e, wordsOf(args, 0), n), args.range);
}

llvm::ArrayRef<Builtin> randomBuiltins() { return table; }

} // namespace spmdc
