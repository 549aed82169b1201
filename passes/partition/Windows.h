//===- Windows.h - pieces with the edges of their neighbours ----*- C++ -*-===//
//
// Convolution, pooling and stencils look at one array through several slices and pads that are shifted against each
// other, perhaps in strides. One exchange for each of them sends the same edges again and again. Where that is less to
// send, each device gets its piece with as much of the neighbours' as any of them looks at, a window, once:
//
//   a cut dimension       ... | 4 5 6 7 | 8 9 ...        x[0:-1], x[1:] of the padded array
//   the window of device 1      3 4 5 6 7 8              one element from either side
//
// and every slice and pad is a part of the window. Those between the array and what is looked at (the pad of SAME) are
// not built. Where pieces of the result stand for other elements than pieces of the array have (strides over a size
// that does not divide), the array is cut anew before.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <optional>
#include <vector>

namespace spmdc {

class Windows {
public:
  Windows(mlir::Block &block, MeshAttr mesh);

  /// Whether nobody looks at what the operation makes.
  bool isSkipped(mlir::Operation *op) const { return skipped.contains(op); }

  /// The local result of an operation that looks at a window; null for any other.
  mlir::Value build(mlir::OpBuilder &builder, mlir::Operation *op,
                    llvm::function_ref<mlir::Value(mlir::Value)> localOf);

private:
  /// For each dimension that is cut: how many elements a device looks at as its own (as many as its piece of the result
  /// stands for), and how many of those before and behind.
  struct Shape {
    std::vector<int64_t> piece, low, high;
  };
  /// What one operation looks at.
  struct View {
    ShardingRuleOpInterface op;
    ArrayMove move; ///< From the array that the window is of.
    mlir::Value outside;
    llvm::SmallVector<mlir::Operation *> between;
  };
  /// Views of one array with pieces of one size.
  struct Group {
    mlir::Value source;
    std::vector<View> views;
    Shape shape;
    mlir::Value window; ///< Once it is built.
  };

  std::optional<View> getView(ShardingRuleOpInterface op) const;
  std::optional<Shape> getShape(const View &view) const;
  /// The array with pieces as the window has them.
  ArrayType getCutAnew(const Group &group) const;
  std::pair<double, int64_t> getBytesAndExchanges(const Group &group) const;
  void settle(Group &group);
  /// Removes operations of which nothing is left to be looked at, if these are all views.
  static llvm::DenseSet<mlir::Operation *> findUnused(mlir::Block &block, llvm::ArrayRef<View> views);
  void buildWindow(mlir::OpBuilder &builder, Group &group, const View &view, mlir::Value local);

  MeshAttr meshAttr;
  spmd::MeshShape mesh;
  std::vector<Group> groups;
  llvm::DenseMap<mlir::Operation *, std::pair<unsigned, unsigned>> places; ///< Group and view of an operation.
  llvm::DenseSet<mlir::Operation *> skipped;
};

} // namespace spmdc
