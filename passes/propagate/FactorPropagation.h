//===- FactorPropagation.h - extending axes along factors -------*- C++ -*-===//
//
// One step of propagation: given the projection of one operation, which axes does each factor get on each array?
// Three strategies, each adding one idea to the one before:
//
//   Basic       For each factor, the longest axes that all arrays of the operation can agree on; where arrays differ,
//               or one of them cannot take an axis (closed, the axis is used by another of its factors, sizes do not
//               divide), propagation along that factor stops there for all.
//   Aggressive  An array that cannot take an axis does not keep others from it. Where two factors want the same axis
//               on one array, the factor that comes from the largest array gets it.
//   Settle      Where arrays shard one factor differently (x: 8@a, y: 8@b in x + y), arrays that are still open follow
//               the largest that they can follow, instead of none.
//   Displace    Of a factor that an operation needs whole (a sorted dimension) nothing is passed on. But its axes,
//               which one all_to_all brings to another dimension, may cut that one of the result, rather than none;
//               where no other takes them, the same one of a result in which it is as long. So may the axes of a factor
//               that is a minor one of its dimension in the result: they shard the major one, if they divide it.
//
// Nothing is ever taken away: axes of a factor are replaced by lists of which they are a prefix.
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

enum class PropagationStrategy { Basic, Aggressive, Settle, Displace };

using DirectionOfFactor = llvm::function_ref<Direction(int64_t)>;

/// Extends the projection by one step; returns whether anything changed. Factors that need replication are left alone.
bool propagateFactors(ShardingProjection &projection, const OpKind &kind, DirectionOfFactor direction,
                      PropagationStrategy strategy);

/// Gives the axes of factors that need replication, where an operand has them, to the largest factor that they divide
/// and that this operand and a result of the same size have uncut: of the result. If there is none, to the result's
/// factor of the same dimension, which the operation needs whole, too. Axes of a minor factor of a result's dimension
/// go to the major one first. Returns whether anything changed.
bool displaceAxes(ShardingProjection &projection);

/// The operand, and its factor, that these axes were displaced from.
std::pair<unsigned, int64_t> getDisplaced(const ShardingProjection &projection, llvm::ArrayRef<AxisPart> axes);

/// The longest prefix of `axes` that the factor may have on this array. Where the array lacks the factor: the longest
/// one that none of its factors uses.
AxisList getUsablePrefix(const TensorProjection &tensor, int64_t factor, int64_t factorSize,
                         llvm::ArrayRef<AxisPart> axes);

} // namespace spmdc
