//===- DType.cpp - element types of arrays --------------------------------===//

#include "runtime/support/DType.h"

#include <algorithm>
#include <string>

namespace spmd {
namespace {

constexpr bool isInOrder() {
  for (size_t i = 0; i < kDTypes.size(); ++i)
    if (kDTypes[i].dtype != static_cast<DType>(i))
      return false;
  return kDTypes.back().dtype == DType::Key;
}
static_assert(isInOrder(), "infoOf() indexes the table by the enumeration");

} // namespace

std::optional<DType> parseDType(std::string_view name) {
  const auto *found =
      std::find_if(kDTypes.begin(), kDTypes.end(), [&](const DTypeInfo &info) { return info.name == name; });
  return found == kDTypes.end() ? std::nullopt : std::optional(found->dtype);
}

std::string_view listDTypes(bool withKey) {
  static const std::string all = [] {
    std::string text;
    for (const DTypeInfo &info : kDTypes)
      text += (text.empty() ? "" : " ") + std::string(info.name);
    return text;
  }();
  return std::string_view(all).substr(0, withKey ? all.npos : all.rfind(' '));
}

} // namespace spmd
