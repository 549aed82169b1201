//===- AutoSharding.h - shardings for unannotated parameters ----*- C++ -*-===//
#pragma once

#include "compiler/Compiler.h"
#include "compiler/explain/AnnotationEdits.h"
#include "compiler/inspection/ProgramTotals.h"

#include <functional>
#include <optional>
#include <string>

namespace spmdc {

struct AutoSharding {
  ProgramTotals before, after;
  AnnotationEdit edit; ///< Empty where nothing is better than what is written.
  std::string text;    ///< The program with it.
  size_t tried = 0;
};

/// Looks for annotations of the entry's parameters about which nothing is written (fields of structs are taken one by
/// one) that make the program cheapest: what fits into the memory first, then what is fastest. Begins with what is best
/// by the prices of operations (passes/assign/ShardingProposals.h), and goes on as a beam search over marks, each
/// state compiled to its plan: `maxTries` at most, or by the size of the program. Nothing where it has errors itself.
/// `onProgress` is told how many have been, of how many; at the end, of as many.
std::optional<AutoSharding> searchShardings(const std::string &fileName, const std::string &text,
                                            const CompileOptions &options, std::optional<int64_t> memoryLimit,
                                            std::optional<size_t> maxTries,
                                            const std::function<void(size_t, size_t)> &onProgress = {});

/// The annotations to paste, and what they change.
std::string autoShardingText(const AutoSharding &sharding);

} // namespace spmdc
