//===- ValueNames.cpp - the names that let gave to values -----------------===//

#include "ir/spmd/ValueNames.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace spmdc {

static unsigned getNumber(Value value) {
  auto result = dyn_cast<OpResult>(value);
  return result ? result.getResultNumber() : 0;
}

SmallVector<ValueName> getValueNames(Value value) {
  SmallVector<ValueName> names = getValueNames(value.getLoc());
  llvm::erase_if(names, [&](const ValueName &name) { return name.result != getNumber(value); });
  return names;
}

std::optional<StringRef> getValueName(Value value) {
  SmallVector<ValueName> names = getValueNames(value);
  return names.empty() ? std::nullopt : std::optional(names.front().name);
}

void addValueName(Value value, ValueName name) {
  name.result = getNumber(value);
  for (const ValueName &known : getValueNames(value))
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
  for (const ValueName &name : getValueNames(from))
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
