//===- Builtins.cpp - the table of operations, arguments ------------------===//

#include "frontend/builtins/Builtins.h"

#include "llvm/ADT/STLExtras.h"

namespace spmdc {

static std::array<llvm::ArrayRef<Builtin>, 11> allTables() {
  return {elementwiseBuiltins(), reductionBuiltins(), shapeBuiltins(),  creationBuiltins(),
          contractionBuiltins(), manualBuiltins(),    windowBuiltins(), debugBuiltins(),
          gradientBuiltins(),    randomBuiltins(),    indexBuiltins()};
}

const Builtin *findBuiltin(std::string_view name) {
  for (llvm::ArrayRef<Builtin> table : allTables())
    for (const Builtin &builtin : table)
      if (builtin.name == name)
        return &builtin;
  return nullptr;
}

bool isElementwise(const Builtin &builtin) {
  llvm::ArrayRef<Builtin> table = elementwiseBuiltins();
  return &builtin >= table.begin() && &builtin < table.end();
}

std::vector<std::string_view> builtinNames() {
  std::vector<std::string_view> names;
  for (llvm::ArrayRef<Builtin> table : allTables())
    for (const Builtin &builtin : table)
      names.push_back(builtin.name);
  return names;
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

void Args::fail(size_t i, std::string expected, std::string found) const {
  e.fail(values[i]->range, "'" + std::string(names[i]) + "' of '" + std::string(function) + "' must be " + expected +
                               ", not " + (found.empty() ? values[i]->describe() : found));
}

const Value &Args::array(size_t i) const {
  if (!values[i]->isNumeric())
    fail(i, "an array");
  return *values[i];
}

const Value &Args::key(size_t i) const {
  if (!values[i]->isKey())
    fail(i, "a random key");
  return *values[i];
}

int64_t Args::integer(size_t i) const {
  if (!values[i]->isInt())
    fail(i, "an integer known while compiling");
  return values[i]->constant.i;
}

double Args::number(size_t i) const {
  if (!values[i]->isConstant() || values[i]->constant.kind == Constant::Kind::Bool)
    fail(i, "a number known while compiling");
  return values[i]->constant.asDouble();
}

bool Args::flag(size_t i, bool otherwise) const {
  if (!has(i))
    return otherwise;
  if (!values[i]->isConstant() || values[i]->constant.kind != Constant::Kind::Bool)
    fail(i, "true or false");
  return values[i]->constant.isTrue();
}

std::vector<int64_t> Args::integers(size_t i) const {
  if (!values[i]->isSequence())
    return {integer(i)};
  std::vector<int64_t> result;
  for (const Value &element : values[i]->elements) {
    if (!element.isInt())
      e.fail(element.range, "'" + std::string(names[i]) + "' of '" + std::string(function) +
                                "' is a list of integers; this is " + element.describe());
    result.push_back(element.constant.i);
  }
  return result;
}

std::vector<Value> Args::arrays(size_t i) const {
  if (!values[i]->isSequence())
    fail(i, "a list of arrays");
  for (const Value &element : values[i]->elements)
    if (!element.isNumeric())
      e.fail(element.range, "'" + std::string(function) + "' takes a list of arrays; this is " + element.describe() +
                                takeApart(element));
  if (values[i]->elements.empty())
    e.fail(values[i]->range, "'" + std::string(function) + "' needs at least one array");
  return values[i]->elements;
}

int64_t Args::normalizeAxis(const Value &value, int64_t axis, int64_t rank) const {
  if (axis < -rank || axis >= rank)
    e.fail(value.range, "axis " + std::to_string(axis) + " is outside of an array of rank " + std::to_string(rank));
  return axis < 0 ? axis + rank : axis;
}

int64_t Args::axis(size_t i, int64_t rank) const { return normalizeAxis(*values[i], integer(i), rank); }

int64_t Args::axis(size_t i, int64_t rank, int64_t otherwise) const {
  if (has(i))
    return axis(i, rank);
  Value call;
  call.range = range;
  return normalizeAxis(call, otherwise, rank);
}

llvm::SmallVector<int64_t> Args::axes(size_t i, int64_t rank) const {
  llvm::SmallVector<int64_t> result;
  if (!has(i)) {
    for (int64_t axis = 0; axis < rank; ++axis)
      result.push_back(axis);
    return result;
  }
  std::vector<int64_t> given = integers(i);
  for (auto [position, axis] : llvm::enumerate(given)) {
    const Value &place = values[i]->isSequence() ? values[i]->elements[position] : *values[i];
    int64_t normal = normalizeAxis(place, axis, rank);
    if (llvm::is_contained(result, normal))
      e.fail(place.range, "axis " + std::to_string(axis) + " is named twice");
    result.push_back(normal);
  }
  llvm::sort(result);
  return result;
}

} // namespace spmdc
