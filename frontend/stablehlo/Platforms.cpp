//===- Platforms.cpp - exports for several platforms ----------------------===//

#include "frontend/stablehlo/Platforms.h"

#include "frontend/stablehlo/Translation.h"

using namespace mlir;

namespace spmdc::stablehlo {

bool isPlatformIndex(func::FuncOp function, unsigned argument) {
  auto constant = function.getArgAttrOfType<StringAttr>(argument, kGlobalConstant);
  return constant && constant.getValue() == kPlatformIndex;
}

LogicalResult bindPlatform(func::FuncOp entry, StringRef platform) {
  if (entry.isExternal())
    return success();
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    if (!isPlatformIndex(entry, i))
      continue;
    if (entry.getArgument(i).use_empty()) { // The program is the same for all of them.
      entry.eraseArgument(i--);
      continue;
    }
    auto platforms = entry.getArgAttrOfType<ArrayAttr>(i, kPlatforms);
    if (!platforms)
      return entry.emitError("the program is for several platforms, whose order the text does not have; give the file "
                             "that exported.serialize() returns, or export for one platform: jax.export.export(f, "
                             "platforms=['" +
                             platform + "'])");
    const auto *found = llvm::find_if(platforms, [&](Attribute name) {
      auto text = llvm::dyn_cast<StringAttr>(name);
      return text && text.getValue() == platform;
    });
    auto type = llvm::dyn_cast<RankedTensorType>(entry.getArgument(i).getType());
    if (found == platforms.end() || !type || type.getRank() != 0 || !type.getElementType().isInteger(32))
      return entry.emitError("the program is not for the platform '" + platform +
                             "' of the target; export it for this one, too: jax.export.export(f, platforms=['" +
                             platform + "', ...])");
    OpBuilder builder = OpBuilder::atBlockBegin(&entry.getBody().front());
    auto number = static_cast<int32_t>(found - platforms.begin());
    Value constant = builder.create<ConstantOp>(entry.getLoc(), type, DenseElementsAttr::get(type, number));
    entry.getArgument(i).replaceAllUsesWith(constant);
    entry.eraseArgument(i--);
  }
  return success();
}

} // namespace spmdc::stablehlo
