//===- Suggest.cpp - suggestions for unknown names ------------------------===//

#include "frontend/sema/Suggest.h"

#include "runtime/support/Spelling.h"

#include <algorithm>
#include <iterator>

namespace spmdc {

namespace {

enum class ForeignKind { Renamed, Idiom, Absent, Value, Module };

struct ForeignName {
  ForeignKind kind;
  std::string_view name;
  std::string_view own, why, code;
};

constexpr ForeignName foreignNames[] = {
#define RENAMED(name, own) {ForeignKind::Renamed, name, own, "", ""},
#define IDIOM(name, code) {ForeignKind::Idiom, name, "", "", code},
#define ABSENT(name, why, code) {ForeignKind::Absent, name, "", why, code},
#define VALUE(name, code) {ForeignKind::Value, name, "", "", code},
#define MODULE(name) {ForeignKind::Module, name, "", "", ""},
#include "frontend/sema/ForeignNames.def"
#undef RENAMED
#undef IDIOM
#undef ABSENT
#undef VALUE
#undef MODULE
};

const ForeignName *findForeign(std::string_view name) {
  const auto *found =
      std::find_if(std::begin(foreignNames), std::end(foreignNames), [&](const auto &f) { return f.name == name; });
  return found == std::end(foreignNames) ? nullptr : found;
}

} // namespace

std::string_view nearestName(std::string_view name, const std::vector<std::string_view> &candidates) {
  const ForeignName *foreign = findForeign(name);
  if (foreign && foreign->kind == ForeignKind::Renamed &&
      std::find(candidates.begin(), candidates.end(), foreign->own) != candidates.end())
    return foreign->own;
  return spmd::nearestSpelling(name, candidates);
}

std::string unknownName(std::string_view what, std::string_view name, const std::vector<std::string_view> &candidates,
                        bool isCalled) {
  std::string quoted = "'" + std::string(name) + "'", unknown = "unknown " + std::string(what) + " " + quoted;
  const ForeignName *foreign = findForeign(name);
  if (!foreign)
    return unknown + didYouMean(name, candidates);
  std::string code = "'" + std::string(foreign->code) + "'";
  switch (foreign->kind) {
  case ForeignKind::Module:
    return unknown + "; there are no modules: functions and constants have plain names, as in 'tanh(x)'";
  case ForeignKind::Value:
    return unknown + "; write " + code;
  case ForeignKind::Idiom:
    if (isCalled)
      return unknown + "; write " + code;
    break;
  case ForeignKind::Absent:
    if (isCalled)
      return quoted + " is not in the language: " + std::string(foreign->why) +
             (foreign->code.empty() ? "" : ": " + code);
    break;
  case ForeignKind::Renamed:
    break;
  }
  return unknown + didYouMean(name, candidates);
}

std::string didYouMean(std::string_view name, const std::vector<std::string_view> &candidates) {
  std::string_view best = nearestName(name, candidates);
  return best.empty() ? "" : "; did you mean '" + std::string(best) + "'?";
}

} // namespace spmdc
