//===- WindowFamilies.cpp - operations that may share windows -------------===//

#include "passes/exchange/WindowFamilies.h"

#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;

namespace spmdc {

/// The most combinations of shardings for which a family keeps windows; it bounds the memory of a long search.
static constexpr size_t kMostKnown = 1024;

WindowFamilies::WindowFamilies(func::FuncOp func) : mesh(getMesh(func)) {
  std::vector<ShardingRuleOpInterface> movers = Windows::listMovers(func.getBody());
  llvm::EquivalenceClasses<void *> arrays;
  SmallVector<Value> sources;
  for (ShardingRuleOpInterface op : movers) {
    sources.push_back(op.getMoves().parts[0].source);
    arrays.unionSets(sources.back().getAsOpaquePointer(), op->getResult(0).getAsOpaquePointer());
  }
  llvm::DenseMap<void *, unsigned> numbers;
  for (auto [op, source] : llvm::zip(movers, sources)) {
    auto [number, isNew] = numbers.try_emplace(arrays.getLeaderValue(source.getAsOpaquePointer()), families.size());
    if (isNew)
      families.emplace_back();
    Family &family = families[number->second];
    family.ops.push_back(op);
    family.values.push_back(source);
    family.values.push_back(op->getResult(0));
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
  // A concatenation of slices of one array has a window even if no other operation shares it.
  bool isAlone = number != familyOf.end() && families[number->second].ops.size() < 2;
  if (number == familyOf.end() || (isAlone && !isa<ConcatenateOp>(op)))
    return nullptr;
  Family &family = families[number->second];
  std::vector<const void *> types;
  for (Value value : family.values)
    types.push_back(value.getType().getAsOpaquePointer());
  auto known = family.windows.find(types);
  if (known == family.windows.end()) {
    if (family.windows.size() >= kMostKnown)
      family.windows.clear();
    known = family.windows.try_emplace(std::move(types), family.ops, mesh).first;
  }
  return &known->second;
}

} // namespace spmdc
