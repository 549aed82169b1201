//===- Describe.h - process lists and times for messages --------*- C++ -*-===//
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace spmd::coordinator {

/// Formats ascending ids: `process 3`, `processes 0, 2-5 and 9`.
std::string describeProcesses(const std::vector<int32_t> &ids);

/// Formats a time: `0.7 s`, `10 s`, `2.5 s`.
std::string formatSeconds(int64_t milliseconds);

} // namespace spmd::coordinator
