//===- WindowFamilies.h - who may look at windows together ------*- C++ -*-===//
//
// While shardings are tried, what an operation pays of a window depends on how all lie that look at the same array. The
// operations of a function fall into families, each of which knows its windows by itself.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/exchange/Windows.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>
#include <vector>

namespace spmdc {

class WindowFamilies {
public:
  explicit WindowFamilies(mlir::func::FuncOp func);

  /// The operations that move elements of one array, or of what others of them make of it, in program order; nothing
  /// for an operation of another kind.
  llvm::ArrayRef<ShardingRuleOpInterface> getFamily(mlir::Operation *op) const;

  /// The windows of an operation's family as its arrays lie now; null where it has none to share them with.
  const Windows *getWindows(mlir::Operation *op);

private:
  struct Family {
    std::vector<ShardingRuleOpInterface> ops;
    std::vector<mlir::Value> values; ///< What operations take elements of, and what they make of them.
    std::vector<mlir::Type> types;   ///< Of the values, for which the windows are.
    std::optional<Windows> windows;
  };

  MeshAttr mesh;
  std::vector<Family> families;
  llvm::DenseMap<mlir::Operation *, unsigned> familyOf;
};

} // namespace spmdc
