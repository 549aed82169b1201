//===- CountText.h - a number and its noun ----------------------*- C++ -*-===//
#pragma once

#include <cstdint>
#include <string>

namespace spmd {

/// Returns `group` for 1, `groups` for any other count. The noun is given in the singular. The plural is the singular
/// with an `s` unless it is given (`nounOf(count, "process", "processes")`).
inline std::string nounOf(int64_t count, const std::string &singular, const std::string &plural = "") {
  return count == 1 ? singular : plural.empty() ? singular + "s" : plural;
}

/// `1 group`, `4 groups`, `0 groups`.
inline std::string countText(int64_t count, const std::string &singular, const std::string &plural = "") {
  return std::to_string(count) + " " + nounOf(count, singular, plural);
}

} // namespace spmd
