//===- Windows.h - shards with the halos that stencils read -----*- C++ -*-===//
//
// Convolution, pooling and stencils read one array through several slices and pads that are shifted against each other,
// perhaps with strides. An exchange for each of them would send the same halos repeatedly. If it sends less, each
// device receives all elements that any of them reads, a window of the array, once:
//
//   a sharded dimension  ... | 4 5 6 7 | 8 9 ...        x[0:-1], x[1:] of the padded array
//   the window of device 1      3 4 5 6 7 8              one element from either side
//
// Every slice and pad is then a part of the window. Operations between the array and the views (the pad of SAME) are
// not built. The window may also be of an earlier array, of which the read array is a part that devices take locally
// (the rows of a convolution, each read at other columns), if that sends less. Windows of a rolled array wrap: the
// first device's window begins with the array's last elements. Window.h says how devices receive their windows.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/cost/CostModel.h"
#include "passes/exchange/Window.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <optional>
#include <vector>

namespace spmdc {

/// The windows of the arrays that a set of operations reads, under their present shardings. Owns the local windows that
/// it builds.
class Windows {
public:
  /// `ops`: operations in program order, as in a block (`listMovers`).
  Windows(llvm::ArrayRef<ShardingRuleOpInterface> ops, MeshAttr mesh);

  /// The operations of a region, in program order, whose results consist of elements of one array, or are
  /// concatenations of slices of one array (ConcatenatedSlices.h).
  static std::vector<ShardingRuleOpInterface> listMovers(mlir::Region &region);

  /// Whether the operation is not built, because every user reads a window instead.
  bool isSkipped(mlir::Operation *op) const { return skipped.contains(op); }

  /// The operation's share of the cost of a window's exchange; zero if the operation reads a window that others pay
  /// for, or is not built. Nothing for an operation that reads no window.
  std::optional<CollectiveCost> getShare(mlir::Operation *op, const CostModel &model) const;

  /// The local result of an operation that reads a window; null for any other.
  mlir::Value build(mlir::OpBuilder &builder, mlir::Operation *op,
                    llvm::function_ref<mlir::Value(mlir::Value)> localOf);

private:
  /// The elements of one array that one operation reads.
  struct View {
    ShardingRuleOpInterface op;
    ArrayMove move; ///< From the array of which there is a window.
    mlir::Value outside;
    llvm::SmallVector<mlir::Operation *> between;
  };
  /// Views of one array whose windows can be one window, and that window.
  struct Group {
    Window window;
    double bytes; ///< Bytes of the window that all devices together send.
    std::vector<View> views;
    bool isUsed;       ///< Whether the window sends less than the views one by one.
    mlir::Value local; ///< The window, once it is built.
  };

  std::optional<View> getView(ShardingRuleOpInterface op) const;
  /// The view of an operation that needs no exchange itself, but whose source does: it takes its part from the window
  /// of that source's array.
  std::optional<View> getPart(ShardingRuleOpInterface op) const;
  /// The view of the earliest array that is reached by following operands through operations that only move elements.
  View getFarther(View view) const;
  /// Extends `view` to the source of `inner`; false if that has another padding value, or no single move does both.
  static bool extendView(View &view, const ArrayMove &inner, mlir::Value outside,
                         llvm::ArrayRef<mlir::Operation *> slices);
  /// The window of each dimension of the array; nothing if the view is no window.
  std::optional<std::vector<WindowDim>> getDims(const View &view) const;
  std::vector<Group> buildGroups(const std::vector<View> &views) const;
  /// Whether both groups can share a window. Groups of addends that read disjoint elements do not: their sums are
  /// computed before they are sent (spmdc-accumulate-halos), and a window would send all addends.
  static bool canShareWindow(const Group &one, const Group &other);
  /// Merges the last group with the group whose window grows by least, if it grows by no more than the last group
  /// sends.
  void mergeIntoNearest(std::vector<Group> &list) const;
  /// Merges all groups that can share a window, if that sends no more than the groups do now.
  void mergeAll(std::vector<Group> &list) const;
  /// The cost of the groups' exchanges. Sets `isUsed` of each group whose window sends less than its views, and the
  /// operations between, send one by one.
  CollectiveCost chooseWindows(std::vector<Group> &list) const;
  /// Divides the cost of each window among the operations that would have to exchange elements without it.
  void divideCosts();
  /// The operations between that have no users left if `views` are built from windows.
  llvm::DenseSet<mlir::Operation *> findUnused(llvm::ArrayRef<View> views) const;

  MeshAttr meshAttr;
  spmd::MeshShape mesh;
  std::vector<ShardingRuleOpInterface> ops;
  std::vector<Group> groups;
  llvm::DenseMap<mlir::Operation *, std::pair<unsigned, unsigned>> places; ///< Group and view of an operation.
  llvm::DenseSet<mlir::Operation *> skipped;
  /// Groups whose windows an operation pays for, and its fraction of the cost.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<std::pair<unsigned, double>, 1>> shares;
};

} // namespace spmdc
