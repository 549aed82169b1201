//===- CollectiveProvenance.h - what a person wrote that forces a collective --*- C++ -*-===//
#pragma once

#include "passes/propagate/AxisProvenance.h"
#include "passes/report/ProgramReport.h"

#include <set>
#include <string>
#include <vector>

namespace spmdc {

/// A place on the way from a mark to a collective.
struct ProvenanceStep {
  std::string place; ///< `mlp.spmd:5:7`.
  std::string what;  ///< `dot_general`.
  bool operator==(const ProvenanceStep &) const = default;
};

/// One mark that takes part in forcing a collective.
struct ForcingAnnotation {
  std::string mark;     ///< Where the type or the P(...) begins.
  unsigned dim = 0;     ///< The dimension of it.
  std::string axis;     ///< That it is cut over; of a dimension that is kept whole, the axis that it does not follow.
  bool isWhole = false; ///< The dimension is closed without the axis, while what it meets is cut over it.
  std::string name;     ///< Of the parameter or the `let`; may be empty.
  /// The operations through which propagation carried the axis, the one that needs the collective last.
  std::vector<ProvenanceStep> path;
};

/// The axes over which annotations force the collective: not those over which the program has it before it is
/// partitioned, as a person wrote it or as it came with a derivative.
std::set<std::string> findForcedAxes(const PropagationLog &log, const CollectiveReport &collective);

/// From the nearest to the farthest mark; empty where no annotation plays a part (what a person wrote in a shard_map).
std::vector<ForcingAnnotation> findProvenance(const PropagationLog &log, const CollectiveReport &collective);

} // namespace spmdc
