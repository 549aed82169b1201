//===- InspectionHtml.h - the report of a program as one page ---*- C++ -*-===//
#pragma once

#include "compiler/inspection/InspectionText.h"
#include "passes/pipeline/Pipeline.h"

#include <string>
#include <vector>

namespace spmdc {

/// Returns one self-contained HTML page: the source beside the IR after each pass, with links between corresponding
/// lines, the table of collectives, and a drawing of each value's sharding. Deterministic: one program always gives the
/// same bytes.
std::string inspectionHtml(const Inspection &inspection, const std::string &fileName, std::string_view source,
                           const std::vector<PassDump> &dumps);

} // namespace spmdc
