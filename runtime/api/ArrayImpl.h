//===- ArrayImpl.h - the representation of an Array -------------*- C++ -*-===//
//
// An array has one buffer for each local device of the mesh, of the padded local shape. The contents of the padding are
// undefined.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/api/Job.h"
#include "runtime/api/Layout.h"
#include "runtime/exec/Executor.h"

#include <atomic>
#include <functional>
#include <mutex>

namespace spmd {

/// A running computation: a launch, and the launches of its arguments that had not ended when it began.
class Pending {
public:
  Pending(std::shared_ptr<Job> job, std::shared_ptr<Launch> launch, std::vector<std::shared_ptr<Pending>> arguments)
      : job(std::move(job)), launch(std::move(launch)), arguments(std::move(arguments)) {}

  /// Waits; throws the error of the first computation that failed, at every call.
  void wait();
  bool isDone() const { return launch->isDone(); }
  /// Releases the launches that have ended, so that a long chain of calls does not keep all earlier launches alive.
  void prune();

private:
  std::shared_ptr<Job> job;
  std::shared_ptr<Launch> launch;
  std::mutex mutex;
  std::vector<std::shared_ptr<Pending>> arguments;
};

/// Counts the parts of arrays that share a buffer. (References to the buffer itself also come from launches.)
struct BufferUse {};

/// The shard of a local device.
struct LocalPart {
  int64_t position = 0; ///< The position of the device in the mesh.
  DeviceRef device;
  /// May also be the buffer of another part with the same ranges: buffers of arrays are never written again.
  DeviceBufferRef buffer;
  std::vector<ShardRange> ranges; ///< The part of the global array that the buffer holds, without padding.
  /// All parts of arrays that have this buffer share one object; null if the memory belongs to another library.
  std::shared_ptr<const BufferUse> use = nullptr;
};

using PartsRef = std::shared_ptr<const std::vector<LocalPart>>;

/// A value on the devices of a mesh. All members except `editParts` are thread-safe once the array is constructed.
class ArrayImpl {
public:
  std::shared_ptr<Job> job;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  NamedSharding sharding;
  std::string name;
  std::vector<int64_t> localShape;
  std::shared_ptr<Pending> pending; ///< Null: the values are computed.
  /// The caller chose no device: the array is on the default device, and may be used with arrays on any mesh.
  mutable bool isUncommitted = false;

  ArrayImpl() = default;
  /// Creates another array that shares the memory.
  ArrayImpl(const ArrayImpl &other);

  /// Indexed by local device, in mesh order. Only for the code that constructs the array, before others have it.
  std::vector<LocalPart> &editParts() { return *parts; }
  /// Returns the current parts, in mesh order. While the caller holds them, another thread may donate the array, but no
  /// call writes to the memory. Throws the usage error if the array is deleted.
  PartsRef getParts() const;

  void wait() const {
    if (pending)
      pending->wait();
  }
  /// Returns `x: f32[4, 8] @ P(i, j)`.
  std::string describe() const;
  /// Copies the elements of a part, row-major, without padding.
  void copyPart(const LocalPart &part, void *target) const;

  bool isDeleted() const { return deleted.load(std::memory_order_acquire); }
  /// Throws the usage error if the array is deleted.
  void checkUsable() const;
  /// Deletes the array, because it is donated, and releases the memory. Returns whether the memory may be written: no
  /// other array, shard, tensor of another library or reader shares it, except `own`, the caller's parts. Messages
  /// quote `why`: `it was donated to 'main' at train.cpp:20`. Throws the usage error if the array is deleted already.
  bool deleteDonated(const std::string &why, const PartsRef &own) const;
  /// Undoes deleteDonated: the call that should have taken the array failed.
  void undoDonation(PartsRef own) const;

private:
  [[noreturn]] void failDeleted() const; ///< Called with `mutex` locked.

  mutable std::mutex mutex;
  // These change once, when the array is donated. `mutex` guards them as soon as other code has the array.
  mutable std::shared_ptr<std::vector<LocalPart>> parts = std::make_shared<std::vector<LocalPart>>();
  mutable std::string deletionReason; ///< Why the array was deleted; empty: it is not.
  mutable std::atomic<bool> deleted{false};
};

/// Returns the reason why there is no array of this type, to follow the type in a message: negative sizes, or more
/// bytes than kMaxArrayBytes. Returns "" if there is none.
std::string shapeProblem(DType dtype, const std::vector<int64_t> &shape);

/// Returns an array without buffers: all fields of each part but `buffer` are set. Checks the shape and the sharding.
std::shared_ptr<ArrayImpl> planArray(const std::shared_ptr<Job> &job, DType dtype, std::vector<int64_t> shape,
                                     const NamedSharding &sharding, const std::string &name = "");

/// Writes one device's elements to the beginning of a row-major array of shape `padded`. The padding is zero already
/// and must stay zero.
using FillFunction =
    std::function<void(const std::vector<ShardRange> &ranges, const std::vector<int64_t> &padded, void *target)>;

/// Returns an array whose parts `fill` writes. Devices that share the host's memory share one buffer for equal parts.
Array fillArray(const std::shared_ptr<Job> &job, DType dtype, std::vector<int64_t> shape, const NamedSharding &sharding,
                const FillFunction &fill, const std::string &name = "");

/// Returns the value with another sharding; runs collectives.
Array reshard(const Array &array, const NamedSharding &target, const std::source_location &where);

/// Returns the same value on other devices, without communication. Assumes that one device of this process holds all of
/// the value, and that every process of the target has the same value.
Array placeLocally(const Array &array, const NamedSharding &target);

/// Calls `receive` with the full row-major value on the process that holds the mesh's device of the smallest id; the
/// other processes only take part.
void gatherToFirst(const Array &array, const std::function<void(const HostView &)> &receive);

} // namespace spmd
