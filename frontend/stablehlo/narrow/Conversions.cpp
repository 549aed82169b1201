//===- Conversions.cpp - conversions to and from narrow numbers -----------===//
//
// A float of f32 has 23 bits of mantissa and the bias 127; the formulas shift the fields of one format to those of the
// other. They compute in i32, as wide as f32, so that a loop over both has one number of lanes.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/narrow/Conversions.h"

#include <cmath>

using namespace mlir;
using spmd::NarrowFormat;
using spmd::SpecialCodes;

namespace spmdc::stablehlo {

namespace {

constexpr int kMantissaBits = 23, kBias = 127;
constexpr int64_t kInfinity = 0x7f800000, kNan = 0x7fc00000, kSize = 0x7fffffff;

Lanes decodeFloat(Lanes bytes, const NarrowFormat &format) {
  MLIRContext *context = bytes.get().getContext();
  Type i32 = IntegerType::get(context, 32), f32 = Float32Type::get(context);
  Lanes code = bytes.convert(i32), size = code & (format.signBit() - 1);
  if (format.special == SpecialCodes::Exponent) {
    // The least one, 2^-127, is half of the least normal number of f32.
    Lanes bits = (size == 0).select(code.like(int64_t(1) << (kMantissaBits - 1)), size << kMantissaBits);
    return (size == format.endOfNumbers()).select(code.like(kNan), bits).bitcast(f32);
  }
  Lanes sign = (code & format.signBit()) << (32 - format.bits);
  Lanes normal = (size << (kMantissaBits - format.mantissaBits)) + (int64_t(kBias - format.bias) << kMantissaBits);
  // A multiple of the least subnormal number. As a float product it is a normal number of f32, never a subnormal one,
  // which CPUs compute slowly.
  Lanes number = size.convert(f32);
  Lanes subnormal = (number * number.like(std::ldexp(1.0, 1 - format.bias - format.mantissaBits))).bitcast(i32);
  Lanes bits = (size < (1 << format.mantissaBits)).select(subnormal, normal);
  if (format.special == SpecialCodes::Fnuz) {
    bits = bits | sign;
    return (code == 0x80).select(code.like(kNan), bits).bitcast(f32);
  }
  if (format.special == SpecialCodes::Finite)
    return (bits | sign).bitcast(f32);
  Lanes end = code.like(kNan);
  if (format.special == SpecialCodes::Ieee)
    end = (size > format.endOfNumbers()).select(end, code.like(kInfinity));
  bits = (size >= format.endOfNumbers()).select(end, bits);
  return (bits | sign).bitcast(f32);
}

/// The bits in f32 of an array of f64, for a second rounding that gives what one rounding of f64 gives: rounded to odd
/// (Boldo and Melquiond, Emulation of FMA and correctly rounded sums, 2008). The last bit of a number that f32 does not
/// have says so.
Lanes roundToOdd(Lanes numbers) {
  MLIRContext *context = numbers.get().getContext();
  Type i32 = IntegerType::get(context, 32), f64 = Float64Type::get(context);
  Lanes nearest = numbers.convert(Float32Type::get(context)), back = nearest.convert(f64);
  auto sizeOf = [](Lanes x) { return x.unary<AbsOp>(); };
  Lanes isLarger = sizeOf(back).compare("GT", sizeOf(numbers)), isOther = back.compare("NE", numbers);
  return (nearest.bitcast(i32) - isLarger.convert(i32)) | isOther.convert(i32);
}

/// The exponent of the nearest power of 2, the larger one of two, of the bits of f32: half of the last place is added.
/// Zero, negative numbers, and what is too large are NaN.
Lanes encodeExponent(Lanes bits) {
  constexpr int64_t kHalf = int64_t(1) << (kMantissaBits - 1), kLeast = int64_t(1) << kMantissaBits, kNone = 0xff;
  Lanes code = min(shiftRight(bits + kHalf, kMantissaBits), kNone);
  // Below the least normal number, 1.5 times 2^-127 is the middle.
  Lanes small = (bits >= kLeast - kHalf / 2).convert(bits.type().getElementType());
  code = (bits < kLeast).select(small, code);
  return (bits > 0).select(code, code.like(kNone));
}

Lanes encodeFloat(Lanes numbers, const NarrowFormat &format) {
  MLIRContext *context = numbers.get().getContext();
  Type i32 = IntegerType::get(context, 32), f32 = Float32Type::get(context);
  bool isDouble = numbers.type().getElementType().isF64();
  Lanes bits = isDouble ? roundToOdd(numbers) : numbers.convert(f32).bitcast(i32), size = bits & kSize;
  if (format.special == SpecialCodes::Exponent)
    return encodeExponent(bits).convert(storageOf(context, format));
  int dropped = kMantissaBits - format.mantissaBits;
  // Half of the last place that is left is added, less the least bit if that place is even; a carry goes into the
  // exponent, where it belongs.
  Lanes isOdd = shiftRight(size, dropped) & 1;
  Lanes rounded = shiftRight(size + ((int64_t(1) << (dropped - 1)) - 1) + isOdd, dropped);
  Lanes code = rounded - (int64_t(kBias - format.bias) << format.mantissaBits);
  // The sum with a number whose last place is the least subnormal one is rounded to a multiple of it by the addition.
  int exponent = kMantissaBits + 1 - format.bias - format.mantissaBits;
  Lanes few = size.bitcast(f32);
  Lanes subnormal =
      (few + few.like(std::ldexp(1.0, exponent))).bitcast(i32) - (int64_t(kBias + exponent) << kMantissaBits);
  code = (size < (int64_t(kBias + 1 - format.bias) << kMantissaBits)).select(subnormal, code);
  code = min(code, format.special == SpecialCodes::Finite ? format.endOfNumbers() - 1 : format.endOfNumbers());
  if (format.special == SpecialCodes::Ieee) // In the other formats what is too large is NaN, as NaN itself is.
    code = (size > kInfinity).select(code.like(int64_t(format.nan())), code);
  Lanes sign = shiftRight(bits, 32 - format.bits) & format.signBit();
  Lanes all = code | sign;
  if (format.special == SpecialCodes::Finite)
    all = (size > kInfinity).select(code.like(int64_t(format.signBit())), all);
  if (format.special == SpecialCodes::Fnuz) // Zero has no sign, and 0x80 is NaN.
    all = (code == 0).select(code, (code >= format.endOfNumbers()).select(code.like(0x80L), all));
  return all.convert(storageOf(context, format));
}

/// The unsigned type of this many bits.
Type unsignedOf(MLIRContext *context, unsigned bits) { return IntegerType::get(context, bits, IntegerType::Unsigned); }

/// The bytes of the values that the low bits of bytes have.
Lanes wrap(Lanes bytes, const NarrowFormat &format) {
  if (!format.isSigned())
    return bytes & ((1 << format.bits) - 1);
  return shiftRightArithmetic(bytes << (8 - format.bits), 8 - format.bits);
}

} // namespace

Lanes decode(Lanes bytes, const NarrowFormat &format, Type element) {
  return (format.isFloat() ? decodeFloat(bytes, format) : wrap(bytes, format)).convert(element);
}

Lanes encode(Lanes numbers, const NarrowFormat &format) {
  if (format.isFloat())
    return encodeFloat(numbers, format);
  Type storage = storageOf(numbers.get().getContext(), format);
  if (!llvm::isa<FloatType>(numbers.type().getElementType()))
    return wrap(numbers.convert(storage), format);
  double range = 1 << format.bits, low = format.isSigned() ? -range / 2 : 0;
  Lanes most = numbers.like(low + range - 1), least = numbers.like(low);
  Lanes bounded = numbers.binary<MinimumOp>(most).binary<MaximumOp>(least); // NaN stays NaN.
  return bounded.convert(storage);
}

Lanes bitcastParts(Lanes x, Type from, Type to) {
  MLIRContext *context = x.get().getContext();
  const NarrowFormat *fromNarrow = findNarrow(from), *toNarrow = findNarrow(to);
  Type toElement = llvm::cast<RankedTensorType>(to).getElementType();
  unsigned fromBits = bitsOf(llvm::cast<RankedTensorType>(from).getElementType()), toBits = bitsOf(toElement);
  // The bits of x, as unsigned numbers of at least 8 bits.
  Type word = unsignedOf(context, std::max(8u, fromBits));
  Lanes bits = fromNarrow && fromBits < 8 ? x.convert(word) & ((1 << fromBits) - 1) : x.bitcast(word);
  if (fromBits > toBits) {
    int64_t parts = fromBits / toBits;
    Lanes repeated = bits.repeat(parts), places = repeated.iotaOfLast(repeated.shape());
    bits = repeated.binary<ShiftRightLogicalOp>(places * places.like(int64_t(toBits)));
  } else if (fromBits < toBits) {
    Lanes wide = bits.convert(unsignedOf(context, std::max(8u, toBits)));
    bits = wide.dropLast(0);
    for (int64_t part = 1; part < wide.shape().back(); ++part)
      bits = bits | (wide.dropLast(part) << (part * fromBits));
  }
  if (toNarrow && toBits < 8)
    return wrap(bits.convert(storageOf(context, *toNarrow)), *toNarrow);
  return bits.bitcast(toNarrow ? storageOf(context, *toNarrow) : toElement);
}

} // namespace spmdc::stablehlo
