//===- ElementFormat.h - numbers that arrays of another type hold -*- C++ -*-===//
//
// Complex numbers, floats of 8 and 4 bits and integers of 4 and 2 bits are no element types (DType.h): parameters and
// results hold them in arrays of another type. Complex numbers are their two parts, in a last dimension. A narrow
// number is one byte: the bits of a float, as u8, or the value of an integer, as i8 or u8. This is the memory of NumPy
// with ml_dtypes.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/support/DType.h"

#include <array>
#include <string>

namespace spmd {

/// Files name a format by its text (elementFormatNames), so a new format may be anywhere in the list.
enum class ElementFormat : uint8_t {
  Plain,
  Complex,
  F8E4M3FN,
  F8E5M2,
  F8E4M3,
  F8E4M3FNUZ,
  F8E5M2FNUZ,
  F8E4M3B11FNUZ,
  F8E3M4,
  F8E8M0FNU,
  F4E2M1FN,
  I4,
  U4,
  I2,
  U2
};

/// Names of the enumerators, in the order of their values.
inline constexpr std::array<std::string_view, 15> elementFormatNames = {
    "plain",  "complex",   "f8E4M3FN", "f8E5M2", "f8E4M3", "f8E4M3FNUZ", "f8E5M2FNUZ", "f8E4M3B11FNUZ",
    "f8E3M4", "f8E8M0FNU", "f4E2M1FN", "i4",     "u4",     "i2",         "u2"};

/// Which codes of a narrow float are no finite numbers.
enum class SpecialCodes : uint8_t {
  None,     ///< Of integers.
  Ieee,     ///< The largest exponent: infinities and NaN.
  Fn,       ///< All bits but the sign: NaN. No infinities.
  Fnuz,     ///< The code of -0: NaN. Neither infinities nor -0.
  Finite,   ///< None. Numbers that are too large become the largest one, NaN becomes -0.
  Exponent, ///< All bits: NaN. The code is the exponent alone: no sign, no mantissa, no zero.
};

/// A number of 8 bits or fewer. Floats follow LLVM's APFloat and ml_dtypes.
struct NarrowFormat {
  ElementFormat format;
  DType storage; ///< U8 or I8.
  int bits;
  int mantissaBits = 0;
  int bias = 0; ///< Of the exponent.
  SpecialCodes special = SpecialCodes::None;
  std::string_view numpyName;       ///< In ml_dtypes.
  std::string_view safetensorsName; ///< Empty if that format has no name for it.

  constexpr bool isFloat() const { return special != SpecialCodes::None; }
  constexpr bool isSigned() const { return storage == DType::I8; }
  /// `f8E4M3FN`, `i4`.
  constexpr std::string_view name() const { return elementFormatNames[static_cast<size_t>(format)]; }
  /// The bit of the sign of a float, and the least number behind those of its other bits.
  constexpr int signBit() const { return special == SpecialCodes::Exponent ? 0x100 : 1 << (bits - 1); }
  /// The code of +infinity, or of NaN where there is none: the least one that is no finite positive number.
  constexpr int endOfNumbers() const {
    if (special == SpecialCodes::Fnuz || special == SpecialCodes::Finite)
      return signBit();
    return special == SpecialCodes::Ieee ? signBit() - (1 << mantissaBits) : signBit() - 1;
  }
  /// The code of NaN without its sign.
  constexpr int nan() const {
    return special == SpecialCodes::Ieee ? endOfNumbers() | 1 << (mantissaBits - 1) : endOfNumbers();
  }
};

inline constexpr auto kNarrowFormats = std::to_array<NarrowFormat>({
    {ElementFormat::F8E4M3FN, DType::U8, 8, 3, 7, SpecialCodes::Fn, "float8_e4m3fn", "F8_E4M3"},
    {ElementFormat::F8E5M2, DType::U8, 8, 2, 15, SpecialCodes::Ieee, "float8_e5m2", "F8_E5M2"},
    {ElementFormat::F8E4M3, DType::U8, 8, 3, 7, SpecialCodes::Ieee, "float8_e4m3", ""},
    {ElementFormat::F8E4M3FNUZ, DType::U8, 8, 3, 8, SpecialCodes::Fnuz, "float8_e4m3fnuz", ""},
    {ElementFormat::F8E5M2FNUZ, DType::U8, 8, 2, 16, SpecialCodes::Fnuz, "float8_e5m2fnuz", ""},
    {ElementFormat::F8E4M3B11FNUZ, DType::U8, 8, 3, 11, SpecialCodes::Fnuz, "float8_e4m3b11fnuz", ""},
    {ElementFormat::F8E3M4, DType::U8, 8, 4, 3, SpecialCodes::Ieee, "float8_e3m4", ""},
    {ElementFormat::F8E8M0FNU, DType::U8, 8, 0, 127, SpecialCodes::Exponent, "float8_e8m0fnu", "F8_E8M0"},
    {ElementFormat::F4E2M1FN, DType::U8, 4, 1, 1, SpecialCodes::Finite, "float4_e2m1fn", ""},
    {ElementFormat::I4, DType::I8, 4, 0, 0, SpecialCodes::None, "int4", ""},
    {ElementFormat::U4, DType::U8, 4, 0, 0, SpecialCodes::None, "uint4", ""},
    {ElementFormat::I2, DType::I8, 2, 0, 0, SpecialCodes::None, "int2", ""},
    {ElementFormat::U2, DType::U8, 2, 0, 0, SpecialCodes::None, "uint2", ""},
});

/// The description of a narrow format; null for the others.
const NarrowFormat *findNarrow(ElementFormat format);

/// The number that a byte holds, exact. Integers ignore the bits that they do not have.
float decodeNarrow(const NarrowFormat &format, uint8_t code);
/// The byte of the integer with the low bits of this one. Of an integer's format.
uint8_t wrapNarrow(const NarrowFormat &format, int64_t value);
/// The byte of the nearest number, ties to even: XLA's and ml_dtypes' conversion. Larger numbers become infinity,
/// or NaN where there is none. Of a float's format.
uint8_t encodeNarrow(const NarrowFormat &format, float value);

/// The name of elements as JAX and messages shorten it: `f32`, `c64` for parts of f32, `f8E4M3FN`.
std::string elementName(DType dtype, ElementFormat format);

} // namespace spmd
