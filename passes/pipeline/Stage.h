//===- Stage.h - the stages of the pipeline ---------------------*- C++ -*-===//
#pragma once

#include "llvm/ADT/StringRef.h"

#include <array>
#include <optional>

namespace spmdc {

/// In pipeline order; `--emit=` prints each.
enum class Stage {
  Ast,         ///< The syntax tree of the program.
  Array,       ///< Global view.
  Propagated,  ///< Every value carries its sharding.
  Partitioned, ///< Per-device shapes and explicit collectives.
  Kernels,     ///< Fused and outlined, before LLVM.
  Plan,        ///< The steps, buffers and kernels that the runtime executes.
  Llvm,        ///< LLVM IR of the kernels.
  Ptx,         ///< PTX of the kernels (CUDA targets).
  Asm,         ///< Machine code of the kernels as text (CPU targets).
};

inline constexpr std::array<llvm::StringLiteral, 9> kStageNames = {
    "ast", "array", "propagated", "partitioned", "kernels", "plan", "llvm", "ptx", "asm"};

inline llvm::StringRef stageName(Stage stage) { return kStageNames[static_cast<size_t>(stage)]; }

inline std::optional<Stage> parseStage(llvm::StringRef name) {
  for (size_t i = 0; i < kStageNames.size(); ++i)
    if (kStageNames[i] == name)
      return static_cast<Stage>(i);
  return std::nullopt;
}

} // namespace spmdc
