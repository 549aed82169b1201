//===- HaloAccumulation.h - sums to add up before sending -------*- C++ -*-===//
//
// Each device adds up its contributions to each element of the sum, in its own shard or another's (HaloDims.h), and
// sends each neighbour one halo. With several sharded dimensions, halos are sent along one dimension after the other.
// So corners need no transfer of their own: a neighbour receives them with its halo, and adds them to a halo that it
// sends on.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/collectives/ExchangedTerms.h"
#include "passes/collectives/HaloDims.h"
#include "passes/cost/Price.h"

#include <string>

namespace spmdc {

/// The exchanged terms of one sum, either accumulated before they are sent or exchanged one by one.
class HaloAccumulation {
public:
  /// `type` is the global type of the sum, with its sharding. Contributions to other shards have the element type
  /// `partialType` (ReducePrecision.h), so that a sum is rounded once, after its last addition.
  HaloAccumulation(MeshAttr mesh, ArrayType type, mlir::Type partialType)
      : meshAttr(mesh), mesh(mesh.toValue()), type(type), ofPartials(type.withElementType(partialType)) {}

  /// Adds a term if its shards match those of the other terms; false if they do not.
  bool add(const ExchangedTerm &term);

  /// Chooses between accumulating and exchanging each term, by cost, and returns the lower cost.
  CollectiveCost settle();

  /// Emits the local shard of the sum, as `settle` decided.
  mlir::Value build(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef why) const;

private:
  /// The positions of one dimension that terms are added into: every `step`-th position, `length` of them. `origin` is
  /// the position of an element with index 0 and shift 0.
  struct Frame {
    int64_t origin = 0, length = 0, step = 1;
  };
  struct Range {
    int64_t begin = 0, end = 0, step = 1;
    bool operator==(const Range &) const = default;
  };

  llvm::ArrayRef<AxisRefAttr> axesOf(int64_t d) const { return type.getShardingOrOpen().getDims()[d].getAxes(); }
  bool findDims();
  CollectiveCost costApart() const;
  CollectiveCost costTogether() const;
  /// The elements of dimension d of a term that move to the positions from `begin` up to `end` of the sum.
  static Range getMoved(const ExchangedTerm &term, int64_t d, int64_t begin, int64_t end);
  Range getUsed(const ExchangedTerm &term, int64_t d) const;

  /// The global type of the halos that are sent along dimension d: the halos of all devices, concatenated along d.
  /// Along dimensions before d a halo has the size of the sum's shards, because the halos of those dimensions have been
  /// added already; along later ones it has the size of a window.
  ArrayType getHalosType(int64_t d, const HaloDim::Halo &halo) const;
  std::vector<spmd::DimMove> getHaloMoves(ArrayType halos, int64_t d, const HaloDim::Halo &halo) const;

  /// Emits one sum.
  class Builder;

  MeshAttr meshAttr;
  spmd::MeshShape mesh;
  ArrayType type, ofPartials; ///< The type of the sum, and the same with the element type of partial sums.
  std::vector<ExchangedTerm> terms;
  std::vector<std::optional<HaloDim>> dims; ///< None for a dimension along which nothing is sent.
  bool isTogether = false;
};

} // namespace spmdc
