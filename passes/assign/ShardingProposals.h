//===- ShardingProposals.h - proposes shardings of parameters ---*- C++ -*-===//
//
// For parameters whose shardings are free, the exact solver (ExactSolver.h) treats them as variables like those of any
// other value, and so finds their best shardings by the prices of operations. The solver does not model propagation, so
// the caller compiles each proposal before it trusts it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/spmd/SpmdTypes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>
#include <vector>

namespace spmdc {

/// A sharding for each type that is written for free parameters.
struct ShardingProposal {
  struct Entry {
    std::string place; ///< Where the type is written: `mlp.spmd:3:12`.
    spmd::Sharding sharding;
    int64_t bytes = 0; ///< The global bytes of all parameters of the type.
    bool operator==(const Entry &) const = default;
  };
  std::vector<Entry> entries;
  bool operator==(const ShardingProposal &) const = default;
};

/// Distinct proposals for a propagated function, the most promising first. `isFree` tells from the source position of a
/// parameter's type whether its sharding may be chosen. Parameters whose types are written at one source position get
/// one sharding, and a result gets that of the parameter of its name. With `limitsMemory`, proposals that hold less and
/// less follow. If a mesh has too many axes for the solver, it is solved for each pair of axes, and separately for the
/// others (up to two). Changes the module.
std::vector<ShardingProposal> proposeShardings(mlir::func::FuncOp func,
                                               llvm::function_ref<bool(llvm::StringRef)> isFree, bool limitsMemory);

} // namespace spmdc
