//===- Windows.h - pieces with the edges of their neighbours ----*- C++ -*-===//
//
// Convolution, pooling and stencils look at one array through several slices and pads that are shifted against each
// other, perhaps in strides. One exchange for each of them sends the same edges again and again. Where that is less to
// send, each device gets all that any of them looks at, a window of the array, once:
//
//   a cut dimension       ... | 4 5 6 7 | 8 9 ...        x[0:-1], x[1:] of the padded array
//   the window of device 1      3 4 5 6 7 8              one element from either side
//
// and every slice and pad is a part of the window. Those between the array and what is looked at (the pad of SAME) are
// not built. Where it is less to send, the window is of an array further back, before what devices take of it by
// themselves (the rows of a convolution, each taken at other columns). Windows of an array that is rolled go round: the
// first device's begins with the array's last elements. How the array becomes windows: Window.h.
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

class Windows {
public:
  /// Operations in program order, as in a block (`listMovers`).
  Windows(llvm::ArrayRef<ShardingRuleOpInterface> ops, MeshAttr mesh);

  /// The operations of a region, in program order, of which each makes its result of the elements of one array, or
  /// joins slices of one (ConcatenatedSlices.h).
  static std::vector<ShardingRuleOpInterface> listMovers(mlir::Region &region);

  /// Whether nobody looks at what the operation makes.
  bool isSkipped(mlir::Operation *op) const { return skipped.contains(op); }

  /// What an operation has to do with the exchange of a window: its part where several look at it, nothing where it is
  /// not built. None for an operation that looks at no window.
  std::optional<CollectiveCost> getShare(mlir::Operation *op, const CostModel &model) const;

  /// The local result of an operation that looks at a window; null for any other.
  mlir::Value build(mlir::OpBuilder &builder, mlir::Operation *op,
                    llvm::function_ref<mlir::Value(mlir::Value)> localOf);

private:
  /// What one operation looks at.
  struct View {
    ShardingRuleOpInterface op;
    ArrayMove move; ///< From the array that the window is of.
    mlir::Value outside;
    llvm::SmallVector<mlir::Operation *> between;
  };
  /// Views of one array with pieces of one size.
  struct Group {
    Window window;
    double bytes; ///< Of the window, sent by all devices together.
    std::vector<View> views;
    bool isUsed;       ///< Whether the window is less to send than what the views do one by one.
    mlir::Value local; ///< The window, once it is built.
  };

  using Price = std::pair<double, int64_t>; ///< Bytes that all devices send together, and exchanges.

  std::optional<View> getView(ShardingRuleOpInterface op) const;
  /// The view of an operation that takes a part, by itself, of what others exchange elements for.
  std::optional<View> getPart(ShardingRuleOpInterface op) const;
  /// The view of the first array that is seen through everything that only takes elements, moving them or not.
  View getFarther(View view) const;
  /// Looks at what the array is made of instead; false where that has another outside.
  static bool seePast(View &view, const ArrayMove &inner, mlir::Value outside,
                      llvm::ArrayRef<mlir::Operation *> slices);
  /// What devices look at, for each dimension of the array; nothing where that is no window.
  std::optional<std::vector<WindowDim>> getDims(const View &view) const;
  std::vector<Group> formGroups(const std::vector<View> &views) const;
  /// Whether both can have one window. What is added up, each of elements of its own, is added before it is sent
  /// instead (spmdc-accumulate-halos): a window would bring all of it.
  static bool mayJoin(const Group &one, const Group &other);
  /// Puts the last group to the one whose window becomes longer by least, if that is no more than its own sends.
  void joinNearest(std::vector<Group> &list) const;
  /// One group of all that can have one window, if that is no more than what they send now.
  void joinAll(std::vector<Group> &list) const;
  /// What the groups send: each its window, if that is less than what its views, and what is between, send one by one.
  Price settle(std::vector<Group> &list) const;
  /// Each window is paid by all that would have to exchange elements without it.
  void sharePrices();
  /// Removes operations of which nothing is left to be looked at, if these are all views.
  llvm::DenseSet<mlir::Operation *> findUnused(llvm::ArrayRef<View> views) const;

  MeshAttr meshAttr;
  spmd::MeshShape mesh;
  std::vector<ShardingRuleOpInterface> ops;
  std::vector<Group> groups;
  llvm::DenseMap<mlir::Operation *, std::pair<unsigned, unsigned>> places; ///< Group and view of an operation.
  llvm::DenseSet<mlir::Operation *> skipped;
  /// Groups whose windows an operation pays for, and its part.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<std::pair<unsigned, double>, 1>> shares;
};

} // namespace spmdc
