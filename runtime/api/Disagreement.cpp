//===- Disagreement.cpp - processes that differ from the others -----------===//

#include "runtime/api/Disagreement.h"

#include <algorithm>

namespace spmd {

std::optional<Disagreement> findDisagreement(const std::map<int32_t, std::string> &answers) {
  std::map<std::string, std::vector<int32_t>> groups;
  for (const auto &[process, answer] : answers)
    groups[answer].push_back(process);
  if (groups.size() < 2)
    return std::nullopt;
  auto most = std::max_element(groups.begin(), groups.end(), [](const auto &left, const auto &right) {
    return std::pair(left.second.size(), -left.second.front()) < std::pair(right.second.size(), -right.second.front());
  });
  Disagreement result{most->second, {}};
  for (const auto &[process, answer] : answers)
    if (answer != most->first)
      result.others.push_back(process);
  return result;
}

} // namespace spmd
