//===- Target.h - `--target` as text ----------------------------*- C++ -*-===//
#pragma once

#include <optional>
#include <string>

namespace spmdc {

/// `cpu` (this host), `cpu:<llvm-cpu>`, `cuda:sm_90`.
struct Target {
  bool isCuda = false;
  std::string chip; ///< LLVM's name of the CPU or the GPU architecture; empty: this host's CPU.

  /// Nothing for any other text.
  static std::optional<Target> parse(const std::string &text) {
    if (text == "cpu")
      return Target{};
    if (text.starts_with("cpu:") && text.size() > 4)
      return Target{false, text.substr(4)};
    if (text.starts_with("cuda:sm_") && text.size() > 8)
      return Target{true, text.substr(5)};
    return std::nullopt;
  }
};

} // namespace spmdc
