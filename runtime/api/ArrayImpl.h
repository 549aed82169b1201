//===- ArrayImpl.h - what an Array consists of ------------------*- C++ -*-===//
//
// One buffer for each local device of the mesh, of the padded local shape; what a buffer holds beyond the device's own
// ranges is not defined.
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

/// A computation under way: a launch, and the launches whose results it takes and that had not ended when it began.
class Pending {
public:
  Pending(std::shared_ptr<Job> job, std::shared_ptr<Launch> launch, std::vector<std::shared_ptr<Pending>> arguments)
      : job(std::move(job)), launch(std::move(launch)), arguments(std::move(arguments)) {}

  /// Waits; throws the error of the first computation that failed, at every call.
  void wait();
  bool isDone() const { return launch->isDone(); }
  /// Lets go of what is done, so that a long chain of calls does not keep its whole past alive.
  void prune();

private:
  std::shared_ptr<Job> job;
  std::shared_ptr<Launch> launch;
  std::mutex mutex;
  std::vector<std::shared_ptr<Pending>> arguments;
};

/// Counts the parts of arrays that share a buffer. (References to the buffer itself are also those of launches.)
struct BufferUse {};

/// What a local device holds.
struct LocalPart {
  int64_t position = 0; ///< In the mesh.
  DeviceRef device;
  DeviceBufferRef buffer;         ///< May be that of another part with the same ranges: arrays are never written again.
  std::vector<ShardRange> ranges; ///< What of the buffer counts, in the global array.
  /// One for all parts of arrays that have this buffer; null where it is another library's.
  std::shared_ptr<const BufferUse> use = nullptr;
};

using PartsRef = std::shared_ptr<const std::vector<LocalPart>>;

/// A value on the devices of a mesh. All members but `editParts` are safe from any thread once the array is made.
class ArrayImpl {
public:
  std::shared_ptr<Job> job;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  NamedSharding sharding;
  std::string name;
  std::vector<int64_t> localShape;
  std::shared_ptr<Pending> pending; ///< Null: the values are there.
  /// It is on the device that is taken where nothing says which: it goes along with arrays on any mesh.
  mutable bool isUncommitted = false;

  ArrayImpl() = default;
  /// Another array that shares the memory.
  ArrayImpl(const ArrayImpl &other);

  /// By mesh position, for who makes the array: before anybody else has it.
  std::vector<LocalPart> &editParts() { return *parts; }
  /// By mesh position, as they are now: another thread may donate the array meanwhile, and takes its memory only where
  /// nobody holds them. Throws the usage error where the array is deleted.
  PartsRef getParts() const;

  void wait() const {
    if (pending)
      pending->wait();
  }
  /// `x: f32[4, 8] @ P(i, j)`.
  std::string describe() const;
  /// The device part's own elements, row-major, without padding.
  void copyPart(const LocalPart &part, void *target) const;

  bool isDeleted() const { return deleted.load(std::memory_order_acquire); }
  /// Throws the usage error where the array is deleted.
  void checkUsable() const;
  /// It is donated: lets go of the memory. Returns whether the memory is free to be written: no other array, shard,
  /// tensor of another library or reader has a part of it, but for `own`, the caller's. `why` is what messages say of
  /// it: `it was donated to 'main' at train.cpp:20`. Throws the usage error where the array is deleted already.
  bool giveUp(const std::string &why, const PartsRef &own) const;
  /// The call that it was donated to did not come about.
  void takeBack(PartsRef own) const;

private:
  [[noreturn]] void failDeleted() const; ///< With the lock.

  mutable std::mutex mutex;
  // They change once, when the array is donated; guarded by `mutex` from when others have the array.
  mutable std::shared_ptr<std::vector<LocalPart>> parts = std::make_shared<std::vector<LocalPart>>();
  mutable std::string takenBy; ///< Empty: it is not deleted.
  mutable std::atomic<bool> deleted{false};
};

/// An array without buffers: everything but `buffer` of each part is set. Checks the shape and the sharding.
std::shared_ptr<ArrayImpl> planArray(const std::shared_ptr<Job> &job, DType dtype, std::vector<int64_t> shape,
                                     const NamedSharding &sharding, const std::string &name = "");

/// Writes one device's own elements to the beginning of a row-major array of shape `padded`. What lies beyond them is
/// zero already and stays so.
using FillFunction =
    std::function<void(const std::vector<ShardRange> &ranges, const std::vector<int64_t> &padded, void *target)>;

/// An array whose parts `fill` writes, each different part once where devices share the host's memory.
Array fillArray(const std::shared_ptr<Job> &job, DType dtype, std::vector<int64_t> shape, const NamedSharding &sharding,
                const FillFunction &fill, const std::string &name = "");

/// The value under another sharding, through collectives.
Array reshard(const Array &array, const NamedSharding &target);

/// The same value on other devices, without communication: all of it is on one device of this process, and every
/// process of the target has the same.
Array placeLocally(const Array &array, const NamedSharding &target);

/// Runs `receive` with the whole row-major value on the process that holds the mesh's device of the smallest id; on the
/// others it only takes part.
void gatherToFirst(const Array &array, const std::function<void(const HostView &)> &receive);

} // namespace spmd
