//===- Explanation.h - why there is each collective -------------*- C++ -*-===//
#pragma once

#include "runtime/jit/Compiler.h"
#include "tools/spmdc/AnnotationEdits.h"
#include "tools/spmdc/Inspection.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace spmdc {

/// What a program sends and computes in all, on each device.
struct ProgramTotals {
  size_t collectives = 0;
  double wireBytes = 0, communicationSeconds = 0, flops = 0;
  int64_t argumentBytes = 0;
};

ProgramTotals totalsOf(const ProgramReport &report);

/// A change of annotation after which a collective is gone, which was compiled to know that.
struct Removal {
  AnnotationEdit edit;
  ProgramTotals totals;  ///< Of the program after it.
  bool isFaster = false; ///< Than the program is now, by its communication and its operations.
};

struct CauseText {
  Cause cause;
  std::string written; ///< `2048@b`, where the source is at hand.
  std::string place;   ///< Of the dimension, else of the mark.
};

struct CollectiveExplanation {
  const CollectiveReport *collective = nullptr; ///< In the inspection's report.
  std::string sourceLine;                       ///< Without its indentation.
  /// Where one collective does the work of several: the lines of the others, each with its first place.
  std::vector<std::pair<std::string, std::string>> otherLines;
  std::vector<CauseText> causes;
  std::optional<Removal> removal;
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

/// How many changes of annotations may be compiled in all, and for how long.
struct TryLimits {
  size_t tries = 256;
  double seconds = 20;
};

/// Explains a program. Nothing where it has errors (see `compiler`).
std::optional<Explanation> explainProgram(Compiler &compiler, const std::string &fileName, const std::string &text,
                                          const CompileOptions &options, const PropagationLog &log,
                                          const TryLimits &limits);

std::string explanationText(const Explanation &explanation);
std::string explanationJson(const Explanation &explanation);

} // namespace spmdc
