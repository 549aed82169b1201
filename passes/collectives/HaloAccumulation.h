//===- HaloAccumulation.h - arrays that are added up before they travel --*- C++ -*-===//
//
// Each device adds up what it has for each place of the sum, its own or another's (HaloDims.h), and sends every
// neighbour one edge. Along several cut dimensions edges travel along one dimension after the other, so that corners
// need no way of their own: they go to a neighbour with its edge, and that adds them to an edge of its own.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/collectives/ExchangedTerms.h"
#include "passes/collectives/HaloDims.h"

#include <string>

namespace spmdc {

/// What is sent by all devices together, and in how many exchanges.
struct ExchangePrice {
  double bytes = 0;
  int64_t exchanges = 0;

  void add(double more) {
    bytes += more;
    exchanges += more > 0;
  }
  void add(const ExchangePrice &more) {
    bytes += more.bytes;
    exchanges += more.exchanges;
  }
  /// Whether less of one is sent, and of the other no more.
  bool isBetterThan(const ExchangePrice &other) const {
    return bytes <= other.bytes && exchanges <= other.exchanges && (bytes < other.bytes || exchanges < other.exchanges);
  }
};

class HaloAccumulation {
public:
  /// Of a sum of this type, with its sharding. What one device adds up for another is of another element type where
  /// that is said (ReducePrecision.h): it is rounded once, with what it is added to.
  HaloAccumulation(MeshAttr mesh, ArrayType type, mlir::Type partialType)
      : meshAttr(mesh), mesh(mesh.toValue()), type(type), ofPartials(type.withElementType(partialType)) {}

  /// Takes a term whose pieces lie as those of the others do.
  bool add(const ExchangedTerm &term);

  /// Finds out whether it is less to send than each term by itself; the price of what is less.
  ExchangePrice settle();

  /// The local piece of the sum, sent in the way that `settle` has found.
  mlir::Value build(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef why) const;

private:
  /// Where a dimension of each term comes to lie: at which place an element that is not shifted, and of how many places
  /// (those `step` apart, from the first on).
  struct Frame {
    int64_t origin = 0, length = 0, step = 1;
  };
  struct Range {
    int64_t begin = 0, end = 0, step = 1;
    bool operator==(const Range &) const = default;
  };

  llvm::ArrayRef<AxisRefAttr> axesOf(int64_t d) const { return type.getShardingOrOpen().getDims()[d].getAxes(); }
  bool findDims();
  ExchangePrice priceApart() const;
  ExchangePrice priceTogether() const;
  /// The elements of a dimension of a term that come to places from `begin` up to `end` of the sum.
  static Range getMoved(const ExchangedTerm &term, int64_t d, int64_t begin, int64_t end);
  Range getUsed(const ExchangedTerm &term, int64_t d) const;

  /// The windows of all devices, one behind the other, with nothing but an edge left of them along dimension d. Before
  /// that dimension they are pieces of the sum already.
  ArrayType getEdgesType(int64_t d, const HaloDim::Edge &edge) const;
  std::vector<spmd::DimMove> getEdgeMoves(ArrayType edges, int64_t d, const HaloDim::Edge &edge) const;

  /// Emits one sum, at one place.
  class Builder;

  MeshAttr meshAttr;
  spmd::MeshShape mesh;
  ArrayType type, ofPartials; ///< Of the sum, and of what is added up together before it is rounded to that.
  std::vector<ExchangedTerm> terms;
  std::vector<std::optional<HaloDim>> dims; ///< Along which something goes to other devices.
  bool isTogether = false;
};

} // namespace spmdc
