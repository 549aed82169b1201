//===- WindowFamilies.h - operations that may share windows -----*- C++ -*-===//
//
// During the search of shardings, the cost of a window depends on the shardings of all operations that read the same
// array. WindowFamilies divides the operations of a function into families; each family caches its windows.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/exchange/Windows.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>
#include <vector>

namespace spmdc {

/// The families of a function, with the windows of each under the present shardings and those before.
class WindowFamilies {
public:
  explicit WindowFamilies(mlir::func::FuncOp func);

  /// The operations that move elements of one array, or of results of other members of the family, in program order;
  /// empty for an operation that is in no family.
  llvm::ArrayRef<ShardingRuleOpInterface> getFamily(mlir::Operation *op) const;

  /// The windows of an operation's family under the present shardings; null if no other operation is in its family. A
  /// concatenation of slices of one array has windows even if it is alone.
  const Windows *getWindows(mlir::Operation *op);

private:
  struct Family {
    std::vector<ShardingRuleOpInterface> ops;
    std::vector<mlir::Value> values; ///< Operands and results of the operations.
    /// By the types of the values: a search returns to the same shardings many times. Never iterated.
    std::map<std::vector<const void *>, Windows> windows;
  };

  MeshAttr mesh;
  std::vector<Family> families;
  llvm::DenseMap<mlir::Operation *, unsigned> familyOf;
};

} // namespace spmdc
