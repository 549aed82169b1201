//===- InspectionJson.h - what reports in JSON have in common ---*- C++ -*-===//
#pragma once

#include "compiler/inspection/InspectionText.h"

#include <nlohmann/json.hpp>

namespace spmdc {

using Json = nlohmann::ordered_json;

/// Bytes and operations are whole where they are: scripts compare them with ==.
Json number(double value);

/// Predictions, to the nanosecond: more digits would say more than a model knows.
Json microseconds(double seconds);

/// `[{"axis": "a", "size": 4}]`.
Json meshJson(const spmd::MeshShape &mesh);

/// One entry of `collectives`.
Json collectiveJson(const CollectiveReport &collective);

} // namespace spmdc
