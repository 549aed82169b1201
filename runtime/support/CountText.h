//===- CountText.h - a number and its noun ----------------------*- C++ -*-===//
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace spmd {

/// `1 group`, `4 groups`, `0 groups`: a count before its noun, which is given in the singular. The plural is the
/// singular with an `s` unless it is given (`countText(2, "match", "matches")`).
inline std::string countText(int64_t count, std::string_view singular, std::string_view plural = {}) {
  std::string text = std::to_string(count) + " ";
  if (count == 1)
    return text.append(singular);
  return plural.empty() ? text.append(singular) + "s" : text.append(plural);
}

} // namespace spmd
