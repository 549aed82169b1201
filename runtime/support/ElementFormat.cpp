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
  bool isNegative = code & 0x80;
  int size = code & 0x7f;
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  float value = 0;
  if (format.special == SpecialCodes::Fnuz && code == 0x80)
    return nan;
  if (size >= format.endOfNumbers())
    value = format.special == SpecialCodes::Ieee && size == format.endOfNumbers() ? infinity : nan;
  else {
    int exponent = size >> format.mantissaBits, one = 1 << format.mantissaBits;
    int mantissa = (size & (one - 1)) + (exponent > 0 ? one : 0);
    value = std::ldexp(static_cast<float>(mantissa), std::max(exponent, 1) - format.bias - format.mantissaBits);
  }
  return std::copysign(value, isNegative ? -1.0f : 1.0f);
}

uint8_t encodeNarrow(const NarrowFormat &format, float value) {
  int sign = std::signbit(value) ? 0x80 : 0;
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
