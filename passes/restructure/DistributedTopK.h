//===- DistributedTopK.h - top-k along sharded dimensions -------*- C++ -*-===//
//
// The first k of all elements are among the first k of each shard, so only those candidates are sent. As global arrays,
// with a dimension of 4096 over a=8:
//
//   x  [1024, 4096@a]   as  [1024, 8@a, 512]
//      argsort, first k  -> [1024, 8@a, k]   as  [1024, 8k@a]
//      argsort, first k  -> [1024, k]
//
// The first argsort runs on shards. How the candidates are resharded for the second one (gathered, or with other
// dimensions by an all_to_all) is decided by spmdc-insert-reshards, as for any other operation.
//
// The dimension may be merged by a reshape of sharded ones (MergedDim.h): top_k(reshape(x, [-1]), k), or of
// abs(reshape(x, [-1])). Among equal elements the one with the lowest position wins. The elements of a shard are in the
// order of positions, so each shard finds the right candidates; candidates of different shards are sorted by position
// first, unless they are in that order already. The second argsort is stable.
//
// Uneven shards are padded with filler that sorts last (first, if the last elements are wanted: argsort(x)[-k:]),
// after (before) the shard's elements: so no equal element of the shard loses to the filler. Among all candidates the
// filler's position is after (before) all others.
//
// An argmax is the first element of a sort.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"

namespace spmdc {

/// Rewrites a sort of which only the first elements are used, or only the last ones, if the candidates have fewer bytes
/// than the array. Returns whether it did.
bool distributeTopK(ArgsortOp op, const spmd::MeshShape &mesh);

/// Rewrites an argmax or argmin along a merged dimension. (Along a sharded dimension that is not merged, devices
/// exchange their results: ArgReduceOp::createLocal.)
void distributeMergedExtreme(ArgReduceOp op, const spmd::MeshShape &mesh);

} // namespace spmdc
