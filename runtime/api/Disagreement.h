//===- Disagreement.h - processes that differ from the others ---*- C++ -*-===//
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace spmd {

/// `most` has the processes of the most frequent answer; among equally frequent ones, that of the first process counts.
/// `others` has the rest. Both are ascending.
struct Disagreement {
  std::vector<int32_t> most, others;
};

/// `answers` is indexed by process. Returns nullopt if all are equal.
std::optional<Disagreement> findDisagreement(const std::map<int32_t, std::string> &answers);

} // namespace spmd
