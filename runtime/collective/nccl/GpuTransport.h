//===- GpuTransport.h - how the GPUs of a job reach one another -*- C++ -*-===//
//
// By NCCL where all processes have it and every device has a GPU of its own; else values are staged in the memory of
// the hosts, and go as those of CPU devices do.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/collective/Collective.h"
#include "runtime/collective/nccl/NcclGroup.h"
#include "runtime/support/Store.h"

#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace spmd::cuda {

struct GpuTransportOptions {
  std::shared_ptr<const Nccl> nccl;
  int32_t process = 0;
  std::vector<int32_t> processOf; ///< By device of the job.
  Store *store = nullptr;         ///< Needed where there are several processes.
  Health *health = nullptr;
};

/// One for a process and job. All members may be used from any thread.
class GpuTransport {
public:
  explicit GpuTransport(GpuTransportOptions options) : options(std::move(options)) {}

  /// The group of these devices, the same object for the same list. Collective among the processes that have one of
  /// them, as CollectiveBackend::communicator is.
  std::shared_ptr<NcclGroup> group(const std::vector<int64_t> &devices, std::chrono::milliseconds timeout);

private:
  const GpuTransportOptions options;
  std::mutex mutex;
  std::map<std::vector<int64_t>, std::shared_ptr<NcclGroup>> groups;
};

/// What a process says of itself when a job begins: its NCCL, and the GPU of each of its devices.
struct GpuPlaces {
  std::string nccl; ///< Version; empty: none.
  std::vector<std::string> gpus;

  std::string str() const;
  static GpuPlaces parse(const std::string &text);
};

/// Why NCCL cannot connect these processes; empty: it can. `isForced`: several devices on one GPU are no obstacle.
std::string whyNoNccl(const std::vector<GpuPlaces> &places, bool isForced);

} // namespace spmd::cuda
