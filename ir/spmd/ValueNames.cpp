//===- ValueNames.cpp - names of values from let --------------------------===//

#include "ir/spmd/ValueNames.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace spmdc {

static unsigned getNumber(Value value) {
  auto result = dyn_cast<OpResult>(value);
  return result ? result.getResultNumber() : 0;
}

static SmallVector<ValueName> getNamesAndHandles(Value value) {
  SmallVector<ValueName> names = getNamesAndHandles(value.getLoc());
  llvm::erase_if(names, [&](const ValueName &name) { return name.result != getNumber(value); });
  return names;
}

SmallVector<ValueName> getValueNames(Value value) {
  SmallVector<ValueName> names = getNamesAndHandles(value);
  llvm::erase_if(names, [](const ValueName &name) { return name.getHandle().has_value(); });
  return names;
}

SmallVector<unsigned> getValueHandles(Value value) {
  SmallVector<unsigned> handles;
  for (const ValueName &name : getNamesAndHandles(value))
    if (std::optional<unsigned> handle = name.getHandle())
      handles.push_back(*handle);
  return handles;
}

void addValueHandle(Value value, unsigned handle) {
  std::string name = "#" + std::to_string(handle);
  addValueName(value, {.name = name});
}

std::optional<StringRef> getValueName(Value value) {
  SmallVector<ValueName> names = getValueNames(value);
  return names.empty() ? std::nullopt : std::optional(names.front().name);
}

void addValueName(Value value, ValueName name) {
  name.result = getNumber(value);
  for (const ValueName &known : getNamesAndHandles(value))
    if (known.name == name.name && known.place == name.place)
      return;
  Location loc = getNamedLoc(value.getLoc(), name);
  if (auto argument = dyn_cast<BlockArgument>(value))
    argument.setLoc(loc);
  else
    value.getDefiningOp()->setLoc(loc);
}

void moveValueNames(Value from, Value to) {
  if (matchPattern(to, m_Constant()))
    return;
  for (const ValueName &name : getNamesAndHandles(from))
    addValueName(to, name);
}

void NameKeeper::notifyOperationInserted(Operation *op, OpBuilder::InsertPoint previous) {
  if (!previous.isSet())
    op->setLoc(getUnnamedLoc(op->getLoc()));
}

void NameKeeper::notifyOperationReplaced(Operation *op, ValueRange values) {
  for (auto [from, to] : llvm::zip(op->getResults(), values))
    moveValueNames(from, to);
}

} // namespace spmdc
