//===- Backend.cpp - one process's side of shared memory ------------------===//

#include "runtime/collective/shm/Backend.h"
#include "runtime/collective/shm/ShmCommunicator.h"
#include "runtime/support/Error.h"

#include <algorithm>

namespace spmd {
namespace shm {

uint64_t hashDevices(const std::vector<int64_t> &devices) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (int64_t device : devices)
    for (int byte = 0; byte < 8; ++byte)
      hash = (hash ^ (static_cast<uint64_t>(device) >> (8 * byte) & 0xff)) * 0x100000001b3u;
  return hash;
}

static std::string controlKey(uint64_t key, int32_t leader) {
  return "collective/shm/control/" + std::to_string(key) + "/" + std::to_string(leader);
}

Backend::Backend(ShmOptions given) : options(std::move(given)) {
  for (const DeviceRef &device : options.localDevices) {
    auto *cpu = dynamic_cast<CpuDevice *>(device.get());
    if (!cpu)
      throw Error("collectives through shared memory need CPU devices, but " + device->str() + " is not one");
    localDevices[device->getId()] = cpu;
  }
  for (int64_t device = 0; device < static_cast<int64_t>(options.places.size()); ++device)
    if ((options.places[device].process == options.process) != isLocal(device))
      throw Error("device " + std::to_string(device) + " belongs to process " +
                  std::to_string(options.places[device].process) + " by the job's topology, but not on process " +
                  std::to_string(options.process) + " itself");
  // This process serves its segments as soon as there are peers on this host.
  bool hasPeers = false;
  for (const DeviceLocation &place : options.places)
    if (place.process == options.process)
      host = place.host;
  for (const DeviceLocation &place : options.places)
    hasPeers |= place.process != options.process && place.host == host;
  if (hasPeers && options.store) {
    client = std::make_unique<SegmentClient>(options.process, *options.store, options.health);
    server = std::make_unique<SegmentServer>(
        options.process, *options.store, [this](const SegmentName &name) { return findSegment(name); },
        [health = options.health](const std::string &why) {
          if (health)
            health->reportFailure(why);
        });
  }
}

Backend::~Backend() {
  server.reset();
  communicators.clear();
}

std::shared_ptr<Segment> Backend::findSegment(const SegmentName &name) {
  if (name.kind == SegmentKind::Device) {
    auto device = localDevices.find(static_cast<int64_t>(name.a));
    return device == localDevices.end() ? nullptr
                                        : device->second->getMemory().getSegment(static_cast<int32_t>(name.b));
  }
  std::lock_guard lock(mutex);
  auto control = controls.find(name.a);
  return control == controls.end() ? nullptr : control->second;
}

std::shared_ptr<Segment> Backend::mapSegment(int64_t device, int32_t segment) {
  if (isLocal(device))
    return getLocalDevice(device).getMemory().getSegment(segment);
  {
    std::lock_guard lock(mutex);
    auto known = mapped.find({device, segment});
    if (known != mapped.end())
      return known->second;
  }
  auto found = client->fetch(processOf(device),
                             {SegmentKind::Device, static_cast<uint64_t>(device), static_cast<uint64_t>(segment)},
                             false, std::chrono::seconds(30));
  std::lock_guard lock(mutex);
  return mapped.try_emplace({device, segment}, found).first->second;
}

void Backend::checkPlaces(const std::vector<int64_t> &devices) const {
  if (devices.empty())
    throw Error("a communicator needs at least one device");
  std::vector<int64_t> sorted = devices;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] < 0 || sorted[i] >= static_cast<int64_t>(options.places.size()))
      throw Error("device " + std::to_string(sorted[i]) + " does not exist; the job has " +
                  std::to_string(options.places.size()) + " devices");
    if (i > 0 && sorted[i] == sorted[i - 1])
      throw Error("device " + std::to_string(sorted[i]) + " is twice in a mesh");
  }
}

std::shared_ptr<Communicator> Backend::communicator(const std::vector<int64_t> &devices,
                                                    std::chrono::milliseconds timeout) {
  checkPlaces(devices);
  for (int64_t device : devices)
    if (hostOf(device) != hostOf(devices[0]))
      throw Error("device " + std::to_string(devices[0]) + " is on host " + hostOf(devices[0]) + " and device " +
                  std::to_string(device) + " on host " + hostOf(device) + ", which share no memory");
  return onThisHost(devices, timeout);
}

/// Returns `the first run on devices 0, 2`, of at most eight devices.
static std::string firstRunOn(const std::vector<int64_t> &devices) {
  constexpr size_t listed = 8;
  std::string text;
  for (size_t i = 0; i < std::min(devices.size(), listed); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(devices[i]);
  return "the first run on devices " + text + (devices.size() > listed ? ", ..." : "");
}

std::shared_ptr<ShmCommunicator> Backend::onThisHost(const std::vector<int64_t> &devices,
                                                     std::chrono::milliseconds timeout) {
  checkPlaces(devices);
  {
    std::lock_guard lock(mutex);
    auto known = communicators.find(devices);
    if (known != communicators.end())
      return known->second;
  }
  auto hasPeer = [&](int64_t device) { return isOnThisHost(device) && !isLocal(device); };
  bool hasPeers = std::any_of(devices.begin(), devices.end(), hasPeer);
  bool hasLocal = std::any_of(devices.begin(), devices.end(), [&](int64_t device) { return isLocal(device); });
  if (!hasLocal)
    throw Error("process " + std::to_string(options.process) + " has none of the devices of this communicator");
  if (hasPeers && !client)
    throw Error("devices of several processes can only work together in a job with a coordinator");
  uint64_t key = hashDevices(devices);
  auto count = static_cast<int64_t>(devices.size());
  std::shared_ptr<Segment> control;
  // The process of the first device on this host creates the control page, and announces it in the store.
  int32_t leader =
      processOf(*std::find_if(devices.begin(), devices.end(), [&](int64_t device) { return isOnThisHost(device); }));
  if (leader == options.process) {
    control = Segment::create("spmd-control", ControlPage::bytesFor(count));
    ControlPage::initialize(*control, count);
    {
      std::lock_guard lock(mutex);
      control = controls.try_emplace(key, control).first->second;
    }
    if (hasPeers)
      options.store->set(controlKey(key, leader), "ready");
  } else {
    options.store->wait(controlKey(key, leader), {leader, timeout, firstRunOn(devices)});
    control = client->fetch(leader, {SegmentKind::Control, key, 0}, true, timeout);
  }
  ControlPage page(control);
  if (!page.isValid(count))
    throw Error("process " + std::to_string(leader) +
                " has another layout of the control page: do both run the same build?");
  auto made = std::make_shared<ShmCommunicator>(*this, devices, page);
  std::lock_guard lock(mutex);
  return communicators.try_emplace(devices, made).first->second;
}

std::vector<AwaitedCall> Backend::findAwaitedCalls() {
  std::vector<AwaitedCall> calls;
  std::lock_guard lock(mutex);
  for (auto &[devices, communicator] : communicators)
    communicator->addAwaitedCalls(calls);
  return calls;
}

void Backend::leave() {
  std::lock_guard lock(mutex);
  for (auto &[devices, communicator] : communicators)
    for (int64_t position = 0; position < static_cast<int64_t>(devices.size()); ++position)
      if (isLocal(devices[position]))
        getLocalDevice(devices[position]).enqueue([communicator = communicator, position] {
          communicator->getPage().slot(position).launchesEnded.store(hasLeft, std::memory_order_release);
        });
}

} // namespace shm

std::unique_ptr<CollectiveBackend> createShmCollectives(ShmOptions options) {
  return std::make_unique<shm::Backend>(std::move(options));
}

} // namespace spmd
