//===- KernelFunction.cpp - the function of a kernel for a CPU ------------===//

#include "passes/cpu/KernelFunction.h"

#include "passes/kernel/Overwrites.h"

using namespace mlir;

namespace spmdc {
namespace {

/// Parameters of the inner function before the buffers: the range and the coordinates.
constexpr unsigned kFirstBuffer = 3;

void emitOuter(OpBuilder &b, LLVM::LLVMFuncOp outer, LLVM::LLVMFuncOp inner, size_t buffers) {
  Location loc = outer.getLoc();
  Block *entry = outer.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  SmallVector<Value> arguments{entry->getArgument(0), entry->getArgument(1), entry->getArgument(3)};
  for (size_t i = 0; i < buffers; ++i) {
    Value address = b.create<LLVM::GEPOp>(loc, pointer, pointer, entry->getArgument(2),
                                          ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)}, /*inbounds=*/true);
    arguments.push_back(b.create<LLVM::LoadOp>(loc, pointer, address));
  }
  b.create<LLVM::CallOp>(loc, inner, arguments);
  b.create<LLVM::ReturnOp>(loc, ValueRange());
}

void describeArguments(OpBuilder &b, plan::KernelOp kernel, LLVM::LLVMFuncOp inner, size_t outputCount) {
  Block &block = kernel.getBlock();
  unsigned firstOutput = kFirstBuffer + block.getNumArguments();
  SmallVector<bool> overlaps(firstOutput + outputCount);
  for (BlockArgument input : block.getArguments())
    for (size_t number = 0; number < outputCount; ++number)
      if (canOverwrite(kernel, input.getArgNumber(), number))
        overlaps[kFirstBuffer + input.getArgNumber()] = overlaps[firstOutput + number] = true;
  UnitAttr unit = b.getUnitAttr();
  auto set = [&](unsigned argument, StringRef name, Attribute value) { inner.setArgAttr(argument, name, value); };
  set(2, LLVM::LLVMDialect::getNoAliasAttrName(), unit);
  set(2, LLVM::LLVMDialect::getReadonlyAttrName(), unit);
  for (unsigned argument = kFirstBuffer; argument < overlaps.size(); ++argument) {
    if (!overlaps[argument])
      set(argument, LLVM::LLVMDialect::getNoAliasAttrName(), unit);
    if (argument < firstOutput)
      set(argument, LLVM::LLVMDialect::getReadonlyAttrName(), unit);
  }
}

} // namespace

KernelFunction openKernelFunction(OpBuilder &b, plan::KernelOp kernel, ModuleOp target, bool callsMemcpy) {
  Location loc = kernel.getLoc();
  Type i64 = b.getI64Type(), pointer = LLVM::LLVMPointerType::get(b.getContext());
  Block &block = kernel.getBlock();
  size_t inputCount = block.getNumArguments(), outputCount = block.getTerminator()->getNumOperands();
  SmallVector<Type> innerTypes{i64, i64, pointer};
  innerTypes.append(inputCount + outputCount, pointer);
  Type none = LLVM::LLVMVoidType::get(b.getContext());
  b.setInsertionPointToEnd(target.getBody());
  auto outer = b.create<LLVM::LLVMFuncOp>(loc, kernel.getSymName(),
                                          LLVM::LLVMFunctionType::get(none, {i64, i64, pointer, pointer}));
  auto inner = b.create<LLVM::LLVMFuncOp>(loc, (kernel.getSymName() + ".loops").str(),
                                          LLVM::LLVMFunctionType::get(none, innerTypes), LLVM::Linkage::Internal);
  SmallVector<StringRef> attributes{"nounwind"};
  if (!callsMemcpy)
    attributes.push_back("no-builtin-memcpy");
  outer.setPassthroughAttr(b.getStrArrayAttr(attributes));
  attributes.push_back("alwaysinline");
  inner.setPassthroughAttr(b.getStrArrayAttr(attributes));
  emitOuter(b, outer, inner, inputCount + outputCount);
  describeArguments(b, kernel, inner, outputCount);

  KernelFunction function;
  Block *entry = function.entry = inner.addEntryBlock(b);
  function.begin = entry->getArgument(0);
  function.end = entry->getArgument(1);
  function.coordinates = entry->getArgument(2);
  for (BlockArgument input : block.getArguments())
    function.pointers[input] = entry->getArgument(kFirstBuffer + input.getArgNumber());
  for (size_t i = 0; i < outputCount; ++i)
    function.outputs.push_back(entry->getArgument(kFirstBuffer + inputCount + i));
  b.setInsertionPointToStart(entry);
  return function;
}

} // namespace spmdc
