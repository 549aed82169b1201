//===- ElementFormat.cpp - numbers that arrays of another type hold -------===//

#include "runtime/support/ElementFormat.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace spmd {

const NarrowFormat *findNarrow(ElementFormat format) {
  for (const NarrowFormat &narrow : kNarrowFormats)
    if (narrow.format == format)
      return &narrow;
  return nullptr;
}

uint8_t wrapNarrow(const NarrowFormat &format, int64_t value) {
  int range = 1 << format.bits, low = static_cast<int>(value & (range - 1));
  return static_cast<uint8_t>(format.isSigned() && low >= range / 2 ? low - range : low);
}

float decodeNarrow(const NarrowFormat &format, uint8_t code) {
  if (!format.isFloat()) {
    uint8_t value = wrapNarrow(format, code);
    return format.isSigned() ? static_cast<int8_t>(value) : value;
  }
  int size = code & (format.signBit() - 1);
  bool isNegative = code & format.signBit();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  float value = 0;
  if (format.special == SpecialCodes::Fnuz && code == 0x80)
    return nan;
  if (format.special == SpecialCodes::Exponent)
    return size >= format.endOfNumbers() ? nan : std::ldexp(1.0f, size - format.bias);
  if (size >= format.endOfNumbers())
    value = format.special == SpecialCodes::Ieee && size == format.endOfNumbers() ? infinity : nan;
  else {
    int exponent = size >> format.mantissaBits, one = 1 << format.mantissaBits;
    int mantissa = (size & (one - 1)) + (exponent > 0 ? one : 0);
    value = std::ldexp(static_cast<float>(mantissa), std::max(exponent, 1) - format.bias - format.mantissaBits);
  }
  return std::copysign(value, isNegative ? -1.0f : 1.0f);
}

/// The nearest power of 2, the larger one of two. Zero and negative numbers have none, and are NaN.
static uint8_t encodeExponent(const NarrowFormat &format, float value) {
  if (!(value > 0) || std::isinf(value))
    return static_cast<uint8_t>(format.endOfNumbers());
  int exponent = 0;
  bool isUpper = std::frexp(value, &exponent) >= 0.75f; // In [0.5, 1).
  return static_cast<uint8_t>(std::clamp(exponent - (isUpper ? 0 : 1) + format.bias, 0, format.endOfNumbers()));
}

uint8_t encodeNarrow(const NarrowFormat &format, float value) {
  if (format.special == SpecialCodes::Exponent)
    return encodeExponent(format, value);
  if (format.special == SpecialCodes::Finite && std::isnan(value))
    return static_cast<uint8_t>(format.signBit());
  int sign = std::signbit(value) ? format.signBit() : 0;
  int code = format.nan();
  if (float size = std::fabs(value); !std::isnan(size)) {
    code = format.endOfNumbers();
    // The unit in the last place at this size; a subnormal number has that of the least normal one.
    int least = 1 - format.bias, exponent = size > 0 ? std::max(std::ilogb(size), least) : least;
    float units = std::nearbyint(std::ldexp(size, format.mantissaBits - exponent));
    // Units of the next exponent and the first one of it are the same number in codes, so that a carry is no case.
    if (std::isfinite(size) && exponent <= 64)
      code = std::min(code, static_cast<int>(units) + ((exponent + format.bias - 1) << format.mantissaBits));
  }
  if (format.special == SpecialCodes::Finite)
    code = std::min(code, format.endOfNumbers() - 1);
  if (format.special == SpecialCodes::Fnuz && (code == 0 || code >= format.endOfNumbers()))
    return static_cast<uint8_t>(code);
  return static_cast<uint8_t>(code | sign);
}

std::string elementName(DType dtype, ElementFormat format) {
  if (format == ElementFormat::Complex)
    return "c" + std::to_string(16 * byteSize(dtype));
  const NarrowFormat *narrow = findNarrow(format);
  return std::string(narrow ? narrow->name() : dtypeName(dtype));
}

} // namespace spmd
