//===- GpuTransport.h - connections between the GPUs of a job ---*- C++ -*-===//
//
// Uses NCCL if all processes have it and every device has a GPU of its own. Otherwise values are staged in host memory
// and sent as those of CPU devices are.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/collective/Collective.h"
#include "runtime/collective/nccl/NcclGroup.h"
#include "runtime/device/Device.h"
#include "runtime/support/Store.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace spmd::cuda {

struct GpuTransportOptions {
  std::shared_ptr<const Nccl> nccl;
  int32_t process = 0;
  std::vector<int32_t> processOf; ///< By global device.
  Store *store = nullptr;         ///< Required if there are several processes.
  Health *health = nullptr;
};

/// One for each process and job. All members are thread-safe.
class GpuTransport {
public:
  explicit GpuTransport(GpuTransportOptions options) : options(std::move(options)) {}

  /// Returns the group of these devices, the same object for the same list. Collective among the processes that have
  /// one of the devices, like CollectiveBackend::communicator.
  std::shared_ptr<NcclGroup> group(const std::vector<int64_t> &devices, std::chrono::milliseconds timeout);

private:
  const GpuTransportOptions options;
  std::mutex mutex;
  std::map<std::vector<int64_t>, std::shared_ptr<NcclGroup>> groups;
};

/// A process's NCCL version and the GPU of each of its devices; processes exchange it when a job begins.
struct GpuInventory {
  std::string nccl; ///< Version; empty: NCCL is not installed.
  std::vector<std::string> gpus;

  std::string str() const;
  static GpuInventory parse(const std::string &text);
};

/// Returns why NCCL cannot connect these processes; empty: it can. `isForced`: accept several devices on one GPU.
std::string whyNoNccl(const std::vector<GpuInventory> &places, bool isForced);

/// Connects the GPUs of a job by NCCL if it can connect all of them; all processes call it and decide alike. Each has a
/// device. Returns
/// null otherwise, with the reason in `whyNot`, which stays empty if the devices are no GPUs. `exchange` publishes a
/// text among all processes and returns those of all. `options.nccl` is set here.
std::unique_ptr<GpuTransport> connectGpus(const std::vector<DeviceRef> &localDevices, GpuTransportOptions options,
                                          bool isForced,
                                          const std::function<std::vector<std::string>(const std::string &)> &exchange,
                                          std::string &whyNot);

} // namespace spmd::cuda
