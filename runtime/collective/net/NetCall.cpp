//===- NetCall.cpp - one prepared collective between hosts ----------------===//

#include "runtime/collective/net/NetCall.h"
#include "runtime/device/Allocation.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

namespace spmd::net {

NetCall::NetCall(NetEndpoint &endpoint, const MeshShape &mesh, const CollectiveDesc &desc, Movement given,
                 const CallSite &site)
    : endpoint(endpoint), movement(std::move(given)),
      hosts(static_cast<int64_t>(movement.group.size()), movement.self,
            [&](int64_t member) { return endpoint.getCommunicator().hostOf(movement.group[member]); }),
      isStaged(movement.operandBytes <= shm::stagedBytes),
      isReceiver(site.onlyReceiver < 0 || site.onlyReceiver == endpoint.getPosition()),
      elementBytes(byteSize(desc.dtype)), isAsync(site.isAsync),
      loop(&endpoint.getLocal().getDevice().getParallelFor()) {
  std::vector<int64_t> here;
  for (int64_t member : hosts.hosts[hosts.selfHost()])
    here.push_back(movement.group[member]);
  ready = &endpoint.getLocal().groupFor(here, shm::BarrierUse::NetReady);
  meeting = &endpoint.getLocal().groupFor(here, shm::BarrierUse::NetMeet);
  text = shm::describeCall(desc, site);
  fingerprint = shm::fingerprintCall(mesh, desc, site);
}

NetCall::~NetCall() {
  if (isInFlight)
    endpoint.getQueue().settle();
  endpoint.getLocal().forget(*this);
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

Outgoing &NetCall::addOutgoing(int64_t member, uint32_t phase) {
  Outgoing &message = outgoing.emplace_back();
  message.member = member;
  message.header.phase = phase;
  message.header.fingerprint = fingerprint;
  putText(message.header.text, text);
  return message;
}

Incoming &NetCall::addIncoming(int64_t member, uint32_t phase) {
  Incoming &message = incoming.emplace_back();
  message.member = member;
  message.phase = phase;
  return message;
}

/// Connects at the first call, when all peers are sure to be there soon.
void NetCall::connect() {
  std::map<int64_t, Channel *> known;
  auto channelTo = [&](int64_t member) {
    auto [entry, isNew] = known.try_emplace(member, nullptr);
    if (isNew) {
      entry->second = &endpoint.channelTo(*this, movement.group[member]);
      channels.push_back(entry->second);
    }
    return entry->second;
  };
  for (Outgoing &message : outgoing)
    message.channel = channelTo(message.member);
  for (Incoming &message : incoming)
    message.channel = channelTo(message.member);
}

void NetCall::send(Outgoing &message, const char *data, size_t bytes, size_t ready) {
  message.header.sequence = sequence;
  message.header.launch = endpoint.getLocal().getLaunch();
  message.header.bytes = message.bytes = bytes;
  message.data = data;
  message.ready = ready;
  message.sent = 0;
  message.channel->send(message);
}

void NetCall::receive(Incoming &message, char *data, size_t bytes) {
  message.data = data;
  message.bytes = bytes;
  message.received = 0;
  message.channel->receive(message);
}

void NetCall::drain() {
  auto isIdle = [](Channel *channel) { return channel->isIdle(); };
  while (!std::all_of(channels.begin(), channels.end(), isIdle))
    endpoint.pump(*this, true);
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

std::pair<MemoryLocation, char *> NetCall::locate(const char *data, int64_t bytes, DeviceBufferRef &staging) {
  CpuMemory &memory = endpoint.getLocal().getDevice().getMemory();
  if (data)
    if (auto found = memory.locate(data, bytes))
      return {*found, const_cast<char *>(data)};
  if (!staging)
    staging = allocateFor(endpoint.getLocal().getDevice(), bytes, [&] { return describe(); });
  return {*memory.locate(staging->data(), bytes), static_cast<char *>(staging->data())};
}

void NetCall::start(const void *operandData, void *resultData) {
  operand = static_cast<const char *>(operandData);
  result = static_cast<char *>(resultData);
  shm::ShmEndpoint &local = endpoint.getLocal();
  shm::Record &record = local.nextRecord(*this, sequence);
  isInFlight = true;
  record.fingerprint.store(fingerprint, std::memory_order_relaxed);
  shm::setText(record, text);
  if (isStaged) {
    if (movement.operandBytes > 0)
      std::memcpy(record.staged, operand, movement.operandBytes);
  } else {
    auto [location, data] = locate(operand, movement.operandBytes, operandStaging);
    if (data != operand)
      std::memcpy(data, operand, movement.operandBytes);
    record.operand = location;
  }
  local.announce(*this, *ready, sequence);
  readyBarrier = ready->nextBarrier++;
  local.arrive(*ready, readyBarrier);
  endpoint.getQueue().add(*this, isAsync);
}

void NetCall::finish() {
  if (!isInFlight)
    return;
  endpoint.getQueue().wait(*this, endpoint.getLocal().getDevice().getParallelFor());
  isInFlight = false;
}

void NetCall::run(ParallelFor &given) {
  begin = Clock::now();
  loop = &given;
  shm::ShmEndpoint &local = endpoint.getLocal();
  local.wait(*ready, readyBarrier, *this, sequence);
  local.checkMembers(*ready, *this, sequence);
  if (channels.empty())
    connect();
  transfer();
  if (isReceiver)
    for (const Box &box : movement.zeros)
      zeroBox(box, result);
  local.markConsumed(sequence);
}

void NetCall::meet() {
  uint64_t barrier = meeting->nextBarrier++;
  endpoint.getLocal().arrive(*meeting, barrier);
  endpoint.getLocal().wait(*meeting, barrier, *this, sequence);
}

const char *NetCall::operandOf(int64_t member) {
  if (isStaged)
    return recordOf(member).staged;
  if (member == movement.self)
    return operand;
  return addressOf(member, recordOf(member).operand);
}

void NetCall::placeResult() {
  std::tie(recordOf(movement.self).slice, base) =
      locate(isReceiver ? result : nullptr, movement.resultBytes, resultStaging);
}

void NetCall::copyInParallel(const Box &box, const char *source, char *target) {
  constexpr int64_t parallelBytes = 256 << 10;
  int64_t runs = box.runCount();
  if (parallelFor().getThreadCount() == 1 || runs * box.runBytes < parallelBytes) {
    copyBox(box, source, target, 0, runs);
  } else if (runs > 1) {
    parallelFor().run(runs, std::max<int64_t>(1, (64 << 10) / box.runBytes),
                      [&](int64_t first, int64_t last, int) { copyBox(box, source, target, first, last); });
  } else {
    parallelFor().run(box.runBytes, 64 << 10, [&](int64_t first, int64_t last, int) {
      std::memcpy(target + box.targetOffset + first, source + box.sourceOffset + first, last - first);
    });
  }
}

std::unique_ptr<CollectiveCall> prepareNetCall(NetEndpoint &endpoint, const MeshShape &mesh, const CollectiveDesc &desc,
                                               Movement movement, const CallSite &site) {
  if (desc.kind == CollectiveKind::AllReduce && movement.operandBytes <= shm::stagedBytes)
    return makeSmallAllReduce(endpoint, mesh, desc, std::move(movement), site);
  if (desc.kind == CollectiveKind::AllReduce || desc.kind == CollectiveKind::ReduceScatter)
    return makeSlicedReduce(endpoint, mesh, desc, std::move(movement), site);
  return makeNetMove(endpoint, mesh, desc, std::move(movement), site);
}

} // namespace spmd::net
