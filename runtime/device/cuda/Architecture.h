//===- Architecture.h - sm_90 and the GPUs that run it ----------*- C++ -*-===//
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace spmd::cuda {

/// An architecture of PTX: `sm_90`, or `sm_90a` with the instructions of this architecture alone.
struct Architecture {
  int number = 0;          ///< 90: as a compute capability of 9.0.
  bool isSpecific = false; ///< The name ends in `a`.

  /// Parses `sm_90` or `sm_90a`; nullopt for any other text.
  static std::optional<Architecture> parse(std::string_view name) {
    constexpr std::string_view prefix = "sm_";
    if (!name.starts_with(prefix))
      return std::nullopt;
    Architecture architecture;
    const char *begin = name.data() + prefix.size(), *end = name.data() + name.size();
    auto [rest, error] = std::from_chars(begin, end, architecture.number);
    architecture.isSpecific = rest + 1 == end && *rest == 'a';
    if (error != std::errc() || architecture.number < 0 || (rest != end && !architecture.isSpecific))
      return std::nullopt;
    return architecture;
  }

  /// Whether a GPU runs its PTX: one of this architecture, and, unless it is specific, every newer one.
  bool runsOn(int capability) const { return isSpecific ? number == capability : number <= capability; }
};

} // namespace spmd::cuda
