//===- Target.h - `--target` as text ----------------------------*- C++ -*-===//
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace spmdc {

/// The list of targets for messages.
inline constexpr const char *kTargets = "targets are cpu (this host), cpu:<LLVM's CPU name> such as cpu:x86-64-v3, "
                                        "cuda (this machine's GPU), and cuda:<architecture> such as cuda:sm_90";

/// One target: `cpu` (this host), `cpu:<llvm-cpu>`, `cuda` (this machine's GPU), `cuda:sm_90`. Parsing does not check
/// that the CPU or architecture exists; the compiler does.
struct Target {
  bool isCuda = false;
  std::string chip; ///< LLVM's name of the CPU or GPU architecture; empty: that of this host.

  /// Parses a target; nullopt for any other text.
  static std::optional<Target> parse(const std::string &text) {
    if (text == "cpu")
      return Target{};
    if (text.starts_with("cpu:") && text.size() > 4)
      return Target{false, text.substr(4)};
    if (text == "cuda")
      return Target{true, ""};
    if (text.starts_with("cuda:") && text.size() > 5)
      return Target{true, text.substr(5)};
    return std::nullopt;
  }

  /// Splits a list of targets at its commas: `cpu,cuda:sm_80`.
  static std::vector<std::string> split(const std::string &list) {
    std::vector<std::string> targets;
    for (size_t begin = 0; begin <= list.size();) {
      size_t end = std::min(list.find(',', begin), list.size());
      targets.push_back(list.substr(begin, end - begin));
      begin = end + 1;
    }
    return targets;
  }
};

} // namespace spmdc
