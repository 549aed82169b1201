//===- LightKernels.cpp - kernels compiled with few optimizations ---------===//

#include "passes/cpu/LightKernels.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace spmdc {
namespace {

/// If a program has more kernels, the smallest ones are light.
constexpr size_t kMaxOptimized = 128;

/// The work of a launch, in units of the least work that is worth a further thread.
double workOf(plan::KernelOp kernel) {
  auto extent = static_cast<double>(kernel.getExtent().value_or(0));
  return extent / static_cast<double>(std::max<uint64_t>(1, kernel.getGrain().value_or(1)));
}

/// The names of kernels that run more than once in a call, or on the rows of a product.
llvm::StringSet<> findRepeated(ModuleOp module) {
  llvm::StringSet<> repeated;
  module.walk([&](Operation *op) {
    if (auto launch = dyn_cast<plan::LaunchOp>(op)) {
      if (op->getParentOfType<plan::ForOp>() || op->getParentOfType<plan::WhileOp>())
        repeated.insert(launch.getKernel());
    } else if (auto product = dyn_cast<plan::MatmulOp>(op); product && product.getEpilogue()) {
      repeated.insert(*product.getEpilogue());
    }
  });
  return repeated;
}

} // namespace

KernelGroups groupKernels(ModuleOp module) {
  SmallVector<plan::KernelOp> kernels(module.getOps<plan::KernelOp>());
  KernelGroups groups;
  if (kernels.size() <= kMaxOptimized) {
    groups.full = std::move(kernels);
    return groups;
  }
  llvm::StringSet<> repeated = findRepeated(module);
  SmallVector<std::pair<double, size_t>> small;
  for (size_t i = 0; i < kernels.size(); ++i)
    if (workOf(kernels[i]) <= 1 && !repeated.contains(kernels[i].getSymName()))
      small.emplace_back(workOf(kernels[i]), i);
  llvm::sort(small);
  llvm::DenseSet<size_t> light;
  for (auto [work, number] : ArrayRef(small).take_front(kernels.size() - kMaxOptimized))
    light.insert(number);
  for (size_t i = 0; i < kernels.size(); ++i)
    (light.contains(i) ? groups.light : groups.full).push_back(kernels[i]);
  return groups;
}

} // namespace spmdc
