//===- Comparison.h - two programs side by side -----------------*- C++ -*-===//
#pragma once

#include "compiler/inspection/Inspection.h"
#include "frontend/syntax/Source.h"

#include <string>

namespace spmdc {

struct ComparedProgram {
  Source source; ///< Collectives are matched by the lines they come from.
  Inspection inspection;
};

/// What the two send and compute, and which collectives only one of them has. A collective of one is that of the other
/// if kind, reduction and source line (its text, not its number) agree, and the axes where that decides.
std::string comparisonText(const ComparedProgram &a, const ComparedProgram &b);
std::string comparisonJson(const ComparedProgram &a, const ComparedProgram &b);

} // namespace spmdc
