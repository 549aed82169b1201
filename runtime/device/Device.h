//===- Device.h - a device and its memory -----------------------*- C++ -*-===//
//
// The interface that a backend implements: memory, copies from and to the host, and the device's own thread, which runs
// all work of that device in order. The executor and the public API use devices only through it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace spmd {

class Device;

/// A range of device memory. The memory is freed with the last reference. Its contents are undefined at first. `data`
/// is aligned to 64 bytes if it was allocated; if it was adopted, to its elements on a CPU, to 16 bytes on a GPU.
class DeviceBuffer {
public:
  DeviceBuffer(void *data, int64_t bytes) : pointer(data), size(bytes) {}
  virtual ~DeviceBuffer() = default;
  DeviceBuffer(const DeviceBuffer &) = delete;
  DeviceBuffer &operator=(const DeviceBuffer &) = delete;

  /// CPU: an ordinary pointer. CUDA: a device pointer.
  void *data() const { return pointer; }
  int64_t bytes() const { return size; }

private:
  void *pointer;
  int64_t size;
};
using DeviceBufferRef = std::shared_ptr<DeviceBuffer>;

/// A device of the job: it runs kernels. All members are thread-safe.
class Device {
public:
  virtual ~Device() = default;

  /// Ids are consecutive over the job, in process order.
  int64_t getId() const { return id; }
  /// `cpu` or `cuda`.
  virtual std::string_view getBackend() const = 0;
  /// The device's number among the backend's devices of this machine: for a GPU the driver's number, for CPU devices 0.
  virtual int32_t getOrdinal() const { return 0; }
  /// `cpu:3`, for messages and tables.
  std::string str() const { return std::string(getBackend()) + ":" + std::to_string(id); }

  /// Allocates memory that collectives access without a copy. Throws spmd::Error if there is none left.
  virtual DeviceBufferRef allocate(int64_t bytes) = 0;

  /// Returns a buffer over memory of another owner (DLPack, a mapped file), aligned as said above; the buffer keeps
  /// `owner` alive. Collectives stage such memory if they have to.
  virtual DeviceBufferRef adopt(void *data, int64_t bytes, std::shared_ptr<void> owner) = 0;

  virtual void copyFromHost(DeviceBuffer &target, const void *source, int64_t bytes, int64_t targetOffset = 0) = 0;
  virtual void copyToHost(void *target, const DeviceBuffer &source, int64_t bytes, int64_t sourceOffset = 0) = 0;

  /// Queues work for the device's thread: one thread per device, first in, first out. `work` must not throw. An idle
  /// thread spins briefly, then sleeps.
  virtual void enqueue(std::function<void()> work) = 0;
  /// For a thread that waits for queued work: may run it in the place of the device's thread, in order, until `isOver`
  /// returns true or no work is left. Returns at once if the backend or the device's thread does that itself.
  virtual void runQueued([[maybe_unused]] const std::function<bool()> &isOver) {}
  /// Whether the host has fewer cores than devices of this kind, so that one thread had better run short work of
  /// several.
  virtual bool sharesCores() const { return false; }

  /// Bytes that are allocated now, and their maximum so far.
  virtual int64_t bytesInUse() const = 0;
  virtual int64_t peakBytesInUse() const = 0;

protected:
  explicit Device(int64_t id) : id(id) {}

private:
  int64_t id;
};
using DeviceRef = std::shared_ptr<Device>;

} // namespace spmd
