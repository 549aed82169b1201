//===- NetBackend.cpp - collectives between hosts -------------------------===//

#include "runtime/collective/net/NetCommunicator.h"

namespace spmd {
namespace net {
namespace {

class NetBackend final : public CollectiveBackend {
public:
  NetBackend(ShmOptions options, NetworkAddresses place)
      : backend(options), network(
                              options.process, *options.store, std::move(place),
                              [this](const Question &question) { return answer(question); },
                              [health = options.health](const std::string &why) {
                                if (health)
                                  health->reportFailure(why);
                              }) {}

  std::shared_ptr<Communicator> communicator(const std::vector<int64_t> &devices,
                                             std::chrono::milliseconds timeout) override {
    std::shared_ptr<shm::ShmCommunicator> local = backend.onThisHost(devices, timeout);
    bool isWithinHost = true;
    for (int64_t device : devices)
      isWithinHost &= backend.isOnThisHost(device);
    if (isWithinHost)
      return local;
    auto made = std::make_shared<NetCommunicator>(backend, network, std::move(local));
    std::lock_guard lock(mutex);
    std::shared_ptr<NetCommunicator> &known = communicators[made->getKey()];
    if (!known || known->getDevices() != devices)
      known = made;
    return known;
  }

  std::vector<AwaitedCall> findAwaitedCalls() override {
    std::vector<AwaitedCall> calls = backend.findAwaitedCalls();
    std::lock_guard lock(mutex);
    for (auto &[key, communicator] : communicators)
      communicator->addAwaitedCalls(calls);
    return calls;
  }

  void leave() override { backend.leave(); }

private:
  Answer answer(const Question &question) {
    std::shared_ptr<NetCommunicator> asked;
    {
      std::lock_guard lock(mutex);
      auto found = communicators.find(question.communicator);
      if (found == communicators.end())
        return {};
      asked = found->second;
    }
    return asked->answer(question);
  }

  shm::Backend backend;
  std::mutex mutex;
  std::map<uint64_t, std::shared_ptr<NetCommunicator>> communicators;
  Network network; ///< The last member: its thread uses the others.
};

} // namespace
} // namespace net

std::unique_ptr<CollectiveBackend> createCollectives(ShmOptions options, NetworkAddresses network) {
  bool isOneHost = true;
  for (const DeviceLocation &place : options.places)
    isOneHost &= place.host == options.places[0].host;
  if (isOneHost || !options.store)
    return createShmCollectives(std::move(options));
  return std::make_unique<net::NetBackend>(std::move(options), std::move(network));
}

} // namespace spmd
