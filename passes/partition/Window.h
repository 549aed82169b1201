//===- Window.h - each device's piece with the edges of others --*- C++ -*-===//
//
// How the pieces of one array become windows: the array is cut anew where pieces of the result stand for other elements
// than its own do, and then one dimension after the other gets its edges. Where the pieces begin, and whether the first
// edges come from the pieces as they are now or from where the elements lie in the array, is what takes the least time.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/analysis/CostModel.h"
#include "passes/partition/WindowDims.h"

#include <string>

namespace spmdc {

class Window {
public:
  Window(mlir::Value source, std::vector<WindowDim> dims, MeshAttr mesh);

  mlir::Value getSource() const { return source; }
  const WindowDim &getDim(int64_t dim) const { return dims[dim]; }

  /// Whether these are pieces of the same sizes.
  bool canTake(const std::vector<WindowDim> &other) const;
  /// Lets devices look at these, too.
  void add(const std::vector<WindowDim> &other);

  struct Price {
    double bytes = 0; ///< Sent by all devices together.
    int64_t exchanges = 0;
    double seconds = 0;

    bool sendsLess(const Price &other) const {
      return std::pair(bytes, exchanges) < std::pair(other.bytes, other.exchanges);
    }
  };
  /// Settles where pieces begin and how their edges come; nothing where there is no way.
  std::optional<Price> choose(const CostModel &model);

  /// The local window from the local piece of the array, for the first operation that looks at it.
  mlir::Value build(mlir::OpBuilder &builder, ShardingRuleOpInterface op, mlir::Value array) const;

private:
  /// Elements before or behind the pieces along a dimension.
  struct Edge {
    int64_t dim = 0;
    bool isLow = false;
    int64_t distance = 1, count = 1; ///< Of the first of them from the piece, 1 being the nearest; and how many.
    /// One element, taken from where it lies in the array. Otherwise neighbours have it, once the array is cut anew.
    bool fromArray = false;
    WindowDim::Range pieces; ///< Those that get it.
  };
  struct Exchange {
    ArrayType from, to;
    ArrayMove move;
  };

  /// The array with pieces as the window has them.
  ArrayType getCutAnew() const;
  bool isCutAnew(int64_t dim) const;
  /// What comes to the pieces that are cut anew: nothing that nobody looks at.
  ArrayMove getMoveAnew() const;
  /// The edges, one dimension after the other; those of the first dimension `fromArray` or from neighbours.
  llvm::SmallVector<Edge> listEdges(bool fromArray) const;
  /// How an edge comes to pieces that have become those of `type`.
  Exchange getExchange(const Edge &edge, ArrayType type) const;
  /// What anybody looks at of pieces that have become those of `type`, staying where it is.
  std::vector<spmd::DimMove> getLookedMoves(ArrayType type) const;
  /// With so many elements more in each piece.
  ArrayType getLonger(ArrayType type, int64_t dim, int64_t count) const;
  Price getPrice(const CostModel &model) const;

  mlir::Value source;
  std::vector<WindowDim> dims;
  llvm::SmallVector<Edge> edges;
  MeshAttr meshAttr;
  spmd::MeshShape mesh;
};

} // namespace spmdc
