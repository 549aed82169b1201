//===- WindowFamilies.cpp - who may look at windows together --------------===//

#include "passes/partition/WindowFamilies.h"

#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;

namespace spmdc {

WindowFamilies::WindowFamilies(func::FuncOp func) : mesh(getMesh(func)) {
  std::vector<ShardingRuleOpInterface> movers = Windows::listMovers(func.getBody());
  llvm::EquivalenceClasses<void *> arrays;
  auto sourceOf = [](ShardingRuleOpInterface op) { return op.getMoves().parts[0].source.getAsOpaquePointer(); };
  for (ShardingRuleOpInterface op : movers)
    arrays.unionSets(sourceOf(op), op->getResult(0).getAsOpaquePointer());
  llvm::DenseMap<void *, unsigned> numbers;
  for (ShardingRuleOpInterface op : movers) {
    auto [number, isNew] = numbers.try_emplace(arrays.getLeaderValue(sourceOf(op)), families.size());
    if (isNew)
      families.emplace_back();
    families[number->second].ops.push_back(op);
    familyOf[op] = number->second;
  }
}

ArrayRef<ShardingRuleOpInterface> WindowFamilies::getFamily(Operation *op) const {
  auto number = familyOf.find(op);
  if (number == familyOf.end())
    return {};
  return families[number->second].ops;
}

const Windows *WindowFamilies::getWindows(Operation *op) {
  auto number = familyOf.find(op);
  if (number == familyOf.end() || families[number->second].ops.size() < 2)
    return nullptr;
  Family &family = families[number->second];
  std::vector<const void *> types;
  for (ShardingRuleOpInterface other : family.ops)
    for (Value value : {other.getMoves().parts[0].source, Value(other->getResult(0))})
      types.push_back(value.getType().getAsOpaquePointer());
  if (types != family.types) {
    family.windows.emplace(family.ops, mesh);
    family.types = std::move(types);
  }
  return &*family.windows;
}

} // namespace spmdc
