//===- ByteText.cpp - numbers of bytes as text ----------------------------===//

#include "runtime/support/ByteText.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>

namespace spmd {

std::string bytesText(double bytes) {
  static constexpr std::array<const char *, 6> kShown = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < kShown.size()) {
    bytes /= 1024;
    ++unit;
  }
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, unit ? "%.1f %s" : "%.0f %s", bytes, kShown[unit]);
  return buffer;
}

std::pair<std::string, std::string> comparedBytesTexts(double a, double b) {
  std::pair<std::string, std::string> texts{bytesText(a), bytesText(b)};
  if (a == b || texts.first != texts.second)
    return texts;
  auto text = [](double bytes) {
    char buffer[64];
    std::snprintf(buffer, sizeof buffer, "%.0f B", std::ceil(bytes)); // Averages need not be integers.
    return std::string(buffer);
  };
  return {text(a), text(b)};
}

namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array<Unit, 9> kUnits = {{{"B", 1},
                                         {"KiB", 1024.0},
                                         {"MiB", 1048576.0},
                                         {"GiB", 1073741824.0},
                                         {"TiB", 1099511627776.0},
                                         {"KB", 1e3},
                                         {"MB", 1e6},
                                         {"GB", 1e9},
                                         {"TB", 1e12}}};

/// Returns the number in the text, however large; nothing if it is not a number or not an integer number of bytes.
std::optional<double> readBytes(std::string_view text) {
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error == std::errc::result_out_of_range)
    number = std::numeric_limits<double>::max();
  else if (error != std::errc() || !std::isfinite(number))
    return std::nullopt;
  if (text.starts_with('-'))
    return std::nullopt;
  std::string_view rest = text.substr(static_cast<size_t>(end - text.data()));
  const auto *unit = std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit &known) { return known.name == rest; });
  if (unit == kUnits.end() && !rest.empty())
    return std::nullopt;
  double bytes = number * (rest.empty() ? 1 : unit->factor);
  return bytes == std::floor(bytes) ? std::optional(bytes) : std::nullopt;
}

} // namespace

std::optional<int64_t> parseBytes(std::string_view text) {
  std::optional<double> bytes = readBytes(text);
  return bytes && *bytes < 0x1p63 ? std::optional(static_cast<int64_t>(*bytes)) : std::nullopt;
}

std::string bytesMistake(std::string_view text) {
  if (readBytes(text))
    return "is too large: a number of bytes is below 8388608TiB";
  std::string names;
  for (const Unit &unit : kUnits)
    names += (names.empty() ? "" : ", ") + std::string(unit.name);
  return "is not a number of bytes such as 64MiB (" + names + ")";
}

} // namespace spmd
