//===- BudgetAttr.h - limits that a program declares ----------------*- C++ -*-===//
//
// The module attribute with the limits: `spmd.budget = [{what = "wire", limit = 67108864 : i64, place =
// "mlp.spmd:2:8"}]`, and the parser of a limit.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/support/ByteText.h"

#include "llvm/ADT/StringRef.h"

#include <charconv>
#include <string>
#include <string_view>

namespace spmdc {

inline constexpr llvm::StringLiteral kBudgetAttrName = "spmd.budget";

/// Reads the value of a limit. Returns an error message, or an empty string.
inline std::string parseBudgetLimit(std::string_view what, std::string_view text, int64_t &limit) {
  if (what != "wire" && what != "collectives" && what != "memory")
    return "unknown budget '" + std::string(what) + "'; expected wire, collectives or memory";
  std::string quoted = "'" + std::string(text) + "' ";
  if (what == "collectives") {
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), limit);
    bool isNumber = end == text.data() + text.size() && !text.empty() && !text.starts_with('-');
    if (isNumber && error == std::errc::result_out_of_range)
      return quoted + "is too large";
    return isNumber && error == std::errc() ? "" : quoted + "is not a number of collectives";
  }
  std::optional<int64_t> bytes = spmd::parseBytes(text);
  if (!bytes)
    return quoted + spmd::bytesMistake(text);
  limit = *bytes;
  return "";
}

} // namespace spmdc
