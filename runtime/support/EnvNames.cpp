//===- EnvNames.cpp - misspelt names of variables -------------------------===//

#include "runtime/support/Env.h"
#include "runtime/support/Spelling.h"

#include <set>

namespace spmd {

/// Returns all names that parse() reads: the only list of them.
static std::set<std::string> knownNames() {
  std::set<std::string> known;
  std::vector<std::string> ignored;
  Environment::parse(
      [&](const char *name) -> std::optional<std::string> {
        if (std::string_view(name).starts_with("SPMD_"))
          known.insert(name);
        return std::nullopt;
      },
      &ignored);
  return known;
}

std::vector<std::string> Environment::findMisspelt(const std::vector<std::string> &names) {
  constexpr std::string_view prefix = "SPMD_";
  std::vector<std::string> warnings;
  std::set<std::string> known;
  for (const std::string &name : names) {
    if (!name.starts_with(prefix))
      continue;
    if (known.empty())
      known = knownNames();
    if (known.count(name))
      continue;
    std::vector<std::string_view> candidates;
    for (const std::string &candidate : known)
      candidates.push_back(std::string_view(candidate).substr(prefix.size()));
    // The common prefix is not compared, because it would make all names similar.
    std::string_view best = nearestSpelling(std::string_view(name).substr(prefix.size()), candidates);
    if (!best.empty())
      warnings.push_back("environment variable " + name + " is not known; did you mean " + std::string(prefix) +
                         std::string(best) + "?");
  }
  return warnings;
}

} // namespace spmd
