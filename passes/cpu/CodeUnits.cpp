//===- CodeUnits.cpp - functions that are compiled together ---------------===//

#include "passes/cpu/CodeUnits.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/IntEqClasses.h"

#include <map>
#include <optional>

using namespace mlir;

namespace spmdc {
namespace {

/// Larger kernels are not inlined (InlineKernels.cpp), so that they need not be in the file of a loop.
constexpr size_t kMostInlined = 300;

/// The operations of a kernel as LLVM sees them: a function of `math` is a polynomial.
size_t countOperations(KernelLoops loops) {
  size_t count = 0;
  loops.body.walk([&](Operation *op) { count += isa<math::MathDialect>(op->getDialect()) ? 20 : 1; });
  return count;
}

} // namespace

FunctionNames nameFunctions(llvm::ArrayRef<KernelLoops> kernels) {
  FunctionNames names;
  for (KernelLoops one : kernels) {
    std::string name = one.entry.getName().str();
    names[name] = name;
    for (StringAttr other : one.otherNames)
      names[other.getValue()] = name;
  }
  return names;
}

std::vector<CodeUnit> formUnits(llvm::ArrayRef<KernelLoops> kernels, const FunctionNames &names, const spmd::Plan &plan,
                                llvm::ArrayRef<spmd::CompiledLoop> loops) {
  std::vector<size_t> operations;
  llvm::StringMap<unsigned> numbers;
  for (auto [number, one] : llvm::enumerate(kernels)) {
    operations.push_back(countOperations(one));
    numbers[KernelLoops(one).entry.getName()] = static_cast<unsigned>(number);
  }
  llvm::IntEqClasses together(static_cast<unsigned>(kernels.size()));
  std::vector<std::optional<unsigned>> kernelOfLoop;
  for (const spmd::CompiledLoop &loop : loops) {
    std::optional<unsigned> &first = kernelOfLoop.emplace_back();
    for (const spmd::Step *step : spmd::listSteps(*loop.step)) {
      auto *launch = std::get_if<spmd::LaunchStep>(&step->op);
      if (!launch)
        continue;
      auto known = numbers.find(names.lookup(plan.kernels[static_cast<size_t>(launch->kernel)].symbol));
      if (known == numbers.end() || operations[known->second] > kMostInlined)
        continue;
      if (first)
        together.join(*first, known->second);
      else
        first = known->second;
    }
  }
  std::vector<CodeUnit> units;
  std::map<unsigned, size_t> unitOfLeader;
  for (unsigned number = 0; number < kernels.size(); ++number) {
    auto [unit, isNew] = unitOfLeader.emplace(together.findLeader(number), units.size());
    if (isNew)
      units.emplace_back();
    units[unit->second].kernels.push_back(&kernels[number]);
    units[unit->second].operations += operations[number];
  }
  for (auto [loop, kernel] : llvm::zip_equal(loops, kernelOfLoop)) {
    CodeUnit &unit = kernel ? units[unitOfLeader.at(together.findLeader(*kernel))] : units.emplace_back();
    unit.loops.push_back(loop);
  }
  return units;
}

llvm::ArrayRef<CodeUnit> takeForObject(llvm::ArrayRef<CodeUnit> units, size_t mostOperations) {
  size_t count = 0, operations = 0;
  do
    operations += units[count++].operations;
  while (count < units.size() && operations + units[count].operations <= mostOperations);
  return units.take_front(count);
}

} // namespace spmdc
