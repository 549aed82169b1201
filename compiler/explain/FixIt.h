//===- FixIt.h - changes of annotations that remove a collective -*- C++ -*-===//
#pragma once

#include "compiler/explain/AnnotationEdits.h"
#include "compiler/inspection/ProgramTotals.h"

#include <optional>
#include <vector>

namespace spmdc {

/// A change of annotation after which a collective is gone, which was compiled to know that.
struct FixIt {
  AnnotationEdit edit;
  ProgramTotals totals; ///< Of the program after it.
  bool isFaster;        ///< Than the program is now, by its communication and its operations.
  bool isPaidFor;       ///< By clearly more operations, memory or communication of each device.

  FixIt(AnnotationEdit edit, const ProgramTotals &totals, const ProgramTotals &now);
};

/// What is proposed for one collective.
struct Proposal {
  std::optional<FixIt> best;
  /// Better than the best in one respect: what is faster still, and what needs less memory.
  std::optional<FixIt> faster, leaner;
};

/// Of removals that are faster than the program as it is, those that nothing is paid for come first, then those that
/// are; then the others, in the same order. Among them the smallest, of those the fastest. Of times that are alike
/// (CostModel::kAlike) fewer bytes decide: sent, or where something is paid for, kept; and at last which stands first.
Proposal chooseRemoval(const std::vector<FixIt> &removals);

} // namespace spmdc
