//===- GpuTransport.cpp - connections between the GPUs of a job -----------===//

#include "runtime/collective/nccl/GpuTransport.h"

#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/support/Error.h"

#include <cstring>
#include <sstream>

namespace spmd::cuda {
namespace {

std::string keyOf(const std::vector<int64_t> &devices) {
  std::string key = "collective/nccl/id";
  for (int64_t device : devices)
    key += "/" + std::to_string(device);
  return key;
}

} // namespace

std::shared_ptr<NcclGroup> GpuTransport::group(const std::vector<int64_t> &devices, std::chrono::milliseconds timeout) {
  // The devices of this process ask concurrently; the first one creates the group.
  std::lock_guard lock(mutex);
  if (auto known = groups.find(devices); known != groups.end())
    return known->second;
  NcclId id{};
  bool isAlone = true;
  for (int64_t device : devices)
    isAlone &= options.processOf[static_cast<size_t>(device)] == options.process;
  if (options.processOf[static_cast<size_t>(devices.front())] == options.process) {
    options.nccl->check(options.nccl->GetUniqueId(&id), "ncclGetUniqueId");
    if (!isAlone)
      options.store->set(keyOf(devices), std::string(id.bytes.data(), id.bytes.size()));
  } else {
    std::string text = options.store->wait(keyOf(devices), {options.processOf[static_cast<size_t>(devices.front())],
                                                            timeout, "a connection of GPUs", /*inBackground=*/true});
    if (text.size() != id.bytes.size())
      throw Error("process " + std::to_string(options.processOf[static_cast<size_t>(devices.front())]) + " has sent " +
                  std::to_string(text.size()) + " bytes instead of NCCL's id");
    std::memcpy(id.bytes.data(), text.data(), text.size());
  }
  auto made = std::make_shared<NcclGroup>(options.nccl, options.health, id, static_cast<int64_t>(devices.size()));
  groups[devices] = made;
  return made;
}

std::string GpuInventory::str() const {
  std::string text = nccl.empty() ? "-" : nccl;
  for (const std::string &gpu : gpus)
    text += " " + gpu;
  return text;
}

GpuInventory GpuInventory::parse(const std::string &text) {
  GpuInventory places;
  std::istringstream words(text);
  words >> places.nccl;
  if (places.nccl == "-")
    places.nccl.clear();
  for (std::string gpu; words >> gpu;)
    places.gpus.push_back(gpu);
  return places;
}

std::string whyNoNccl(const std::vector<GpuInventory> &places, bool isForced) {
  std::map<std::string, size_t> processOf;
  for (size_t process = 0; process < places.size(); ++process) {
    if (places[process].nccl.empty())
      return "process " + std::to_string(process) + " has no NCCL";
    if (places[process].nccl != places[0].nccl)
      return "process 0 has NCCL " + places[0].nccl + ", process " + std::to_string(process) + " has " +
             places[process].nccl;
    for (const std::string &gpu : places[process].gpus)
      if (auto [known, isNew] = processOf.try_emplace(gpu, process); !isNew && !isForced)
        return "several devices work on " + gpu;
  }
  return "";
}

std::unique_ptr<GpuTransport> connectGpus(const std::vector<DeviceRef> &localDevices, GpuTransportOptions options,
                                          bool isForced,
                                          const std::function<std::vector<std::string>(const std::string &)> &exchange,
                                          std::string &whyNot) {
  GpuInventory own;
  for (const DeviceRef &device : localDevices) {
    auto *gpu = dynamic_cast<CudaDevice *>(device.get());
    if (!gpu) // CPU and CUDA devices are not mixed in one job.
      return nullptr;
    own.gpus.push_back(gpu->getGpu().getUuid());
  }
  options.nccl = Nccl::load(&whyNot);
  for (const DeviceRef &device : localDevices)
    if (std::string name = dynamic_cast<CudaDevice &>(*device).getGpu().getName();
        name.find("MIG") != std::string::npos) {
      whyNot = "this process has only a part of a GPU (" + name + ")"; // NCCL takes parts of one card for one GPU.
      options.nccl = nullptr;
    }
  own.nccl = options.nccl ? options.nccl->getVersion() : "";
  std::vector<GpuInventory> places;
  for (const std::string &text : exchange(own.str()))
    places.push_back(GpuInventory::parse(text));
  if (whyNot.empty())
    whyNot = whyNoNccl(places, isForced);
  return whyNot.empty() ? std::make_unique<GpuTransport>(std::move(options)) : nullptr;
}

} // namespace spmd::cuda
