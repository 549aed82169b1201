//===- ResultNames.cpp - arrays to which a name refers --------------------===//

#include "runtime/artifact/ResultNames.h"

#include <charconv>

namespace spmd {
namespace {

/// Returns `p` for `p.layers.0`.
std::string_view firstPart(std::string_view name) { return name.substr(0, name.find('.')); }

} // namespace

std::vector<size_t> resultNumbers(const std::vector<ValueInfo> &values) {
  std::vector<size_t> numbers;
  for (size_t i = 0; i < values.size(); ++i) {
    bool isSame = i > 0 && firstPart(values[i].name) == firstPart(values[i - 1].name);
    numbers.push_back(i == 0 ? 0 : numbers.back() + (isSame ? 0 : 1));
  }
  return numbers;
}

std::vector<NamedLeaf> findLeavesByName(const std::vector<ValueInfo> &values, std::string_view name) {
  std::vector<NamedLeaf> leaves;
  std::string below = std::string(name) + ".";
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].name == name)
      leaves.push_back({i, std::string(name), false});
    else if (values[i].name.starts_with(below))
      leaves.push_back({i, values[i].name.substr(below.size()), true});
  }
  return leaves;
}

std::vector<NamedLeaf> findLeaves(const std::vector<ValueInfo> &values, std::string_view name) {
  std::vector<NamedLeaf> leaves = findLeavesByName(values, name);
  std::string_view first = firstPart(name);
  size_t index = 0;
  auto [end, error] = std::from_chars(first.data(), first.data() + first.size(), index);
  if (!leaves.empty() || error != std::errc() || end != first.data() + first.size())
    return leaves;
  std::vector<size_t> numbers = resultNumbers(values);
  for (size_t i = 0; i < values.size(); ++i)
    if (numbers[i] == index)
      return findLeavesByName(values, std::string(firstPart(values[i].name)) + std::string(name.substr(first.size())));
  return {};
}

} // namespace spmd
