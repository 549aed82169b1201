//===- NameList.h - names in a message --------------------------*- C++ -*-===//
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace spmd {

/// `'a', 'b' and 3 more`: the first `most` names, quoted, and the number of the others; `none` without names.
inline std::string quotedNames(const std::vector<std::string> &names, size_t most) {
  std::string text;
  for (size_t i = 0; i < names.size() && i < most; ++i)
    text += (i ? ", '" : "'") + names[i] + "'";
  if (names.empty())
    return "none";
  return names.size() > most ? text + " and " + std::to_string(names.size() - most) + " more" : text;
}

} // namespace spmd
