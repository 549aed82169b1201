//===- VerdictJson.h - a verdict as JSON ------------------------*- C++ -*-===//
#pragma once

#include "runtime/coordinator/Verdict.h"

#include <nlohmann/json.hpp>

namespace spmd {

/// Returns `killed`, `lost`, ...: the root causes of logs and reports.
const char *causeName(Verdict::Cause cause);

/// Returns an object with the same keys for every cause; absent values are null.
nlohmann::ordered_json verdictJson(const Verdict &verdict);

/// Bytes that are not UTF-8 (in names of files) become U+FFFD. `indent` -1: on one line.
std::string jsonText(const nlohmann::ordered_json &json, int indent = -1);

} // namespace spmd
