//===- ShareKernels.cpp - merges equal kernels ----------------------------===//

#include "ir/plan/PlanOps.h"
#include "passes/kernel/Passes.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_SHAREKERNELS
#include "passes/kernel/Passes.h.inc"

namespace {

/// Returns the kernel as text without its name and locations: kernels are equal if their texts are equal. (Printing the
/// operation itself would number the values of the whole module.)
std::string contentOf(plan::KernelOp kernel) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (NamedAttribute attribute : kernel->getAttrs())
    if (attribute.getName() != SymbolTable::getSymbolAttrName())
      os << attribute.getName() << " = " << attribute.getValue() << "\n";
  llvm::DenseMap<Value, size_t> numbers;
  auto define = [&](Value value) {
    os << " %" << numbers.try_emplace(value, numbers.size()).first->second << ": " << value.getType();
  };
  kernel.getBody().walk<WalkOrder::PreOrder>([&](Block *block) {
    os << "block";
    llvm::for_each(block->getArguments(), define);
    for (Operation &op : *block) {
      os << "\n" << op.getName();
      for (Value operand : op.getOperands())
        os << " %" << numbers.at(operand);
      os << " " << op.getAttrDictionary();
      llvm::for_each(op.getResults(), define);
    }
  });
  return text;
}

class ShareKernelsPass : public impl::ShareKernelsBase<ShareKernelsPass> {
  void runOnOperation() override {
    llvm::StringMap<plan::KernelOp> first;
    llvm::DenseMap<StringAttr, StringAttr> renamed;
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<plan::KernelOp>())) {
      auto [entry, isNew] = first.try_emplace(contentOf(kernel), kernel);
      if (isNew)
        continue;
      renamed[kernel.getSymNameAttr()] = entry->second.getSymNameAttr();
      kernel.erase();
    }
    if (renamed.empty())
      return markAllAnalysesPreserved();
    AttrTypeReplacer replacer;
    replacer.addReplacement([&](FlatSymbolRefAttr symbol) -> std::optional<Attribute> {
      auto other = renamed.find(symbol.getAttr());
      return other == renamed.end() ? std::nullopt : std::optional<Attribute>(FlatSymbolRefAttr::get(other->second));
    });
    getOperation().walk([&](Operation *op) {
      if (isa<plan::LaunchOp, plan::MatmulOp>(op))
        replacer.replaceElementsIn(op);
    });
  }
};

} // namespace
} // namespace spmdc
