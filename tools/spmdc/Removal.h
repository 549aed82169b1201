//===- Removal.h - changes of annotations that remove a collective -*- C++ -*-===//
#pragma once

#include "runtime/jit/ProgramTotals.h"
#include "tools/spmdc/AnnotationEdits.h"

#include <optional>
#include <vector>

namespace spmdc {

/// A change of annotation after which a collective is gone, which was compiled to know that.
struct Removal {
  AnnotationEdit edit;
  ProgramTotals totals; ///< Of the program after it.
  bool isFaster;        ///< Than the program is now, by its communication and its operations.
  bool isPaidFor;       ///< By clearly more operations, memory or communication of each device.

  Removal(AnnotationEdit edit, const ProgramTotals &totals, const ProgramTotals &now);
};

/// What is proposed for one collective.
struct Proposal {
  std::optional<Removal> best;
  /// Better than the best in one respect: what is faster still, and what needs less memory.
  std::optional<Removal> faster, leaner;
};

/// Of removals that are faster than the program as it is, those that nothing is paid for come first, then those that
/// are; then the others, in the same order. Among them the smallest, of those the fastest. Of times that are alike
/// (CostModel::kAlike) fewer bytes decide: sent, or where something is paid for, kept; and at last which stands first.
Proposal chooseRemoval(const std::vector<Removal> &removals);

} // namespace spmdc
