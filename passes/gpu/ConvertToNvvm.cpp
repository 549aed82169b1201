//===- ConvertToNvvm.cpp - from the gpu dialect to nvvm and llvm ----------===//

#include "passes/gpu/Passes.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_CONVERTTONVVM
#include "passes/gpu/Passes.h.inc"

namespace {

/// The alignment that the plan guarantees for every pointer (runtime/artifact/Plan.h).
constexpr int64_t kBufferAlignment = 16;
/// The threads of a kernel that a multiprocessor must have room for: enough to hide the latency of memory, with 128
/// registers for each. Without this limit, ptxas spills some bytes for an occupancy of its own choice.
constexpr int32_t kResidentThreads = 512;

/// The attributes of a kernel that the conversion drops.
struct Kernel {
  std::string name;
  SmallVector<bool> isAlone, isReadOnly; ///< By parameter; empty if unknown.
  int32_t blockThreads = 0;              ///< 0 if unknown.
  int32_t residentThreads = kResidentThreads;
  int64_t clusterBlocks = 1;
};

Kernel describe(gpu::GPUFuncOp function) {
  auto flags = [&](StringRef name) {
    auto attr = cast_or_null<DenseBoolArrayAttr>(function->removeAttr(name));
    return attr ? SmallVector<bool>(attr.asArrayRef()) : SmallVector<bool>();
  };
  Kernel kernel{function.getName().str(), flags(kNoAliasAttrName), flags(kReadOnlyAttrName)};
  if (std::optional<ArrayRef<int32_t>> block = function.getKnownBlockSize())
    kernel.blockThreads = block->front();
  if (auto threads = cast_or_null<IntegerAttr>(function->removeAttr(kResidentThreadsAttrName)))
    kernel.residentThreads = static_cast<int32_t>(threads.getInt());
  if (auto blocks = cast_or_null<IntegerAttr>(function->removeAttr(kClusterBlocksAttrName)))
    kernel.clusterBlocks = blocks.getInt();
  return kernel;
}

void setArguments(LLVM::LLVMFuncOp function, const Kernel &kernel) {
  Builder b(function.getContext());
  for (unsigned i = 0; i < kernel.isAlone.size(); ++i) {
    // The last parameter is the coordinates, of i64.
    int64_t alignment = i + 1 == kernel.isAlone.size() ? 8 : kBufferAlignment;
    function.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(alignment));
    if (kernel.isAlone[i])
      function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(), b.getUnitAttr());
    if (kernel.isReadOnly[i])
      function.setArgAttr(i, LLVM::LLVMDialect::getReadonlyAttrName(), b.getUnitAttr());
  }
}

class ConvertToNvvmPass : public impl::ConvertToNvvmBase<ConvertToNvvmPass> {
  void runOnOperation() override {
    gpu::GPUModuleOp module = getOperation();
    MLIRContext *context = &getContext();
    std::vector<Kernel> kernels;
    for (gpu::GPUFuncOp function : module.getOps<gpu::GPUFuncOp>())
      if (function.isKernel())
        kernels.push_back(describe(function));
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
      return signalPassFailure();
    Builder b(context);
    for (const Kernel &kernel : kernels) {
      auto converted = module.lookupSymbol<LLVM::LLVMFuncOp>(kernel.name);
      setArguments(converted, kernel);
      converted->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
      if (kernel.clusterBlocks > 1)
        converted.setPassthroughAttr(
            b.getArrayAttr(b.getStrArrayAttr({kClusterDimAttrName, std::to_string(kernel.clusterBlocks)})));
      if (!kernel.blockThreads)
        continue;
      // The register allocation uses the number of threads.
      converted->setAttr(NVVM::NVVMDialect::getMaxntidAttrName(), b.getDenseI32ArrayAttr({kernel.blockThreads, 1, 1}));
      converted->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                         b.getI32IntegerAttr(std::max(1, kernel.residentThreads / kernel.blockThreads)));
    }
  }
};

} // namespace
} // namespace spmdc
