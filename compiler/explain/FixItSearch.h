//===- FixItSearch.h - what removes a program's collectives ---*- C++ -*-===//
#pragma once

#include "compiler/Compiler.h"
#include "compiler/explain/AnnotatedProgram.h"
#include "compiler/explain/FixIt.h"
#include "compiler/explain/UnwrittenTypes.h"

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace spmdc {

/// How many changes of annotations may be compiled in all, and for how long.
struct TryLimits {
  size_t tries = 256;
  double seconds = 20; ///< None is begun that would not end in time, as long as the slowest so far.
};

/// A collective that is to go, and what was found.
struct WantedFixIt {
  const CollectiveReport *collective = nullptr;
  std::set<std::string> axes; ///< That annotations force.
  std::vector<ForcingAnnotation> causes;
  std::vector<FixIt> found; ///< All that remove it.
  size_t tried = 0;         ///< Changes that were tried to remove it.
  bool isCutShort = false;  ///< There were more of them than were to be tried.
};

/// Looks for changes of annotations that remove collectives, by compiling what the changes give, each once.
class FixItSearch {
public:
  using Duration = std::chrono::steady_clock::duration;

  /// `compileTime`: how long the program itself took.
  FixItSearch(const AnnotatedProgram &program, CompileOptions options, const Inspection &inspection,
              const TryLimits &limits, Duration compileTime);

  /// Fills in what was tried and found, in the order given: for all the likeliest changes first, then larger ones for
  /// those that are not yet gone for nothing, and for those that nothing faster removes their axes are taken from
  /// everything that brings them.
  void run(const std::vector<WantedFixIt *> &wanted);

  size_t getTries() const { return tries; }
  bool isOutOfTime() const { return wasTooLong; }

private:
  /// What the partitioner makes of a changed program, where that has no errors.
  struct Outcome {
    std::optional<Inspection> inspection;
    PropagationLog log;
  };

  std::vector<AnnotationEdit> listResults(const std::vector<AxisAddition> &additions, CutResults which) const;
  std::vector<AnnotationEdit> listLikely(const WantedFixIt &wanted) const;
  std::vector<AnnotationEdit> listLarger(const WantedFixIt &wanted) const;
  const CollectiveReport *findLeft(const WantedFixIt &wanted, const AnnotationEdit &edit,
                                   const ProgramReport &then) const;
  void tryAll(WantedFixIt &wanted, const std::vector<AnnotationEdit> &edits);
  void takeAxes(WantedFixIt &wanted);
  const Outcome *test(WantedFixIt &wanted, const AnnotationEdit &edit);

  const AnnotatedProgram &program;
  CompileOptions options;
  const ProgramReport &report; ///< Of the program as it is.
  const ProgramTotals now;
  const TryLimits limits;
  const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  Duration slowest; ///< Of the tries and the program itself.
  size_t tries = 0;
  bool wasTooLong = false;
  std::map<std::string, Outcome> outcomes; ///< By the program's text.
};

} // namespace spmdc
