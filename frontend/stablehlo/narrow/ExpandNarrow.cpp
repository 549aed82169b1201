//===- ExpandNarrow.cpp - narrow numbers as bytes -------------------------===//

#include "frontend/stablehlo/narrow/ExpandNarrow.h"

#include "frontend/stablehlo/Translation.h"
#include "frontend/stablehlo/narrow/Conversions.h"
#include "frontend/stablehlo/narrow/Widening.h"

#include "ir/spmd/ElementFormats.h"

using namespace mlir;
using spmd::NarrowFormat;

namespace spmdc::stablehlo {

namespace {

bool isNarrow(Type type) { return findNarrow(type) != nullptr; }

/// An operation that changes the type of elements, and its types in the program.
struct Retyping {
  Operation *op;
  Type from, to;
};

DenseElementsAttr bytesOf(DenseElementsAttr numbers) {
  const NarrowFormat &format = *findNarrow(numbers.getType());
  Type storage = storageOf(numbers.getContext(), format);
  if (auto floats = llvm::dyn_cast<DenseFPElementsAttr>(numbers))
    return floats.mapValues(storage, [](const APFloat &value) { return value.bitcastToAPInt(); });
  return llvm::cast<DenseIntElementsAttr>(numbers).mapValues(
      storage, [&](const APInt &value) { return format.isSigned() ? value.sext(8) : value.zextOrTrunc(8); });
}

LogicalResult expand(OpBuilder &b, const Retyping &retyping) {
  auto [op, from, to] = retyping;
  b.setInsertionPoint(op);
  Lanes x(b, op->getLoc(), op->getOperand(0));
  const NarrowFormat *fromFormat = findNarrow(from), *toFormat = findNarrow(to);
  Type toElement = llvm::cast<RankedTensorType>(to).getElementType();
  unsigned fromBits = bitsOf(llvm::cast<RankedTensorType>(from).getElementType()), toBits = bitsOf(toElement);
  std::optional<Lanes> result;
  if (isa<ConvertOp>(op)) {
    if (fromFormat == toFormat) {
      result = x;
    } else {
      Lanes numbers = !fromFormat                                    ? x
                      : !toFormat                                    ? decode(x, *fromFormat, toElement)
                      : toFormat->isFloat() || fromFormat->isFloat() ? decode(x, *fromFormat, b.getF32Type())
                                                                     : x;
      result = toFormat ? encode(numbers, *toFormat) : numbers;
    }
  } else if (fromBits >= 8 && toBits >= 8) {
    if (x.type() != op->getResult(0).getType()) // Of bytes, by the translation.
      return success();
    result = x;
  } else {
    if (std::min(fromBits, toBits) == 1)
      return refuse(op, "changes the width of bools, which is not supported; compare with zero instead");
    auto withParts = llvm::cast<RankedTensorType>(fromBits < toBits ? from : to);
    int64_t parts = std::max(fromBits, toBits) / std::min(fromBits, toBits);
    if (parts > 1 && (withParts.getShape().empty() || withParts.getShape().back() != parts))
      return refuse(op, "needs a last dimension of " + Twine(parts) + " elements, the parts of a wider one");
    result = bitcastParts(x, from, to);
  }
  if (result->get().getType() != op->getResult(0).getType())
    return refuse(op, "has the result ") << to << ", but its operands give another shape";
  op->getResult(0).replaceAllUsesWith(result->get());
  op->erase();
  return success();
}

/// Gives a function the types of bytes.
void setTypes(func::FuncOp function, OpBuilder &b) {
  auto store = [](ArrayRef<Type> types) {
    return llvm::map_to_vector(types, [](Type type) { return storageOf(type); });
  };
  function.setFunctionType(b.getFunctionType(store(function.getArgumentTypes()), store(function.getResultTypes())));
}

void setFormats(func::FuncOp entry) {
  for (auto [i, type] : llvm::enumerate(entry.getArgumentTypes()))
    if (const NarrowFormat *format = findNarrow(type))
      entry.setArgAttr(static_cast<unsigned>(i), kFormatAttrName, getFormatAttr(type.getContext(), format->format));
  for (auto [i, type] : llvm::enumerate(entry.getResultTypes()))
    if (const NarrowFormat *format = findNarrow(type))
      entry.setResultAttr(static_cast<unsigned>(i), kFormatAttrName, getFormatAttr(type.getContext(), format->format));
}

} // namespace

LogicalResult expandNarrow(ModuleOp module, func::FuncOp entry) {
  OpBuilder b(module.getContext());
  widenNarrow(module);
  SmallVector<Retyping> retypings;
  WalkResult checked = module.walk([&](Operation *op) {
    if (isa<ConvertOp, BitcastConvertOp>(op)) {
      Type from = op->getOperand(0).getType(), to = op->getResult(0).getType();
      if (isNarrow(from) || isNarrow(to))
        retypings.push_back({op, from, to});
    }
    if (auto constant = dyn_cast<ConstantOp>(op); constant && isNarrow(constant.getType())) {
      auto numbers = llvm::dyn_cast<DenseElementsAttr>(constant.getValue());
      if (!numbers || numbers.getType() != constant.getType()) {
        refuse(op, "has a value of another type than ") << constant.getType() << ", or one that is not in the text";
        return WalkResult::interrupt();
      }
      constant.setValueAttr(bytesOf(numbers));
    }
    return WalkResult::advance();
  });
  if (checked.wasInterrupted())
    return failure();
  module.walk([&](Operation *op) {
    for (Value result : op->getResults())
      result.setType(storageOf(result.getType()));
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          argument.setType(storageOf(argument.getType()));
  });
  setFormats(entry);
  for (auto function : module.getOps<func::FuncOp>())
    setTypes(function, b);
  for (const Retyping &retyping : retypings)
    if (failed(expand(b, retyping)))
      return failure();
  return success();
}

} // namespace spmdc::stablehlo
