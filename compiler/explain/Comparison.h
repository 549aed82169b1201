//===- Comparison.h - the report of `explain --diff` ------------*- C++ -*-===//
#pragma once

#include "compiler/inspection/Inspection.h"
#include "frontend/syntax/Source.h"

#include <string>

namespace spmdc {

struct ComparedProgram {
  Source source; ///< The comparison matches collectives by the text of their source lines.
  Inspection inspection;
};

/// Reports the totals of both programs, and the collectives that only one of them has. Two collectives match if their
/// operation, reduction, source line (its text, not its number) and direction (forward or backward) agree; among
/// several matches equal axes and bytes win, then equal axes.
std::string comparisonText(const ComparedProgram &a, const ComparedProgram &b);
std::string comparisonJson(const ComparedProgram &a, const ComparedProgram &b);

} // namespace spmdc
