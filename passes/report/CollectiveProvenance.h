//===- CollectiveProvenance.h - annotations that force collectives -*- C++ -*-===//
#pragma once

#include "passes/propagate/AxisProvenance.h"
#include "passes/report/ProgramReport.h"

#include <set>
#include <string>
#include <vector>

namespace spmdc {

/// An operation on the path from an annotation to a collective.
struct ProvenanceStep {
  std::string place; ///< `mlp.spmd:5:7`.
  std::string what;  ///< `dot_general`.
  bool operator==(const ProvenanceStep &) const = default;
};

/// An annotated dimension that forces a collective, perhaps together with other annotations. Either it is sharded over
/// `axis`, or (`isReplicated`) it is closed and replicated over `axis`, while an array that it meets is sharded over
/// it.
struct ForcingAnnotation {
  std::string annotationPlace; ///< The source position at which the annotation (a type or a P(...)) begins.
  unsigned dim = 0;            ///< The dimension's index in the annotation.
  std::string axis;            ///< The axis that forces the collective.
  bool isReplicated = false;   ///< The dimension is kept replicated over `axis`.
  std::string name;            ///< The name of the parameter or the `let`; may be empty.
  /// The operations through which propagation carried the axis. The last one needs the collective.
  std::vector<ProvenanceStep> path;
};

/// The axes over which annotations force the collective: all its axes but those over which the program contains it
/// before partitioning, because the user wrote it or differentiation created it.
std::set<std::string> findForcedAxes(const PropagationLog &log, const CollectiveReport &collective);

/// The annotations that force the collective, in the order of path length. Empty if no annotation does, as for a
/// collective that the user wrote in a shard_map.
std::vector<ForcingAnnotation> findProvenance(const PropagationLog &log, const CollectiveReport &collective);

} // namespace spmdc
