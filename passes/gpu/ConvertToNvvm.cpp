//===- ConvertToNvvm.cpp - from the gpu dialect to nvvm and llvm ----------===//

#include "passes/gpu/ConvertToNvvm.h"

#include "passes/gpu/KernelEmitter.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;

namespace spmdc {
namespace {

/// What the plan promises of every pointer (runtime/artifact/Plan.h).
constexpr int64_t kBufferAlignment = 16;

void setArguments(LLVM::LLVMFuncOp function, ArrayRef<bool> isAlone, ArrayRef<bool> isReadOnly) {
  Builder b(function.getContext());
  for (unsigned i = 0; i < isAlone.size(); ++i) {
    // The last one: the coordinates, of i64.
    int64_t alignment = i + 1 == isAlone.size() ? 8 : kBufferAlignment;
    function.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(alignment));
    if (isAlone[i])
      function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(), b.getUnitAttr());
    if (isReadOnly[i])
      function.setArgAttr(i, LLVM::LLVMDialect::getReadonlyAttrName(), b.getUnitAttr());
  }
}

} // namespace

LogicalResult convertToNvvm(gpu::GPUModuleOp module) {
  MLIRContext *context = module.getContext();
  struct Function {
    std::string name;
    SmallVector<bool> isAlone, isReadOnly;
    int32_t blockThreads;
  };
  SmallVector<Function> functions;
  for (gpu::GPUFuncOp function : module.getOps<gpu::GPUFuncOp>()) {
    auto flags = [&](StringRef name) {
      return SmallVector<bool>(cast<DenseBoolArrayAttr>(function->removeAttr(name)).asArrayRef());
    };
    functions.push_back({function.getName().str(), flags(kNoAliasAttrName), flags(kReadOnlyAttrName),
                         function.getKnownBlockSize()->front()});
  }
  LowerToLLVMOptions options(context);
  options.overrideIndexBitwidth(64);
  LLVMTypeConverter converter(context, options);
  RewritePatternSet patterns(context);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  populateMathToLLVMConversionPatterns(converter, patterns);
  populateGpuToNVVMConversionPatterns(converter, patterns);
  ConversionTarget target(*context);
  target.addLegalDialect<LLVM::LLVMDialect, NVVM::NVVMDialect>();
  target.addLegalOp<gpu::GPUModuleOp, gpu::ModuleEndOp>();
  target.addIllegalDialect<gpu::GPUDialect, arith::ArithDialect, math::MathDialect>();
  if (failed(applyPartialConversion(module, target, std::move(patterns))))
    return failure();
  Builder b(context);
  for (const Function &function : functions) {
    auto converted = module.lookupSymbol<LLVM::LLVMFuncOp>(function.name);
    setArguments(converted, function.isAlone, function.isReadOnly);
    converted->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
    // The register allocation knows the number of threads.
    converted->setAttr(NVVM::NVVMDialect::getMaxntidAttrName(), b.getDenseI32ArrayAttr({function.blockThreads, 1, 1}));
  }
  return success();
}

} // namespace spmdc
