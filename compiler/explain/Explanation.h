//===- Explanation.h - why there is each collective -------------*- C++ -*-===//
#pragma once

#include "compiler/Compiler.h"
#include "compiler/explain/FixItSearch.h"

#include <optional>
#include <string>
#include <vector>

namespace spmdc {

struct CollectiveExplanation {
  const CollectiveReport *collective = nullptr; ///< In the inspection's report.
  std::string sourceLine;                       ///< Without its indentation.
  /// Where one collective does the work of several: the lines of the others, each with its first place.
  std::vector<std::pair<std::string, std::string>> otherLines;
  std::vector<ForcingAnnotationText> causes;
  Proposal proposal;
  size_t triedEdits = 0;   ///< Changes that were tried to remove it.
  bool isCutShort = false; ///< There were more of them than were to be tried.
};

struct Explanation {
  Inspection inspection;
  ProgramTotals totals;
  std::vector<CollectiveExplanation> collectives; ///< In the order of the program.
  size_t triedEdits = 0;
  bool isCutShort = false;  ///< There were more edits than were to be tried,
  bool isOutOfTime = false; ///< since that took too long.
};

/// Explains a program. Nothing where it has errors (see `compiler`).
std::optional<Explanation> explainProgram(Compiler &compiler, const std::string &fileName, const std::string &text,
                                          const CompileOptions &options, const PropagationLog &log,
                                          const TryLimits &limits);

std::string explanationText(const Explanation &explanation);
std::string explanationJson(const Explanation &explanation);

} // namespace spmdc
