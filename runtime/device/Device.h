//===- Device.h - one executor of kernels and its memory --------*- C++ -*-===//
//
// The interface that a backend implements: memory, copies from and to the host, and the device's own thread on which
// everything of that device runs in order. The executor and the public API know devices only through this.
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

/// A piece of device memory; the memory is given back when the last reference goes. Its contents are undefined at
/// first. `data` is aligned to 64 bytes where it was allocated, and to its elements where it was adopted.
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

/// One executor of kernels. All members may be called from any thread.
class Device {
public:
  virtual ~Device() = default;

  /// Dense over the job, in process order.
  int64_t getId() const { return id; }
  /// `cpu` or `cuda`.
  virtual std::string_view getBackend() const = 0;
  /// Its number among the backend's devices of this machine: a GPU's as the driver counts them; 0 of CPU devices.
  virtual int32_t getOrdinal() const { return 0; }
  /// `cpu:3`, for messages and tables.
  std::string str() const { return std::string(getBackend()) + ":" + std::to_string(id); }

  /// Memory that collectives reach without a copy. Throws spmd::Error when there is none left.
  virtual DeviceBufferRef allocate(int64_t bytes) = 0;

  /// A buffer over memory that somebody else owns (DLPack, a mapped file), aligned to its elements; `owner` is kept
  /// alive with it. Collectives stage such memory where they need it.
  virtual DeviceBufferRef adopt(void *data, int64_t bytes, std::shared_ptr<void> owner) = 0;

  virtual void copyFromHost(DeviceBuffer &target, const void *source, int64_t bytes, int64_t targetOffset = 0) = 0;
  virtual void copyToHost(void *target, const DeviceBuffer &source, int64_t bytes, int64_t sourceOffset = 0) = 0;

  /// Queues work for the device's thread: one thread per device, first in, first out. `work` must not throw. An idle
  /// thread spins shortly, then sleeps.
  virtual void enqueue(std::function<void()> work) = 0;

  /// Bytes allocated now and at most so far.
  virtual int64_t bytesInUse() const = 0;
  virtual int64_t peakBytesInUse() const = 0;

protected:
  explicit Device(int64_t id) : id(id) {}

private:
  int64_t id;
};
using DeviceRef = std::shared_ptr<Device>;

} // namespace spmd
