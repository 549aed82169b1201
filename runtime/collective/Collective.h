//===- Collective.h - how devices exchange data ------------------*- C++ -*-===//
//
// The interface between the executor and what moves bytes between devices: shared memory on one host (shm/), the
// network between hosts (net/); NCCL between GPUs takes the same place. Three levels:
//
//   CollectiveBackend   one per process and job: knows where each device of the job is
//   Communicator        an ordered list of global devices, position p of the mesh being devices[p]
//   CollectiveCall      one collective step of one program on one device, prepared once and called many times
//
// All devices of a communicator make the same calls in the same order. Before data moves, the devices of a group
// compare what they are about to do; where they differ, each throws an spmd::Error that names both calls and their
// source lines, and the communicator is of no use any more. A wait ends, besides with success: when the job is over
// (Health: the verdict is thrown), when another device of the communicator failed (abort), or at the deadline.
//
// Group order decides the order of summation: a balanced binary tree over the positions of the group, split at the
// largest power of two below the size, so the bits depend on neither processes nor hosts. bf16 and f16 are summed in
// f32 and rounded once. Maximum and minimum propagate NaN. What a result holds beyond its data is zero.
//
// Several hosts: whole subtrees are reduced within each host, then between hosts (docs/hosts.md).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/artifact/Plan.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace spmd {

/// Where a device of the job is.
struct DevicePlace {
  int32_t process = 0;
  std::string host; ///< The same text for processes that may share memory (boot id and host name).
};

/// What makes a call recognisable on another process.
struct CallSite {
  uint64_t program = 0; ///< Fingerprint of the program.
  int32_t step = 0;     ///< Number of the step in the plan.
  SourceLocation location = {};
  /// What messages call it; empty: the description's own words.
  std::string name = {};
  /// Only this position of the mesh receives its result; -1: all do.
  int64_t onlyReceiver = -1;
  /// There is something between start and done: what crosses the network goes on meanwhile, on a thread of its own.
  /// Where that something is the end of another call it must: a device that waits for the one while its peer waits for
  /// the other would wait for ever.
  bool isAsync = false;
};

/// A prepared collective of one device; used by that device's thread alone. Calls that are under way at a time may be
/// finished in any order, the same on all devices.
class CollectiveCall {
public:
  virtual ~CollectiveCall() = default;

  /// Announces the operand. It must stay as it is until `done` returns, and nobody may read the result before; the
  /// result may be the operand itself for all_reduce, and must not overlap it otherwise. Does not wait for other
  /// devices, unless very many calls are already under way.
  virtual void start(const void *operand, void *result) = 0;

  /// Returns when the result is there and the operand may be overwritten.
  virtual void done() = 0;
};

/// One device's place in a communicator; used by that device's thread alone.
class CommunicatorEndpoint {
public:
  virtual ~CommunicatorEndpoint() = default;

  /// `mesh` must have as many positions as the communicator has devices. Throws spmd::Error if the description makes
  /// no sense. The endpoint must outlive the call.
  virtual std::unique_ptr<CollectiveCall> prepare(const MeshShape &mesh, const CollectiveDesc &desc,
                                                  const CallSite &site) = 0;

  /// Marks the beginning and the end of a run of a program. Calls of different runs never match, and a peer that has
  /// finished its run without making a call that this device waits in is recognised as a divergence too.
  virtual void beginLaunch() = 0;
  virtual void endLaunch() = 0;

  /// For a run that failed, after Communicator::abort: returns when nothing touches the memory of its calls any more.
  virtual void settle() = 0;
};

class Communicator {
public:
  virtual ~Communicator() = default;

  virtual const std::vector<int64_t> &getDevices() const = 0;
  /// The endpoint of a position whose device is local to this process.
  virtual CommunicatorEndpoint &getEndpoint(int64_t position) = 0;

  /// Makes every wait on this communicator, on all its processes, end with an error of this cause. The first wins.
  virtual void abort(const std::string &cause) = 0;
};

class CollectiveBackend {
public:
  virtual ~CollectiveBackend() = default;

  /// The communicator of these devices, the same object for the same list. Collective among the processes that have
  /// one of them: each must call it, at most `timeout` apart.
  virtual std::shared_ptr<Communicator> communicator(const std::vector<int64_t> &devices,
                                                     std::chrono::milliseconds timeout) = 0;

  /// This process makes no more runs: what is queued on its devices is the last. A peer that waits for another one
  /// learns of it, instead of waiting for ever.
  virtual void leave() = 0;
};

/// Bounds of waiting.
struct CollectiveTimeouts {
  /// A collective that peers do not reach in this time is an error; 0: never.
  std::chrono::milliseconds collective{300'000};
  /// How much longer a device waits that works with other processes: the coordinator, which sees all, is to speak
  /// first. It learns of a standstill with the heartbeats.
  std::chrono::milliseconds grace{1500};
};

} // namespace spmd
