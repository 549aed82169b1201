//===- TrialCosts.h - costs of programs that a search tries -----*- C++ -*-===//
#pragma once

#include "compiler/Compiler.h"
#include "compiler/inspection/ProgramTotals.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace spmdc {

/// Compiles variants of a program up to their plans, on all cores at a time. Variants that are equal after propagation,
/// as their annotations say what propagation does anyway, are compiled once behind it.
class TrialCosts {
public:
  TrialCosts(std::string fileName, CompileOptions options);

  /// Inspects one variant. Returns nullopt if it has errors.
  std::optional<Inspection> inspect(const std::string &text);

  /// Returns the costs of `count` variants, nullopt for one with errors. `textOf` is called on several threads;
  /// `onCompile` on one at a time, with the number of variants compiled so far, as a further one is.
  std::vector<std::optional<ProgramTotals>> costsOf(size_t count, const std::function<std::string(size_t)> &textOf,
                                                    const std::function<void(size_t)> &onCompile);

  /// The variants for `costsOf` that were compiled to the end, those with errors among them.
  size_t countCompiled() const { return compiled; }

private:
  using Hash = std::pair<uint64_t, uint64_t>; ///< Of a program after propagation.

  static Hash hashOf(mlir::ModuleOp propagated);

  std::string fileName;
  CompileOptions options;
  std::map<Hash, std::optional<ProgramTotals>> costs;
  size_t compiled = 0;
};

} // namespace spmdc
