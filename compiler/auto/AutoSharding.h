//===- AutoSharding.h - search of shardings of parameters -------*- C++ -*-===//
#pragma once

#include "compiler/Compiler.h"
#include "compiler/explain/AnnotationEdits.h"
#include "compiler/inspection/ProgramTotals.h"

#include <functional>
#include <optional>
#include <string>

namespace spmdc {

/// The result of the search.
struct AutoSharding {
  ProgramTotals before, after;
  AnnotationEdit edit; ///< Empty if the search found nothing better than the unedited program.
  std::string text;    ///< The edited program.
  size_t tried = 0;    ///< Programs compiled.
};

/// Searches annotations of the entry's unannotated parameters (struct fields one by one; for a program exported from
/// JAX its in_shardings) that make the program cheapest: within the memory limit first, then by predicted time. Starts
/// from the proposals of the exact solver (passes/assign/ShardingProposals.h) and continues as a beam search over
/// annotations, which compiles each state up to its plan: at most `maxTries` compiles, by default a number that depends
/// on the size of the program. Returns nullopt if the program has errors. Calls `onProgress` with the number of
/// compiles so far and their maximum, and at the end with their number twice.
std::optional<AutoSharding> searchShardings(const std::string &fileName, const std::string &text,
                                            const CompileOptions &options, std::optional<int64_t> memoryLimit,
                                            std::optional<size_t> maxTries,
                                            const std::function<void(size_t, size_t)> &onProgress = {});

/// The costs before and after, and the annotations to paste.
std::string autoShardingText(const AutoSharding &sharding);

} // namespace spmdc
