//===- FixIt.h - fix-its, and the choice among them -------------*- C++ -*-===//
#pragma once

#include "compiler/explain/AnnotationEdits.h"
#include "compiler/inspection/ProgramTotals.h"

#include <optional>
#include <vector>

namespace spmdc {

/// An edit of annotations that removes a collective; a compile of the edited program has verified that.
struct FixIt {
  AnnotationEdit edit;
  ProgramTotals totals; ///< Of the edited program.
  size_t changes;       ///< The dimensions that it edits; those of arguments whose names differ in numbers are one.
  bool isFaster;        ///< The edited program has a shorter predicted time (communication and compute).
  bool hasExtraCost;    ///< The edited program has clearly more FLOP, memory or communication on each device.

  FixIt(AnnotationEdit edit, const ProgramTotals &totals, const ProgramTotals &now);
};

/// The fix-its to show for one collective.
struct ChosenFixIts {
  std::optional<FixIt> best;
  /// Fix-its that are better than `best` in one respect: predicted time, memory.
  std::optional<FixIt> faster, leaner;
};

/// Chooses among the fix-its of one collective. Preference: faster than the unedited program; no extra cost
/// (hasExtraCost); fewest changes; shortest predicted time. Among equal times (Price::kAlike) fewer bytes win: bytes
/// on the wire, or memory if the fix-it has an extra cost. The order of the list breaks the remaining ties.
ChosenFixIts chooseFixIt(const std::vector<FixIt> &fixIts);

} // namespace spmdc
