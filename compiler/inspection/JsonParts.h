//===- JsonParts.h - shared parts of the JSON reports ------*- C++ -*-===//
#pragma once

#include "compiler/inspection/InspectionText.h"

#include <nlohmann/json.hpp>

namespace spmdc {

using Json = nlohmann::ordered_json;

/// Writes a number without fraction as an integer, because scripts compare bytes and FLOP counts with ==.
Json number(double value);

/// Seconds as microseconds, rounded to the nanosecond: more digits than that are below the accuracy of the model.
Json microseconds(double seconds);

/// `[{"axis": "a", "size": 4}]`.
Json meshJson(const spmd::MeshShape &mesh);

/// The lists `params`, `results` and `values`.
Json valuesJson(const std::vector<ValueReport> &values, bool withLocation);

/// The list `while_loops` of a function.
Json whileLoopsJson(const Inspection &inspection, const FunctionReport &function);

/// One entry of the list `collectives`.
Json collectiveJson(const CollectiveReport &collective);

} // namespace spmdc
