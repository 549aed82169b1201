//===- CollectiveMatmulMatch.h - products that run piece by piece ---------------*- C++ -*-===//
//
// A product (dot_general) whose operand an all_gather brings, or whose result a reduce_scatter adds up, with nothing
// but transposes in between, in one block; pieces are even. What is scattered has no other use; what is gathered may
// have others behind the product, for which its pieces are put together as they come (other products of it, its
// transpose's product in a gradient). The gathered dimension has a role in the product:
//
//   free        each piece gives a part of the result
//   batch       likewise, with a part of the other operand
//   contracted  each piece gives, with a part of the other operand, a summand of the result. Devices add in different
//               orders, so the result must be one that they do not hold alike (ShardedAxes.h), or of integers.
//
// A reduce_scatter adds in the order of the ring. Partial sums of f16 and bf16 would be rounded at each step there, or
// travel as twice the bytes in f32; instead each goes straight to the device that adds it up, in f32, rounded once
// before and the whole once at the end, as the collective does: the same bytes, and the device's own partial sum is not
// rounded. Each step has neighbours of its own, so they are no loop: only in groups of up to kMaxDirectDevices devices.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"
#include "passes/cost/CollectiveMatmulCost.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <vector>

namespace spmdc {

enum class MatmulDimRole { Free, Batch, Contracted };

/// Devices of a group in which partial sums of f16 and bf16 go straight to where they belong: the program grows with
/// it.
constexpr int64_t kMaxDirectDevices = 32;

/// f16 and bf16, which are added up in f32.
inline bool isNarrowFloat(mlir::Type type) {
  return mlir::isa<mlir::FloatType>(type) && type.getIntOrFloatBitWidth() < 32;
}

struct CollectiveMatmul {
  CollectiveOpInterface collective; ///< An all_gather or a reduce_scatter (of a sum).
  DotGeneralOp product;
  llvm::SmallVector<TransposeOp> transposes; ///< From the first of the two to the second.
  bool isKept = false;                       ///< The gathered array has other uses.
  bool isLhs = false; ///< Which operand is gathered; of a scatter, whose dimension is cut (batch: both).
  MatmulDimRole role = MatmulDimRole::Free;
  /// Of that operand of the product; the other operand's, where the role is batch or contracted.
  int64_t dim = 0, otherDim = 0;
  int64_t resultDim = 0; ///< Of the product's result; none where the role is contracted.
  CollectiveMatmulWork work;

  bool isScatter() const { return work.isScatter; }
  /// Whether partial sums do not go around: each goes straight to where it belongs.
  bool sendsDirectly() const {
    return isScatter() && isNarrowFloat(mlir::cast<ArrayType>(collective->getResult(0).getType()).getElementType());
  }
};

/// The rings of a function of one device's program, in its order, whether they pay or not; a product may be in several.
std::vector<CollectiveMatmul> findCollectiveMatmuls(mlir::func::FuncOp func, MeshAttr mesh, const CostModel &model);

/// Those that pay, each product in the one that saves most.
struct ChosenCollectiveMatmul {
  CollectiveMatmul ring;
  CollectiveMatmulKind way = CollectiveMatmulKind::None;
  double savedSeconds() const {
    return collectiveMatmulTime(ring.work, CollectiveMatmulKind::None).total() -
           collectiveMatmulTime(ring.work, way).total();
  }
};
std::vector<ChosenCollectiveMatmul> chooseCollectiveMatmuls(mlir::func::FuncOp func, MeshAttr mesh,
                                                            const CostModel &model);

} // namespace spmdc
