//===- ShardingProposals.h - shardings of parameters, of all together ------===//
//
// Where parameters may lie anywhere, the elimination of all shardings (ExactSolver.h) has them as variables
// like any other value, and what comes of it says where they lie best, by the prices of operations. It knows nothing of
// what propagation makes of annotations, so what is proposed is compiled before anybody believes it.
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
    int64_t bytes = 0; ///< Of whole arrays, of all parameters of the type.
    bool operator==(const Entry &) const = default;
  };
  std::vector<Entry> entries;
  bool operator==(const ShardingProposal &) const = default;
};

/// Proposals for a propagated function, the likeliest first, each once; `isFree` says of the place of a parameter's
/// type whether its sharding may be chosen. Parameters whose types are written in one place lie alike, and a result
/// lies as the parameter of its name does. With `limitsMemory`, those come after them for which devices hold less and
/// less. On a mesh of many axes, in which there is too much to choose from, two of them are taken at a time, and the
/// others (up to two) by themselves. Changes the module.
std::vector<ShardingProposal> proposeShardings(mlir::func::FuncOp func,
                                               llvm::function_ref<bool(llvm::StringRef)> isFree, bool limitsMemory);

} // namespace spmdc
