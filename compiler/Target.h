//===- Target.h - `--target` as text ----------------------------*- C++ -*-===//
#pragma once

#include <optional>
#include <string>

namespace spmdc {

/// What messages say of targets.
inline constexpr const char *kTargets = "there are cpu (this host), cpu:<LLVM's name of a CPU> as cpu:x86-64-v3, cuda "
                                        "(this machine's GPU), and cuda:<architecture> as cuda:sm_90";

/// `cpu` (this host), `cpu:<llvm-cpu>`, `cuda` (this machine's GPU), `cuda:sm_90`. Which CPUs and architectures there
/// are is the compiler's to know.
struct Target {
  bool isCuda = false;
  std::string chip; ///< LLVM's name of the CPU or the GPU architecture; empty: this host's.

  /// Nothing for any other text.
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
