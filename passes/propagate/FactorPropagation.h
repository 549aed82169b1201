//===- FactorPropagation.h - extending axes along factors -------*- C++ -*-===//
//
// One step of propagation: extends the axes of each factor on each array of one operation. Each strategy adds one idea
// to the one before:
//
//   Basic       For each factor, the longest axes on which all arrays of the operation agree. Propagation along the
//               factor stops for all arrays where two differ, or where one cannot take an axis (it is closed, another
//               of its factors uses the axis, or sizes do not divide).
//   Aggressive  An array that cannot take an axis does not stop the others. If two factors want the same axis on one
//               array, the factor that comes from the largest array gets it.
//   Settle      If arrays shard one factor differently (x: 8@a, y: 8@b in x + y), open arrays follow the largest array
//               that they can follow, instead of none.
//   Displace Moves the axes of an operand's factor that a result of the same size cannot keep to another factor of the
//   result. From a factor that needs replication (a sorted dimension): to the largest factor that the axes divide
//   evenly and that is unsharded on both, so that one all_to_all suffices; if there is none, to the same dimension of
//   the result. From a factor that is a minor one of its dimension in the result: to the major one, if the axes divide
//   it evenly; if not, as above.
//
// Steps only extend: the new axes of a factor have the old ones as a prefix.
//
// One step on C = dot(A, B) as Shardy's propagation document draws it, aggressive or basic (- : no such factor):
//
//           F0            F1            F2                     F0              F1            F2
//     T0    [a]           []            [f]              T0    [a, b]          [c]           [f]
//     T1    [a, b]        [c, d]        [g]      ==>     T1    [a, b]          [c, d]        [g]
//     T2    []            [c, e]        []               T2    [a, b]          [c, e]        []
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/propagate/OpKind.h"
#include "passes/propagate/ShardingProjection.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace spmdc {

/// As in Shardy; not a Strategy (passes/strategy), which runs an operation.
enum class PropagationStrategy { Basic, Aggressive, Settle, Displace };

/// Returns the direction in which a factor, given by its index, propagates.
using DirectionOfFactor = llvm::function_ref<Direction(int64_t)>;

/// Extends the projection by one step; returns whether it changed. Factors that need replication do not change.
bool propagateFactors(ShardingProjection &projection, const OpKind &kind, DirectionOfFactor direction,
                      PropagationStrategy strategy);

/// The step `Displace` as described above. Returns whether anything changed.
bool displaceAxes(ShardingProjection &projection);

/// The operand, and its factor, from which displaceAxes took these axes.
std::pair<unsigned, int64_t> getDisplaced(const ShardingProjection &projection, llvm::ArrayRef<AxisPart> axes);

/// The longest prefix of `axes` that the factor may have on this array. If the array lacks the factor, the longest
/// prefix that none of its factors uses.
AxisList getUsablePrefix(const TensorProjection &tensor, int64_t factor, int64_t factorSize,
                         llvm::ArrayRef<AxisPart> axes);

} // namespace spmdc
