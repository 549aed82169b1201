//===- InPlace.cpp - outputs in the memory of inputs ----------------------===//

#include "passes/plan/InPlace.h"

#include "passes/kernel/Overwrites.h"
#include "passes/plan/Liveness.h"

using namespace mlir;

namespace spmdc {

bool mayOverwrite(plan::LaunchOp launch, Value root, unsigned output) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<plan::KernelOp>(launch, launch.getKernelAttr());
  if (!kernel)
    return false;
  bool isRead = false;
  for (auto [number, input] : llvm::enumerate(launch.getInputs())) {
    if (Liveness::getRoot(input) != root)
      continue;
    isRead = true;
    if (!canOverwrite(kernel, number, output))
      return false;
  }
  return isRead;
}

bool mayOverwrite(plan::LibraryOp call, Value root) {
  Value overwritten = call.getOverwritten();
  return overwritten && Liveness::getRoot(overwritten) == root &&
         llvm::none_of(call.getInputs().drop_front(), [&](Value input) { return Liveness::getRoot(input) == root; });
}

std::string getName(DictionaryAttr attributes, unsigned number) {
  auto name = attributes ? attributes.getAs<StringAttr>(kNameAttrName) : StringAttr();
  return name ? name.str() : std::to_string(number);
}

bool isDonatedTo(func::FuncOp func, unsigned parameter, unsigned result) {
  return func.getArgument(parameter).getType() == func.getResultTypes()[result] &&
         getName(func.getArgAttrDict(parameter), parameter) == getName(func.getResultAttrDict(result), result);
}

} // namespace spmdc
