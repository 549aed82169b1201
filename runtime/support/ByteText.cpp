//===- ByteText.cpp - numbers of bytes as people write them ---------------===//

#include "runtime/support/ByteText.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

namespace spmd {

std::string bytesText(double bytes) {
  static constexpr std::array<const char *, 6> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, unit ? "%.1f %s" : "%.0f %s", bytes, kUnits[unit]);
  return buffer;
}

std::optional<int64_t> parseBytes(std::string_view text) {
  static constexpr std::pair<std::string_view, double> kUnits[] = {{"KiB", 1024.0},
                                                                   {"MiB", 1048576.0},
                                                                   {"GiB", 1073741824.0},
                                                                   {"TiB", 1099511627776.0},
                                                                   {"KB", 1e3},
                                                                   {"MB", 1e6},
                                                                   {"GB", 1e9},
                                                                   {"TB", 1e12},
                                                                   {"B", 1},
                                                                   {"", 1}};
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || text.starts_with('-'))
    return std::nullopt;
  std::string_view rest = text.substr(static_cast<size_t>(end - text.data()));
  for (auto [name, factor] : kUnits) {
    if (rest != name)
      continue;
    double bytes = number * factor;
    if (bytes != std::floor(bytes) || bytes >= 9.2e18)
      return std::nullopt;
    return static_cast<int64_t>(bytes);
  }
  return std::nullopt;
}

} // namespace spmd
