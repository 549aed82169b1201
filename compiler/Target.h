//===- Target.h - `--target` as text ----------------------------*- C++ -*-===//
#pragma once

#include <optional>
#include <string>

namespace spmdc {

/// The list of targets for messages.
inline constexpr const char *kTargets = "targets are cpu (this host), cpu:<LLVM's CPU name> such as cpu:x86-64-v3, "
                                        "cuda (this machine's GPU), and cuda:<architecture> such as cuda:sm_90";

/// A target: `cpu` (this host), `cpu:<llvm-cpu>`, `cuda` (this machine's GPU), `cuda:sm_90`. Parsing does not check
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
};

} // namespace spmdc
