//===- Overwrites.cpp - which inputs a kernel's outputs may replace -------===//

#include "passes/kernel/Overwrites.h"

using namespace mlir;

namespace spmdc {

void setOverwrites(plan::KernelOp kernel, llvm::function_ref<bool(Value, unsigned)> canOverwrite) {
  Builder builder(kernel.getContext());
  SmallVector<Attribute> outputs;
  for (unsigned number = 0; number < kernel.getBlock().getTerminator()->getNumOperands(); ++number) {
    SmallVector<int64_t> inputs;
    for (BlockArgument input : kernel.getBlock().getArguments())
      if (canOverwrite(input, number))
        inputs.push_back(input.getArgNumber());
    outputs.push_back(builder.getI64ArrayAttr(inputs));
  }
  kernel->setAttr(kOverwritesAttrName, builder.getArrayAttr(outputs));
}

bool canOverwrite(plan::KernelOp kernel, unsigned input, unsigned output) {
  auto outputs = kernel->getAttrOfType<ArrayAttr>(kOverwritesAttrName);
  if (!outputs || output >= outputs.size())
    return false;
  return llvm::any_of(cast<ArrayAttr>(outputs[output]).getAsRange<IntegerAttr>(),
                      [&](IntegerAttr known) { return known.getInt() == input; });
}

} // namespace spmdc
