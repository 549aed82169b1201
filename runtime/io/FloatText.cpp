//===- FloatText.cpp - shortest decimal digits of a float -----------------===//

#include "runtime/io/FloatText.h"

#include "runtime/support/Float16.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace spmd {
namespace {

/// A decimal: 0.d1d2d3... times 10^exponent, without trailing zeros (zero has no digits).
struct Decimal {
  bool negative = false;
  std::string digits;
  int exponent = 0;
};

/// From `d.ddde±x`.
Decimal fromScientific(std::string_view text) {
  Decimal decimal;
  if (text[0] == '-') {
    decimal.negative = true;
    text.remove_prefix(1);
  }
  size_t e = text.find('e');
  for (char c : text.substr(0, e))
    if (c != '.')
      decimal.digits += c;
  decimal.exponent = std::atoi(std::string(text.substr(e + 1)).c_str()) + 1;
  while (!decimal.digits.empty() && decimal.digits.back() == '0')
    decimal.digits.pop_back();
  if (decimal.digits.empty())
    decimal.exponent = 1;
  return decimal;
}

/// Returns `value` correctly rounded to `digits` significant digits.
Decimal rounded(double value, int digits) {
  std::array<char, 1100> buffer;
  int length = std::snprintf(buffer.data(), buffer.size(), "%.*e", std::max(digits - 1, 0), value);
  return fromScientific({buffer.data(), static_cast<size_t>(length)});
}

bool isSame16(const Decimal &decimal, double value, DType dtype) {
  std::string text = (decimal.negative ? "-0." : "0.") + decimal.digits + "e" + std::to_string(decimal.exponent);
  // Every decimal of at most 6 digits near a 16-bit float is far enough from a tie to be rounded through f32.
  auto parsed = static_cast<float>(std::strtod(text.c_str(), nullptr)), wanted = static_cast<float>(value);
  return dtype == DType::BF16 ? floatToBf16(parsed) == floatToBf16(wanted) : floatToF16(parsed) == floatToF16(wanted);
}

/// Returns the next decimal of so many digits away from zero.
Decimal nextUp(Decimal decimal, int digits) {
  decimal.digits.resize(static_cast<size_t>(digits), '0');
  size_t i = decimal.digits.size();
  while (i > 0 && decimal.digits[i - 1] == '9')
    decimal.digits[--i] = '0';
  if (i > 0) {
    ++decimal.digits[i - 1];
  } else {
    decimal.digits = "1";
    ++decimal.exponent;
  }
  decimal.digits.erase(decimal.digits.find_last_not_of('0') + 1);
  return decimal;
}

/// Returns the shortest decimal that reads back as `value`, the nearest of that length.
Decimal shortest(double value, DType dtype) {
  std::array<char, 64> buffer;
  char *begin = buffer.data(), *end = begin + buffer.size();
  if (dtype == DType::F64)
    end = std::to_chars(begin, end, value, std::chars_format::scientific).ptr;
  else if (dtype == DType::F32)
    end = std::to_chars(begin, end, static_cast<float>(value), std::chars_format::scientific).ptr;
  else {
    for (int digits = 1; digits < 6; ++digits) {
      Decimal decimal = rounded(value, digits);
      // At a power of two the interval that reads back is wider above than below.
      for (const Decimal &candidate : {decimal, nextUp(decimal, digits)})
        if (isSame16(candidate, value, dtype))
          return candidate;
    }
    return rounded(value, 6);
  }
  return fromScientific({begin, static_cast<size_t>(end - begin)});
}

/// Returns the digits before and after the point.
std::string placePoint(const Decimal &decimal) {
  std::string whole = "0", fraction;
  auto count = static_cast<int>(decimal.digits.size());
  if (decimal.exponent > 0) {
    whole = decimal.digits.substr(0, std::min(decimal.exponent, count));
    whole.append(std::max(0, decimal.exponent - count), '0');
    if (count > decimal.exponent)
      fraction = decimal.digits.substr(decimal.exponent);
  } else {
    fraction = std::string(-decimal.exponent, '0') + decimal.digits;
  }
  while (!fraction.empty() && fraction.back() == '0')
    fraction.pop_back();
  return (decimal.negative ? "-" : "") + whole + "." + fraction;
}

std::string exponentText(int exponent) {
  std::array<char, 16> buffer;
  std::snprintf(buffer.data(), buffer.size(), "e%c%02d", exponent < 0 ? '-' : '+', std::abs(exponent));
  return buffer.data();
}

} // namespace

std::string positionalText(double value, DType dtype, int precision) {
  Decimal decimal = shortest(value, dtype);
  auto fractionDigits = static_cast<int>(decimal.digits.size()) - decimal.exponent;
  if (fractionDigits > precision) { // Rounds the exact value, not the shortest decimal, to avoid double rounding.
    std::array<char, 1100> buffer;
    int length = std::snprintf(buffer.data(), buffer.size(), "%.*f", precision, value);
    std::string text(buffer.data(), static_cast<size_t>(length));
    if (text.find('.') == std::string::npos)
      text += '.';
    text.erase(text.find_last_not_of('0') + 1);
    return text;
  }
  return placePoint(decimal);
}

std::string scientificText(double value, DType dtype, int precision) {
  Decimal decimal = shortest(value, dtype);
  if (static_cast<int>(decimal.digits.size()) > precision + 1)
    decimal = rounded(value, precision + 1);
  std::string digits = decimal.digits.empty() ? "0" : decimal.digits;
  return (decimal.negative ? "-" : "") + digits.substr(0, 1) + "." + digits.substr(1) +
         exponentText(decimal.exponent - 1);
}

std::string exactScientificText(double value, int fractionDigits) {
  std::array<char, 1100> buffer;
  int length = std::snprintf(buffer.data(), buffer.size(), "%.*e", fractionDigits, value);
  std::string text(buffer.data(), static_cast<size_t>(length));
  if (fractionDigits == 0)
    text.insert(text.find('e'), ".");
  return text;
}

std::string scalarText(double value, DType dtype) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  double magnitude = std::fabs(value);
  double cutoff = dtype == DType::F64 ? 1e16 : dtype == DType::F32 ? 1e6 : 1e3;
  if (magnitude != 0 && (magnitude >= cutoff || magnitude < 1e-4)) {
    std::string text = scientificText(value, dtype, 20);
    size_t point = text.find(".e");
    if (point != std::string::npos)
      text.erase(point, 1);
    return text;
  }
  std::string text = placePoint(shortest(value, dtype));
  return text.back() == '.' ? text + "0" : text;
}

} // namespace spmd
