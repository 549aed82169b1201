//===- VerdictJson.h - a verdict for programs -------------------*- C++ -*-===//
#pragma once

#include "runtime/coordinator/Verdict.h"

#include <nlohmann/json.hpp>

namespace spmd {

/// `killed`, `lost`, ...: the root causes of logs and reports.
const char *causeName(Verdict::Cause cause);

/// The same keys for every cause; null where there is no such thing.
nlohmann::ordered_json verdictJson(const Verdict &verdict);

/// Bytes that are not UTF-8 (names of files) become U+FFFD. `indent` -1: on one line.
std::string jsonText(const nlohmann::ordered_json &json, int indent = -1);

} // namespace spmd
