//===- Disagreement.h - who says something else than most -------*- C++ -*-===//
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace spmd {

/// Processes that do not say the same, ascending. Of equally many, those with the first process are `most`.
struct Disagreement {
  std::vector<int32_t> most, others;
};

/// `answers`: by process; nullopt where all are equal.
std::optional<Disagreement> findDisagreement(const std::map<int32_t, std::string> &answers);

} // namespace spmd
