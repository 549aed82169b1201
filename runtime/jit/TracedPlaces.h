//===- TracedPlaces.h - lines of a traced program, and of C++ ---*- C++ -*-===//
#pragma once

#include "runtime/artifact/Plan.h"

#include <source_location>
#include <string>
#include <vector>

namespace spmd {

/// Where the lines of a traced program come from. Empty: the program was not traced, and nothing is changed.
struct TracedPlaces {
  std::string fileName;                     ///< That of the traced text in the compiler's messages.
  std::vector<std::source_location> places; ///< By line.

  /// The text with each `FILE:LINE:COLUMN` of the program replaced by the place in C++.
  std::string inText(const std::string &text) const;
  /// The same for what errors of a run name.
  void inArtifact(Artifact &artifact) const;

private:
  const std::source_location *placeOf(int64_t line) const {
    return line >= 1 && static_cast<size_t>(line) <= places.size() ? &places[static_cast<size_t>(line - 1)] : nullptr;
  }
  void inSteps(std::vector<Step> &steps) const;
};

} // namespace spmd
