//===- CollectiveMatmulMatch.h - finds collective matmuls -------*- C++ -*-===//
//
// A collective matmul needs a product (dot_general) whose operand is the result of an all_gather, or whose result is
// the operand of a reduce_scatter, with nothing but transposes in between, in one block and with even shards. The
// scattered value has no other use. The gathered array may have other uses after the product (other products, its
// transpose's product in a gradient); for them it is assembled from the shards as they arrive. The gathered dimension
// has a role in the product:
//
//   free        each shard gives a part of the result
//   batch       likewise, with a part of the other operand
//   contracted  each shard gives, with a part of the other operand, an addend of the result. Devices add in different
//               orders, so either the result differs between the devices anyway (ShardedAxes.h) or it is of integers.
//
// A reduce_scatter adds in the order of the ring. Partial sums of f16 and bf16 would be rounded at each step there, or
// be sent as twice the bytes in f32. Instead each is sent directly to the device that adds it up in f32. Each is
// rounded once before it is sent and the sum once at the end, as in the collective, and the bytes are the same; the
// device's own partial sum is not rounded. Each step has its own pairs of devices, so the steps are not a loop, and
// this is done only in groups of up to kMaxDirectDevices devices.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"
#include "ir/spmd/ReducePrecision.h"
#include "passes/cost/CollectiveMatmulCost.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <vector>

namespace spmdc {

enum class MatmulDimRole { Free, Batch, Contracted };

/// The largest group in which partial sums of f16 and bf16 are sent directly to their devices: the program grows with
/// the group.
constexpr int64_t kMaxDirectDevices = 32;

struct CollectiveMatmul {
  CollectiveOpInterface collective; ///< An all_gather or a reduce_scatter (of a sum).
  DotGeneralOp product;
  llvm::SmallVector<TransposeOp> transposes; ///< Between collective and product, in program order.
  bool isKept = false;                       ///< The gathered array has other uses.
  bool isLhs = false; ///< Whether the gathered operand, or the one with the scattered dimension, is the lhs.
  MatmulDimRole role = MatmulDimRole::Free;
  /// The dimension in that operand, and in the other operand if the role is batch or contracted.
  int64_t dim = 0, otherDim = 0;
  int64_t resultDim = 0; ///< The dimension in the product's result, unless the role is contracted.
  CollectiveMatmulWork work;

  bool isScatter() const { return work.isScatter; }
  /// Whether each partial sum is sent directly to the device that adds it, instead of around the ring.
  bool sendsDirectly() const {
    return isScatter() && isHalfFloat(mlir::cast<ArrayType>(collective->getResult(0).getType()).getElementType());
  }
};

/// The possible collective matmuls of a function (one device's program) in program order, also those that do not save
/// time. A product may be in several.
std::vector<CollectiveMatmul> findCollectiveMatmuls(mlir::func::FuncOp func, MeshAttr mesh, const CostModel &model);

/// A collective matmul that saves time, with its direction. Each product is in at most one: that which saves most.
struct ChosenCollectiveMatmul {
  CollectiveMatmul ring;
  RingDirections way = RingDirections::None;
  double savedSeconds() const {
    return collectiveMatmulTime(ring.work, RingDirections::None).total() - collectiveMatmulTime(ring.work, way).total();
  }
};
std::vector<ChosenCollectiveMatmul> chooseCollectiveMatmuls(mlir::func::FuncOp func, MeshAttr mesh,
                                                            const CostModel &model);

} // namespace spmdc
