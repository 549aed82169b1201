//===- InspectionHtml.h - the report of a program as one page ---*- C++ -*-===//
#pragma once

#include "compiler/inspection/InspectionText.h"
#include "passes/pipeline/Pipeline.h"

#include <string>
#include <vector>

namespace spmdc {

/// One HTML page that needs nothing beside itself: the source beside the module after each pass, lines that belong
/// together linked both ways, the table of collectives, and how each value lies on the mesh. The same bytes for the
/// same program.
std::string inspectionHtml(const Inspection &inspection, const std::string &fileName, std::string_view source,
                           const std::vector<PassDump> &dumps);

} // namespace spmdc
