//===- TargetAgreement.cpp - one program for several targets --------------===//

#include "runtime/artifact/TargetAgreement.h"

#include "runtime/artifact/PlanPrinter.h"

namespace spmd {
namespace {

std::string describe(const ValueInfo &value) {
  return "'" + value.name + "' " + typeText(value) + " @ " + value.sharding.str();
}

std::string describe(const MeshShape &mesh) {
  std::string text = "(";
  for (const MeshAxis &axis : mesh.axes)
    text += (text.size() > 1 ? ", " : "") + axis.name + "=" + std::to_string(axis.size);
  return text + ")";
}

/// `what` is one thing for a target and another thing for another target.
std::string say(const std::string &what, const Plan &first, const std::string &one, const Plan &second,
                const std::string &other) {
  return what + " is " + one + " for " + first.target.str() + " and " + other + " for " + second.target.str();
}

/// Compares lists of parameters or of results.
std::string compareValues(const char *kind, const Plan &first, const Plan &second, std::vector<ValueInfo> Plan::*list) {
  const std::vector<ValueInfo> &ours = first.*list, &theirs = second.*list;
  if (ours.size() != theirs.size())
    return say("the number of " + std::string(kind) + "s", first, std::to_string(ours.size()), second,
               std::to_string(theirs.size()));
  for (size_t i = 0; i < ours.size(); ++i)
    if (ours[i] != theirs[i])
      return say(std::string(kind) + " " + std::to_string(i), first, describe(ours[i]), second, describe(theirs[i]));
  return "";
}

} // namespace

std::string findDisagreement(const Plan &first, const Plan &second) {
  if (first.name != second.name)
    return say("the entry function", first, "'" + first.name + "'", second, "'" + second.name + "'");
  if (first.mesh != second.mesh)
    return say("the mesh", first, describe(first.mesh), second, describe(second.mesh));
  std::string values = compareValues("parameter", first, second, &Plan::params);
  return values.empty() ? compareValues("result", first, second, &Plan::results) : values;
}

std::string targetList(const std::vector<TargetInfo> &targets) {
  std::string list;
  for (size_t i = 0; i < targets.size(); ++i)
    list += (i == 0 ? "" : i + 1 == targets.size() ? " and " : ", ") + targets[i].str();
  return list;
}

} // namespace spmd
