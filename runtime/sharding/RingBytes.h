//===- RingBytes.h - bytes that collectives send ----------------*- C++ -*-===//
//
// Bytes that one device of a group sends with a bandwidth-optimal algorithm (a ring): the figures of `inspect --json`,
// of metrics, and of the partitioner's cost model. `bytes` is the size of the larger of operand and result.
//
//===----------------------------------------------------------------------===//
#pragma once

namespace spmd {

/// all_gather: each device forwards all shards but one. reduce_scatter is its reverse; in an all_to_all each device
/// sends all but the part that it keeps.
constexpr double gatherBytes(double group, double bytes) { return (group - 1) / group * bytes; }

/// collective_broadcast: each of the group - 1 other devices receives the bytes once, from any device that holds them,
/// so all devices together send (group - 1) * bytes. This is the mean; along a pipeline each device but the last sends
/// once.
constexpr double broadcastBytes(double group, double bytes) { return (group - 1) / group * bytes; }

/// all_reduce: a reduce_scatter followed by an all_gather.
constexpr double allReduceBytes(double group, double bytes) { return 2 * gatherBytes(group, bytes); }

} // namespace spmd
