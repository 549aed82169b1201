//===- TracedPlaces.h - C++ places of a traced program's lines --*- C++ -*-===//
#pragma once

#include "runtime/artifact/Plan.h"

#include <source_location>
#include <string>
#include <vector>

namespace spmd {

/// The C++ places of the lines of a traced program. Empty for a program that was not traced: then the functions below
/// change nothing.
struct TracedPlaces {
  std::string fileName;                     ///< The name of the traced text in the compiler's messages.
  std::vector<std::source_location> places; ///< One for each line.

  /// Replaces each `FILE:LINE:COLUMN` of the traced program in a text with the C++ place.
  std::string inText(const std::string &text) const;
  /// The same for the place that an error of a run names.
  void inArtifact(Artifact &artifact) const;

private:
  const std::source_location *placeOf(int64_t line) const {
    return line >= 1 && static_cast<size_t>(line) <= places.size() ? &places[static_cast<size_t>(line - 1)] : nullptr;
  }
  void inSteps(std::vector<Step> &steps) const;
};

} // namespace spmd
