//===- FixItSearch.h - the search for fix-its -------------------*- C++ -*-===//
#pragma once

#include "compiler/Compiler.h"
#include "compiler/explain/AnnotatedProgram.h"
#include "compiler/explain/FixIt.h"
#include "compiler/explain/UnwrittenTypes.h"

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace spmdc {

/// Limits of the whole search.
struct TryLimits {
  size_t tries = 256;  ///< Compiles.
  double seconds = 20; ///< No compiles start that would end later, if they take as long as the slowest so far.
};

/// A collective to remove, and the fix-its found for it.
struct WantedFixIt {
  const CollectiveReport *collective = nullptr;
  std::set<std::string> axes; ///< The axes that annotations force (findForcedAxes).
  std::vector<ForcingAnnotation> causes;
  /// Of one of several collectives of equal layers: the places of the annotations that force any of these. Edits change
  /// annotations of equal layers alike (AnnotatedProgram::withAlike).
  std::optional<std::set<std::string>> forcing;
  std::vector<FixIt> found;  ///< All edits that remove it.
  size_t tried = 0;          ///< Number of edits tried for it.
  bool isIncomplete = false; ///< The search stopped at a limit before it tried all edits.
};

/// Searches edits of annotations that remove collectives. Each edited program is compiled once, as many at a time as
/// there are cores.
class FixItSearch {
public:
  using Duration = std::chrono::steady_clock::duration;

  /// `compileTime`: how long the compile of the unedited program took.
  FixItSearch(const AnnotatedProgram &program, CompileOptions options, const Inspection &inspection,
              const TryLimits &limits, Duration compileTime);

  /// Fills in `found`, `tried` and `isIncomplete` of each collective, in the given order. First tries the likely edits
  /// of all collectives (the likeliest of each before the others), then larger edits for those without a faster fix-it
  /// free of extra cost, and at last, for those without a faster one, removes their axes from all annotations that
  /// force them.
  void run(const std::vector<WantedFixIt *> &wanted);

  size_t getTries() const { return tries; }
  bool isOutOfTime() const { return wasTooLong; }

private:
  /// The result of compiling an edited program; `inspection` is empty if that has errors.
  struct Outcome {
    std::optional<Inspection> inspection;
    PropagationLog log;
  };
  /// An edit in the syntax of the text, behind its key (AnnotatedProgram::keyOf).
  using KeyedEdit = std::pair<std::string, AnnotationEdit>;

  std::vector<AnnotationEdit> listResults(const std::vector<AxisAddition> &additions, AxisTargets which) const;
  std::vector<AnnotationEdit> listLikely(const WantedFixIt &wanted) const;
  std::vector<AnnotationEdit> listLarger(const WantedFixIt &wanted) const;
  const CollectiveReport *findRemaining(const WantedFixIt &wanted, const AnnotationEdit &edit,
                                        const ProgramReport &then) const;
  std::vector<AnnotationEdit> spell(const WantedFixIt &wanted, const AnnotationEdit &edit) const;
  void tryAll(WantedFixIt &wanted, const std::vector<AnnotationEdit> &edits);
  void removeAxes(WantedFixIt &wanted);
  void compileAll(const std::vector<KeyedEdit> &fresh);
  const Outcome *outcomeFor(WantedFixIt &wanted, const std::string &key) const;

  const AnnotatedProgram &program;
  CompileOptions options;
  const ProgramReport &report; ///< Of the unedited program.
  const ProgramTotals now;
  const TryLimits limits;
  const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  Duration slowest; ///< The longest compile so far, that of the unedited program included.
  size_t tries = 0;
  bool wasTooLong = false;
  std::map<std::string, Outcome> outcomes; ///< By the key of the edit.
};

} // namespace spmdc
