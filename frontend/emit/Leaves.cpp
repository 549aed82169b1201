//===- Leaves.cpp - values made of several arrays -------------------------===//

#include "frontend/emit/Leaves.h"

#include "llvm/ADT/STLExtras.h"

namespace spmdc {

bool isTree(const Value &value) { return value.isSequence() || value.isStruct(); }

static void collectLeaves(const Value &value, std::vector<Value> &leaves) {
  if (!isTree(value)) {
    leaves.push_back(value);
    return;
  }
  for (const Value &element : value.elements)
    collectLeaves(element, leaves);
}

std::vector<Value> getLeaves(const Value &value) {
  std::vector<Value> leaves;
  collectLeaves(value, leaves);
  return leaves;
}

/// Builds a value of this structure; removes its leaves from the front of `leaves`.
static Value rebuild(const Value &structure, llvm::ArrayRef<Value> &leaves) {
  if (!isTree(structure)) {
    assert(!leaves.empty() && "fewer leaves than the structure has");
    Value leaf = leaves.front();
    leaves = leaves.drop_front();
    return leaf;
  }
  Value result = structure;
  for (Value &element : result.elements)
    element = rebuild(element, leaves);
  return result;
}

Value withLeaves(const Value &structure, llvm::ArrayRef<Value> leaves) {
  Value result = rebuild(structure, leaves);
  assert(leaves.empty() && "more leaves than the structure has");
  return result;
}

/// The name of a part of a tree, appended to that of the tree.
static std::string partName(const Value &tree, size_t i, llvm::StringRef prefix) {
  std::string part = tree.isStruct() ? std::string(tree.structDecl->fields[i].name.text) : std::to_string(i);
  return prefix.empty() ? part : prefix.str() + "." + part;
}

static void collectNames(const Value &value, const std::string &prefix, std::vector<std::string> &names) {
  if (!isTree(value)) {
    names.push_back(prefix);
    return;
  }
  for (auto [i, element] : llvm::enumerate(value.elements))
    collectNames(element, partName(value, i, prefix), names);
}

std::vector<std::string> leafNames(const Value &value, llvm::StringRef prefix) {
  std::vector<std::string> names;
  collectNames(value, prefix.str(), names);
  return names;
}

static std::string describeTree(const Value &value) {
  return value.isSequence() ? value.describe() + " of " + std::to_string(value.elements.size()) : value.describe();
}

static std::optional<std::string> difference(const Value &left, const Value &right, const std::string &path) {
  bool isSame = isTree(left) == isTree(right);
  if (isSame && isTree(left))
    isSame =
        left.kind == right.kind && left.structDecl == right.structDecl && left.elements.size() == right.elements.size();
  if (!isSame)
    return describeTree(left) + " against " + describeTree(right) + (path.empty() ? "" : " at " + path);
  if (isTree(left))
    for (auto [i, element] : llvm::enumerate(left.elements))
      if (auto found = difference(element, right.elements[i], partName(left, i, path)))
        return found;
  return std::nullopt;
}

std::optional<std::string> structureDifference(const Value &left, const Value &right) {
  return difference(left, right, "");
}

} // namespace spmdc
