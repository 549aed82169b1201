//===- Backend.h - one process's side of shared memory ----------*- C++ -*-===//
//
// Maps device memory: that of this process's own devices directly, that of peers through their segments, at first use.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/collective/shm/ControlPage.h"
#include "runtime/collective/shm/PeerLink.h"
#include "runtime/collective/shm/ShmCollectives.h"
#include "runtime/device/cpu/CpuDevice.h"

namespace spmd::shm {

class ShmCommunicator;

/// Returns a hash of a list of devices, the same on all processes.
uint64_t hashDevices(const std::vector<int64_t> &devices);

class Backend final : public CollectiveBackend {
public:
  explicit Backend(ShmOptions options);
  ~Backend() override;

  std::shared_ptr<Communicator> communicator(const std::vector<int64_t> &devices,
                                             std::chrono::milliseconds timeout) override;
  std::vector<AwaitedCall> findAwaitedCalls() override;
  void leave() override;

  /// Returns the part of a communicator that is on this host: it lists all devices, but only those of this host can
  /// work through it. Collective among the processes of this host that have one of them.
  std::shared_ptr<ShmCommunicator> onThisHost(const std::vector<int64_t> &devices, std::chrono::milliseconds timeout);

  const ShmOptions &getOptions() const { return options; }
  const std::string &hostOf(int64_t device) const { return options.places[device].host; }
  bool isOnThisHost(int64_t device) const { return hostOf(device) == host; }
  int32_t processOf(int64_t device) const { return options.places[device].process; }
  bool isLocal(int64_t device) const { return localDevices.count(device) != 0; }
  CpuDevice &getLocalDevice(int64_t device) const { return *localDevices.at(device); }

  /// Returns the address in this process of a segment of any device's memory. Slow; endpoints cache the result.
  std::shared_ptr<Segment> mapSegment(int64_t device, int32_t segment);

private:
  std::shared_ptr<Segment> findSegment(const SegmentName &name);
  void checkPlaces(const std::vector<int64_t> &devices) const;

  ShmOptions options;
  std::string host;
  std::map<int64_t, CpuDevice *> localDevices;
  std::mutex mutex;
  std::map<std::pair<int64_t, int32_t>, std::shared_ptr<Segment>> mapped;
  std::map<uint64_t, std::shared_ptr<Segment>> controls; ///< The control pages that this process created.
  std::map<std::vector<int64_t>, std::shared_ptr<ShmCommunicator>> communicators;
  std::unique_ptr<SegmentClient> client;
  std::unique_ptr<SegmentServer> server;
};

} // namespace spmd::shm
