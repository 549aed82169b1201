//===- AxisAddition.cpp - additional axes of a dimension ------------------===//

#include "compiler/explain/AxisAddition.h"

#include <algorithm>

namespace spmdc {

std::vector<std::vector<std::string>> ordersOf(std::vector<std::string> axes) {
  constexpr size_t maxPermuted = 3;
  std::vector<std::vector<std::string>> orders = {axes};
  if (axes.size() > maxPermuted) {
    orders.emplace_back(axes.rbegin(), axes.rend());
    return orders;
  }
  std::vector<size_t> order;
  for (size_t i = 0; i < axes.size(); ++i)
    order.push_back(i);
  while (std::next_permutation(order.begin(), order.end())) {
    std::vector<std::string> &permuted = orders.emplace_back();
    for (size_t i : order)
      permuted.push_back(axes[i]);
  }
  return orders;
}

std::vector<AxisAddition> additionsOfOne(const std::vector<std::string> &axes) {
  std::vector<AxisAddition> additions;
  for (const std::string &axis : axes)
    additions.push_back({{axis}});
  return additions;
}

std::vector<AxisAddition> additionsOfSeveral(const std::vector<std::string> &axes) {
  std::vector<AxisAddition> additions;
  if (axes.size() > 1)
    for (std::vector<std::string> &order : ordersOf(axes))
      additions.push_back({std::move(order)});
  for (size_t i = 0; axes.size() > 2 && i < axes.size(); ++i)
    for (size_t j = 0; j < axes.size(); ++j)
      if (i != j)
        additions.push_back({{axes[i], axes[j]}});
  for (const std::string &axis : axes)
    additions.push_back({{axis}, /*isMajor=*/true});
  return additions;
}

} // namespace spmdc
