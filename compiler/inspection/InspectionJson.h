//===- InspectionJson.h - the report as JSON --------------------*- C++ -*-===//
#pragma once

#include "compiler/inspection/Inspection.h"
#include "compiler/inspection/MeasuredTimes.h"

#include <optional>
#include <string>

namespace spmdc {

/// The text of `inspect --json`, keys in a fixed order. `measured` adds the times of a run beside the predicted ones.
std::string inspectionJson(const Inspection &inspection, const std::optional<MeasuredTimes> &measured = std::nullopt);

} // namespace spmdc
