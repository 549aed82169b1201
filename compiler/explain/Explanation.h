//===- Explanation.h - the causes of each collective ------------*- C++ -*-===//
#pragma once

#include "compiler/Compiler.h"
#include "compiler/explain/FixItSearch.h"

#include <optional>
#include <string>
#include <vector>

namespace spmdc {

/// The causes of one collective, and the fix-its for it: for one of a group, those that remove all of the group.
struct CollectiveExplanation {
  const CollectiveReport *collective = nullptr; ///< In Explanation::inspection.
  std::string sourceLine;                       ///< Without indentation.
  /// If one collective serves several source lines: the other lines, as pairs of source position and text.
  std::vector<std::pair<std::string, std::string>> otherLines;
  std::vector<ForcingAnnotationText> causes;
  ChosenFixIts proposal;
  size_t triedEdits = 0;     ///< Number of edits that the search compiled for it.
  bool isIncomplete = false; ///< Whether the search stopped at a limit before it tried all edits.
};

/// The contents of the report of `spmdc explain`.
struct Explanation {
  Inspection inspection;
  ProgramTotals totals;
  std::vector<CollectiveExplanation> collectives; ///< In the order of the program.
  /// The collectives by index, those together that are alike, as equal layers have them: they differ only in numbers of
  /// their arguments' names. The most expensive group is first.
  std::vector<std::vector<size_t>> groups;
  size_t triedEdits = 0;
  bool isIncomplete = false; ///< Whether the search stopped at a limit.
  bool isOutOfTime = false;  ///< Whether that limit was TryLimits::seconds.
};

/// Explains a program: compiles it with `compiler`, finds the provenance of its collectives in `log`, and runs the
/// fix-it search. Returns nullopt if the program has errors, which `compiler` reports.
std::optional<Explanation> explainProgram(Compiler &compiler, const std::string &fileName, const std::string &text,
                                          const CompileOptions &options, const PropagationLog &log,
                                          const TryLimits &limits);

std::string explanationText(const Explanation &explanation);
std::string explanationJson(const Explanation &explanation);

} // namespace spmdc
