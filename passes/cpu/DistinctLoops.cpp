//===- DistinctLoops.cpp - one function for kernels with equal loops ------===//

#include "passes/cpu/DistinctLoops.h"

#include "passes/cpu/KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/Hashing.h"

#include <unordered_map>

using namespace mlir;

namespace spmdc {
namespace {

/// A hash: equal for equal loops, rarely equal for others.
llvm::hash_code hashOf(LLVM::LLVMFuncOp body) {
  llvm::hash_code hash = hash_value(Type(body.getFunctionType()));
  body.walk([&](Operation *op) {
    hash = llvm::hash_combine(hash, op->getName().getAsOpaquePointer(), op->getNumOperands());
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      hash = llvm::hash_combine(hash, hash_value(constant.getValue()));
  });
  return hash;
}

/// Returns the function as text without its name. Scopes and access groups are numbered from 0 in each text.
std::string textOf(LLVM::LLVMFuncOp body) {
  std::string text;
  llvm::raw_string_ostream os(text);
  body.print(os, OpPrintingFlags().useLocalScope());
  return text.substr(text.find('('));
}

} // namespace

FailureOr<std::vector<KernelLoops>> emitDistinctLoops(ArrayRef<plan::KernelOp> kernels, ModuleOp module,
                                                      const CpuUnits &units) {
  std::vector<KernelLoops> all;
  std::unordered_multimap<size_t, size_t> byHash;
  for (plan::KernelOp kernel : kernels) {
    if (failed(emitCpuKernel(kernel, module, units)))
      return failure();
    auto body = cast<LLVM::LLVMFuncOp>(module.getBody()->back());
    auto entry = cast<LLVM::LLVMFuncOp>(body->getPrevNode());
    size_t hash = hashOf(body);
    auto [first, last] = byHash.equal_range(hash);
    auto same = std::find_if(first, last, [&](auto &one) { return textOf(all[one.second].body) == textOf(body); });
    if (same == last) {
      byHash.emplace(hash, all.size());
      all.push_back({entry, body, {}});
      continue;
    }
    all[same->second].otherNames.push_back(kernel.getSymNameAttr());
    body.erase();
    entry.erase();
  }
  return all;
}

} // namespace spmdc
