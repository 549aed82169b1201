//===- RingBytes.h - what collectives send --------------------*- C++ -*-===//
//
// Bytes that one device of a group sends, for a bandwidth-optimal algorithm (a ring): the figures of `inspect --json`,
// of metrics, and of what the partitioner weighs. `bytes` are those of the larger side.
//
//===----------------------------------------------------------------------===//
#pragma once

namespace spmd {

/// all_gather: everybody's piece but the own one passes by. reduce_scatter is the same backwards; all_to_all sends all
/// but what stays.
constexpr double gatherBytes(double group, double bytes) { return (group - 1) / group * bytes; }

/// collective_broadcast: each of the others gets the bytes once, from whomever has them, so that (group - 1) * bytes
/// are sent by all devices together. This is their mean; along a pipeline all but the last device send them once.
constexpr double broadcastBytes(double group, double bytes) { return (group - 1) / group * bytes; }

/// all_reduce: a reduce_scatter and an all_gather.
constexpr double allReduceBytes(double group, double bytes) { return 2 * gatherBytes(group, bytes); }

} // namespace spmd
