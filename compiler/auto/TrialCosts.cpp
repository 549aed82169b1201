//===- TrialCosts.cpp - costs of programs that a search tries -------------===//

#include "compiler/auto/TrialCosts.h"

#include "ir/spmd/DebugTrace.h"
#include "runtime/support/ParallelLoop.h"

#include "llvm/Support/xxhash.h"

#include <mutex>

namespace spmdc {

TrialCosts::TrialCosts(std::string fileName, CompileOptions options)
    : fileName(std::move(fileName)), options(std::move(options)) {}

std::optional<Inspection> TrialCosts::inspect(const std::string &text) {
  DebugTrace::Pause onTrial;
  Compiler compiler(fileName, text, options);
  std::optional<Inspection> inspection = inspectProgram(compiler);
  if (inspection)
    costs[hashOf(compiler.module(Stage::Propagated))] = totalsOf(*inspection);
  return inspection;
}

std::vector<std::optional<ProgramTotals>> TrialCosts::costsOf(size_t count,
                                                              const std::function<std::string(size_t)> &textOf,
                                                              const std::function<void(size_t)> &onCompile) {
  std::mutex mutex;
  std::vector<std::optional<Hash>> hashes(count);
  spmd::forEachInParallel(count, [&](size_t i) {
    DebugTrace::Pause onTrial;
    Compiler compiler(fileName, textOf(i), options);
    mlir::ModuleOp propagated = compiler.module(Stage::Propagated);
    Hash hash = propagated ? hashOf(propagated) : Hash();
    {
      std::lock_guard lock(mutex);
      if (propagated)
        hashes[i] = hash;
      if (propagated && !costs.try_emplace(hash).second)
        return;
      onCompile(++compiled);
      if (!propagated)
        return;
    }
    if (std::optional<Inspection> inspection = inspectProgram(compiler)) {
      std::lock_guard lock(mutex);
      costs[hash] = totalsOf(*inspection);
    }
  });
  std::vector<std::optional<ProgramTotals>> result(count);
  for (size_t i = 0; i < count; ++i)
    if (hashes[i])
      result[i] = costs.at(*hashes[i]);
  return result;
}

/// A hash of the program, without locations and without the elements of constants: one program for all variants.
TrialCosts::Hash TrialCosts::hashOf(mlir::ModuleOp propagated) {
  std::string text;
  llvm::raw_string_ostream os(text);
  propagated->print(os, mlir::OpPrintingFlags().elideLargeElementsAttrs().useLocalScope());
  llvm::XXH128_hash_t hash = llvm::xxh3_128bits({reinterpret_cast<const uint8_t *>(text.data()), text.size()});
  return {hash.high64, hash.low64};
}

} // namespace spmdc
