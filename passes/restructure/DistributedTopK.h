//===- DistributedTopK.h - an end of an order, piece by piece ---------*- C++ -*-===//
//
// The k first of all elements are among the k first of each device's piece, so only those candidates travel. In terms
// of global arrays, with a dimension of 4096 over a=8:
//
//   x  [1024, 4096@a]   as  [1024, 8@a, 512]
//      argsort, first k  -> [1024, 8@a, k]   as  [1024, 8k@a]
//      argsort, first k  -> [1024, k]
//
// The first argsort runs where the pieces lie. How the candidates come together for the second one, gathered or, where
// there are other dimensions, by an all_to_all, is spmdc-insert-reshards' choice, as for any other operation.
//
// The dimension may be one that a reshape makes of others that are cut (MergedDim.h): top_k(reshape(x, [-1]), k), or of
// abs(reshape(x, [-1])). Among equals the first in the order of all positions is wanted. The elements of a piece stand
// in that order, so that it shows the right ones of its own; candidates of different pieces are brought into that order
// first, unless they stand in it anyway. The second argsort, which is stable, does the rest.
//
// What a device lacks of an uneven piece is filled with what comes last in the order (first, if the last elements are
// looked for: argsort(x)[-k:]), and stands behind (in front of) what the device has: so no element of the piece that is
// as low gives way to it. Among all candidates its position is behind (in front of) all others.
//
// The position of the extreme element (argmax) is found as the first one of an order.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"

namespace spmdc {

/// Does so for an order of which only the first elements are used, or only the last ones, if the candidates are less to
/// send than the array. Returns whether that is so.
bool distributeTopK(ArgsortOp op, const spmd::MeshShape &mesh);

/// Does so for an extreme element along a dimension that is made of others. (Along one that is cut as it lies, devices
/// tell one another what they have found: ArgReduceOp::createLocal.)
void distributeMergedExtreme(ArgReduceOp op, const spmd::MeshShape &mesh);

} // namespace spmdc
