//===- ShmCollectives.h - collectives through shared memory -----*- C++ -*-===//
//
// Collectives between all CPU devices of a job on one host, of one process or of several, in one code path. Each device
// reads its peers' buffers directly; see docs/executor.md.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/artifact/Health.h"
#include "runtime/collective/Collective.h"
#include "runtime/device/Device.h"
#include "runtime/support/Store.h"

namespace spmd {

struct ShmOptions {
  int32_t process = 0;
  /// Every device of the job, by global id.
  std::vector<DeviceLocation> places;
  /// This process's devices; they must be CPU devices and outlive the backend.
  std::vector<DeviceRef> localDevices;
  /// Required as soon as a communicator spans processes.
  Store *store = nullptr;
  /// May be null: then only deadlines and aborts end a wait.
  Health *health = nullptr;
  CollectiveTimeouts timeouts = {};
};

std::unique_ptr<CollectiveBackend> createShmCollectives(ShmOptions options);

} // namespace spmd
