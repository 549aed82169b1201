//===- ExecutionBackend.cpp - runs plans on one kind of device ------------===//

#include "runtime/exec/ExecutionBackend.h"

#include "runtime/exec/cpu/CpuBackend.h"
#include "runtime/exec/cuda/CudaBackend.h"
#include "runtime/support/Error.h"

namespace spmd {
namespace {

struct Entry {
  std::string_view name;
  std::unique_ptr<ExecutionBackend> (*create)(std::shared_ptr<const Artifact>, const std::vector<DeviceRef> &);
};
constexpr Entry kBackends[] = {{"cpu", createCpuBackend}, {"cuda", createCudaBackend}};

} // namespace

std::unique_ptr<ExecutionBackend> ExecutionBackend::create(std::shared_ptr<const Artifact> artifact,
                                                           const std::vector<DeviceRef> &devices) {
  const Plan &plan = artifact->plan;
  for (const DeviceRef &device : devices)
    if (device->getBackend() != plan.target.backend)
      throw Error("the artifact '" + plan.name + "' is compiled for " + plan.target.backend + " devices, but " +
                  device->str() + " is not one; compile it with --target=" + std::string(device->getBackend()));
  for (const Entry &entry : kBackends)
    if (entry.name == plan.target.backend)
      return entry.create(std::move(artifact), devices);
  throw Error("the artifact '" + plan.name + "' is compiled for '" + plan.target.backend +
              "' devices, which this version does not run");
}

} // namespace spmd
