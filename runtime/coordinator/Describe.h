//===- Describe.h - the small words of messages -----------------*- C++ -*-===//
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace spmd::coordinator {

/// `process 3`, `processes 0, 2-5 and 9` for ascending ids.
std::string describeProcesses(const std::vector<int32_t> &ids);

/// `0.7 s`, `10 s`, `2.5 s`.
std::string formatSeconds(int64_t milliseconds);

} // namespace spmd::coordinator
