//===- Collective.h - how devices exchange data -----------------*- C++ -*-===//
//
// The interface between the executor and the libraries that move bytes between devices: shared memory on one host
// (shm/) and the network between hosts (net/). NCCL between GPUs has its own interface (nccl/). Three levels:
//
//   CollectiveBackend   one per process and job: knows where each device of the job is
//   Communicator        an ordered list of global devices, position p of the mesh being devices[p]
//   CollectiveCall      one collective step of one program on one device, prepared once and called many times
//
// All devices of a communicator make the same calls in the same order. Before data moves, the devices of a group
// compare their calls; if they differ, each throws an spmd::Error that names both calls and their source lines, and the
// communicator cannot be used any more. A wait ends without success when the job is over (it throws the verdict of
// Health), when another device of the communicator failed (abort), or at the deadline.
//
// Group order determines the order of summation: a balanced binary tree over the positions of the group, split at the
// largest power of two below the size. So the bits depend on neither processes nor hosts. bf16 and f16 are summed in
// f32 and rounded once. Maximum and minimum propagate NaN. The padding of a result is zero.
//
// On several hosts, full subtrees are reduced within each host, then between hosts (docs/hosts.md).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/artifact/Health.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace spmd {

/// The host and the process of a device of the job.
struct DeviceLocation {
  int32_t process = 0;
  std::string host; ///< The same text for processes that can share memory (boot id and host name).
};

/// Identifies a call across processes.
struct CallSite {
  uint64_t program = 0; ///< Fingerprint of the program.
  int32_t step = 0;     ///< Number of the step in the plan.
  SourceLocation location = {};
  /// The name of the call in messages; empty: the description of the collective.
  std::string name = {};
  /// Only this position of the mesh receives its result; -1: all do.
  int64_t onlyReceiver = -1;
  /// The device works between start and done. The network transfer then continues on a thread of its own. Calls that
  /// overlap with other calls need that: otherwise a device that waits for one call, while its peer waits for another,
  /// would wait forever.
  bool isAsync = false;
};

/// A prepared collective of one device; only that device's thread uses it. Calls that are in flight together may finish
/// in any order, the same on all devices.
class CollectiveCall {
public:
  virtual ~CollectiveCall() = default;

  /// Announces the operand. The operand must not change, and the result must not be read, until `done` returns. The
  /// result may be the operand itself for all_reduce, and must not overlap it otherwise. Does not wait for other
  /// devices, unless very many calls are in flight.
  virtual void start(const void *operand, void *result) = 0;

  /// Returns when the result is complete and the operand may be overwritten.
  virtual void done() = 0;
};

/// One device's position in a communicator; only that device's thread uses it.
class CommunicatorEndpoint {
public:
  virtual ~CommunicatorEndpoint() = default;

  /// `mesh` must have as many positions as the communicator has devices. Throws spmd::Error if the description is
  /// inconsistent. The endpoint must outlive the call.
  virtual std::unique_ptr<CollectiveCall> prepare(const MeshShape &mesh, const CollectiveDesc &desc,
                                                  const CallSite &site) = 0;

  /// Marks the beginning and the end of a run of a program. Calls of different runs never match. If a peer ends its run
  /// without making a call in which this device waits, that is detected as a divergence, too. `check`, if given, is
  /// called at least each 20 ms while a call of the run waits, perhaps on another thread: it throws spmd::Error if the
  /// device has failed, since a peer may wait for this device elsewhere.
  virtual void beginLaunch(std::function<void()> check = nullptr) = 0;
  virtual void endLaunch() = 0;

  /// For a failed run, after Communicator::abort: returns when no other thread or device accesses the memory of its
  /// calls any more.
  virtual void settle() = 0;
};

class Communicator {
public:
  virtual ~Communicator() = default;

  virtual const std::vector<int64_t> &getDevices() const = 0;
  /// The endpoint of a position whose device is local to this process.
  virtual CommunicatorEndpoint &getEndpoint(int64_t position) = 0;

  /// Makes every wait on this communicator, on all its processes, end with an error of this cause. The first cause
  /// counts.
  virtual void abort(const std::string &cause) = 0;
};

class CollectiveBackend {
public:
  virtual ~CollectiveBackend() = default;

  /// Returns the communicator of these devices, the same object for the same list. Collective among the processes that
  /// have one of the devices: each must call it, at most `timeout` apart.
  virtual std::shared_ptr<Communicator> communicator(const std::vector<int64_t> &devices,
                                                     std::chrono::milliseconds timeout) = 0;

  /// Returns calls that devices of other processes have begun, and that a device of this process has not made yet; at
  /// most one for each process. Between hosts, such a call is known once the other device has waited for a while. May
  /// be called on any thread.
  virtual std::vector<AwaitedCall> findAwaitedCalls() = 0;

  /// Declares that this process starts no more runs: the runs queued on its devices are the last. A peer that waits for
  /// another run gets an error instead of waiting forever.
  virtual void leave() = 0;
};

/// Limits of waiting.
struct CollectiveTimeouts {
  /// A collective that peers do not reach within this time is an error; 0: no limit.
  std::chrono::milliseconds collective{300'000};
  /// Additional wait of a device that works with other processes, so that the coordinator, which sees all processes,
  /// reports first. The coordinator learns of a standstill with the heartbeats.
  std::chrono::milliseconds grace{1500};
};

} // namespace spmd
