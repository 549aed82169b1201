//===- EmitStacked.cpp - elements of a list at a run-time position --------===//
//
// `p.layers[i]` with an `i` known only at run time: the arrays of all elements are stacked along a new first dimension,
// and the position selects from that, so a loop over layers has one body for all of them. The elements do not change
// while the loops and branches around run: they are stacked before the outermost of those whose start knows all of
// them.
//
//===----------------------------------------------------------------------===//

#include "frontend/builtins/Builtins.h"
#include "frontend/emit/Leaves.h"

#include "llvm/ADT/STLExtras.h"

namespace spmdc {
namespace {

/// Moves the insertion point in front of all regions that define none of the values.
void leaveRegions(Emitter &e, llvm::ArrayRef<Value> values) {
  if (llvm::none_of(values, [](const Value &v) { return static_cast<bool>(v.array); }))
    return; // Numbers are defined everywhere.
  for (const OpenRegion &open : llvm::reverse(e.regions)) {
    if (llvm::any_of(values, [&](Value v) { return v.array && v.array.getParentRegion() == open.region; }))
      return;
    e.builder.restoreInsertionPoint(open.outside);
  }
}

std::string elementName(int64_t number, const std::string &leaf) {
  return "element " + std::to_string(number) + (leaf.empty() ? "" : " at " + leaf);
}

} // namespace

/// The list's elements have one structure, and their leaves at the same path have one type.
Value Emitter::stackedElement(const Value &list, const Value &position, Range range) {
  auto count = static_cast<int64_t>(list.elements.size());
  std::string rule = "an index known only at run time requires a list whose elements have one type; ";
  if (count == 0)
    fail(range, "the list is empty");
  const Value &first = list.elements.front();
  std::vector<std::vector<Value>> elements;
  for (auto [number, element] : llvm::enumerate(list.elements)) {
    if (auto difference = structureDifference(first, element))
      fail(range, rule + "element " + std::to_string(number) + " differs from the first: " + *difference);
    elements.push_back(getLeaves(element));
  }
  std::vector<std::string> names = leafNames(first);
  for (size_t i = 0; i < names.size(); ++i)
    for (int64_t number = 0; number < count; ++number) {
      const Value &leaf = elements[number][i], &model = elements[0][i];
      if (!leaf.isData())
        fail(range, rule + elementName(number, names[i]) + " is " + leaf.describe());
      if (leaf.isKey() != model.isKey() || leaf.shape() != model.shape() || leaf.dtype() != model.dtype())
        fail(range, rule + elementName(0, names[i]) + " is " + model.describe() + ", " + elementName(number, names[i]) +
                        " is " + leaf.describe());
    }
  mlir::Value index = indicesOf(*this, position, count);
  std::vector<Value> picked;
  for (size_t i = 0; i < names.size(); ++i) {
    std::vector<Value> parts;
    for (const std::vector<Value> &element : elements)
      parts.push_back(element[i]);
    picked.push_back(stackAndTake(parts, index, range));
  }
  Value result = withLeaves(first, picked);
  result.range = result.origin = range;
  return result;
}

Value Emitter::stackAndTake(llvm::ArrayRef<Value> parts, mlir::Value index, Range range) {
  mlir::Value stacked;
  {
    mlir::OpBuilder::InsertionGuard guard(builder);
    leaveRegions(*this, parts);
    llvm::SmallVector<mlir::Value> rows;
    for (const Value &part : parts) {
      mlir::Value array = materialize(part);
      llvm::SmallVector<int64_t> shape(plainTypeOf(array).getShape());
      shape.insert(shape.begin(), 1);
      rows.push_back(reshape(array, shape));
    }
    stacked = concatenate(rows, 0);
  }
  ArrayType type = plainTypeOf(stacked);
  mlir::Value taken =
      create<TakeOp>(type.withShape(TakeOp::inferShape(type, plainTypeOf(index), 0)), stacked, index, int64_t(0));
  bool isWeak = llvm::all_of(parts, [](const Value &part) { return part.dtypeClass().isWeak; });
  return Value::ofSameKind(parts.front(), taken, isWeak, range);
}

} // namespace spmdc
