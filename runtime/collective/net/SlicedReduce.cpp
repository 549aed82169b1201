//===- SlicedReduce.cpp - large reductions between hosts ------------------===//
//
// Each member owns a region of the elements: its slice of an all_reduce, its result of a reduce_scatter. For a region
// owned on another host, a deputy on each host reduces its host's subtrees and sends them; the owner finishes the tree.
// An all_reduce then sends each reduced slice back to the deputies, directly into their results, from which the other
// members of the host copy it. Regions are processed in chunks, so that computing and sending overlap.
//===----------------------------------------------------------------------===//

#include "runtime/collective/Reduce.h"
#include "runtime/collective/net/NetCall.h"

#include <algorithm>
#include <cstring>

namespace spmd::net {
namespace {

/// Elements of a chunk of a region; its operands and partial results stay in the L2 cache.
constexpr int64_t chunkElements = 16384;

/// Calls visit(source, target, packed, bytes) for bytes [begin, end) of a box in packed order.
template <typename Visit> void forEachPart(const Box &box, int64_t begin, int64_t end, const Visit &visit) {
  if (begin >= end)
    return;
  int64_t first = begin / box.runBytes, last = (end + box.runBytes - 1) / box.runBytes, at = first * box.runBytes;
  forEachRun(box, first, last, [&](int64_t source, int64_t target) {
    int64_t from = std::max(begin - at, int64_t(0)), to = std::min(end - at, box.runBytes);
    visit(source + from, target + from, at + from - begin, to - from);
    at += box.runBytes;
  });
}

class SlicedReduce final : public NetCall {
public:
  SlicedReduce(NetEndpoint &endpoint, const MeshShape &mesh, const CollectiveDesc &desc, Movement given,
               const CallSite &site)
      : NetCall(endpoint, mesh, desc, std::move(given), site), isAllReduce(desc.kind == CollectiveKind::AllReduce),
        subtrees(splitByHost(hosts)), reducer(desc.dtype, desc.reduction, hosts.size()),
        threads(parallelFor().getThreadCount()), sources(threads * hosts.size()), known(threads * hosts.size()) {
    reducer.setThreads(threads);
    for (int64_t member = 0; member < hosts.size(); ++member)
      regions.push_back(regionOf(mesh, desc, member));
    for (int64_t owner = 0; owner < hosts.size(); ++owner)
      if (!hosts.isHere(owner) && hosts.deputy(hosts.selfHost(), owner) == movement.self)
        addContribution(owner);
    for (int64_t host = 0; host < hosts.hostCount(); ++host)
      if (host != hosts.selfHost())
        addHostContribution(host);
    endpoint.reserve(receivedBytes, sentBytes);
    if (regions[movement.self].isPacked() && !isAllReduce)
      scratch.resize(chunkElements * elementBytes);
    bool anyPacked = std::any_of(regions.begin(), regions.end(), [](const Region &each) { return each.isPacked(); });
    if (anyPacked)
      packed.resize(hosts.hosts[hosts.selfHost()].size() * chunkElements * elementBytes);
  }

private:
  struct Region {
    Box box;
    int64_t elements = 0;
    bool isPacked() const { return !box.counts.empty(); }
  };
  /// The subtrees that this device reduces for an owner on another host, and the slice that it gets back.
  struct Contribution {
    int64_t owner = 0;
    Outgoing *message = nullptr;
    Incoming *slice = nullptr; ///< all_reduce only.
    int64_t offset = 0;        ///< Offset in reserved memory.
    int64_t bytes = 0;
    bool isDirect = false; ///< The operand itself is sent.
  };
  /// The subtrees that another host sends for this device's region, and the destination of the result.
  struct HostContribution {
    int64_t host = 0;
    Incoming *message = nullptr;
    Outgoing *slice = nullptr; ///< all_reduce only.
    int64_t offset = 0, bytes = 0;
  };

  int64_t sliceStart(int64_t member) const {
    int64_t lines = (movement.operandBytes + 63) / 64, perMember = (lines + hosts.size() - 1) / hosts.size();
    return std::min(member * perMember * 64, movement.operandBytes);
  }

  Region regionOf(const MeshShape &mesh, const CollectiveDesc &desc, int64_t member) const {
    Region region;
    if (isAllReduce) {
      region.box.sourceOffset = region.box.targetOffset = sliceStart(member);
      region.box.runBytes = sliceStart(member + 1) - sliceStart(member);
    } else {
      Movement theirs = computeMovement(mesh, desc, movement.group[member]);
      if (!theirs.boxes.empty())
        region.box = theirs.boxes[0];
    }
    region.elements = region.box.runCount() * region.box.runBytes / elementBytes;
    return region;
  }

  /// Bytes that a host sends of a chunk: its subtrees one after the other, each rounded up so that the elements of the
  /// next one are aligned.
  int64_t bytesOf(const HostSubtree &subtree, int64_t elements) const {
    return (elements * (subtree.size == 1 ? elementBytes : reducer.accumulatedBytes()) + 7) / 8 * 8;
  }
  int64_t bytesFrom(int64_t host, int64_t elements) const {
    int64_t bytes = 0;
    for (const HostSubtree &subtree : subtrees)
      if (subtree.host == host)
        bytes += bytesOf(subtree, elements);
    return bytes;
  }
  int64_t allBytesFrom(int64_t host, int64_t elements) const {
    if (isSingleLeaf(host))
      return elements * elementBytes;
    return elements / chunkElements * bytesFrom(host, chunkElements) + bytesFrom(host, elements % chunkElements);
  }
  bool isSingleLeaf(int64_t host) const { return hosts.hosts[host].size() == 1; }
  int64_t bytesBefore(int64_t host, int64_t element) const {
    return element / chunkElements * bytesFrom(host, chunkElements);
  }

  void addContribution(int64_t owner) {
    Contribution &contribution = contributions.emplace_back();
    contribution.owner = owner;
    contribution.message = &addOutgoing(owner, 0);
    contribution.bytes = allBytesFrom(hosts.selfHost(), regions[owner].elements);
    contribution.isDirect = isSingleLeaf(hosts.selfHost()) && !regions[owner].isPacked();
    if (!contribution.isDirect) {
      contribution.offset = sentBytes;
      sentBytes += (contribution.bytes + 63) / 64 * 64;
    }
    if (isAllReduce)
      contribution.slice = &addIncoming(owner, 1);
  }

  void addHostContribution(int64_t host) {
    HostContribution &hostContribution = hostContributions.emplace_back();
    hostContribution.host = host;
    int64_t deputy = hosts.deputy(host, movement.self);
    hostContribution.message = &addIncoming(deputy, 0);
    hostContribution.bytes = allBytesFrom(host, regions[movement.self].elements);
    hostContribution.offset = receivedBytes;
    receivedBytes += (hostContribution.bytes + 63) / 64 * 64;
    if (isAllReduce)
      hostContribution.slice = &addOutgoing(deputy, 1);
  }

  void transfer() override {
    base = result;
    if (isAllReduce || !isReceiver)
      placeResult();
    for (int64_t member : hosts.hosts[hosts.selfHost()])
      sources[member] = operandOf(member);
    const Region &mine = regions[movement.self];
    for (HostContribution &hostContribution : hostContributions)
      receive(*hostContribution.message, receivedAt(hostContribution), hostContribution.bytes);
    int64_t longest = 0;
    for (Contribution &contribution : contributions) {
      const Region &region = regions[contribution.owner];
      if (contribution.isDirect) {
        const char *data = operandOf(hosts.hosts[hosts.selfHost()][0]) + region.box.sourceOffset;
        send(*contribution.message, data, contribution.bytes, contribution.bytes);
      } else {
        send(*contribution.message, endpoint.getSent() + contribution.offset, contribution.bytes, 0);
        longest = std::max(longest, region.elements);
      }
      if (contribution.slice)
        receive(*contribution.slice, base + region.box.targetOffset, region.elements * elementBytes);
    }
    for (HostContribution &hostContribution : hostContributions)
      if (hostContribution.slice)
        send(*hostContribution.slice, base + mine.box.targetOffset, mine.elements * elementBytes, 0);
    // Serves all owners in turn, so that none waits for the rest.
    for (int64_t begin = 0; begin < longest; begin += chunkElements) {
      for (Contribution &contribution : contributions)
        if (!contribution.isDirect && begin < regions[contribution.owner].elements)
          contribute(contribution, begin);
      endpoint.pump(*this, false);
    }
    for (int64_t begin = 0; begin < mine.elements; begin += chunkElements)
      reduceChunk(mine, begin, std::min(begin + chunkElements, mine.elements));
    drain();
    if (isAllReduce)
      copySlices();
    meet(); // After the meeting no member reads this device's memory any more.
  }

  char *receivedAt(const HostContribution &hostContribution) {
    return endpoint.getReceived() + hostContribution.offset;
  }

  /// Returns the operands of this host's members at elements of a region, packed if the region is not contiguous.
  void findSources(const Region &region, int64_t begin, int64_t end, std::vector<const char *> &found) {
    found.clear();
    char *place = packed.data();
    for (int64_t member : hosts.hosts[hosts.selfHost()]) {
      const char *source = operandOf(member);
      if (!region.isPacked()) {
        found.push_back(source + region.box.sourceOffset + begin * elementBytes);
        continue;
      }
      forEachPart(
          region.box, begin * elementBytes, end * elementBytes,
          [&](int64_t from, int64_t, int64_t at, int64_t bytes) { std::memcpy(place + at, source + from, bytes); });
      found.push_back(place);
      place += chunkElements * elementBytes;
    }
  }

  const void **sourcesOf(int thread, int64_t offset) {
    const void **pointers = sources.data() + thread * hosts.size();
    size_t next = 0;
    for (int64_t member : hosts.hosts[hosts.selfHost()])
      pointers[member] = local[next++] + offset * elementBytes;
    return pointers;
  }

  void contribute(Contribution &contribution, int64_t begin) {
    const Region &region = regions[contribution.owner];
    int64_t end = std::min(begin + chunkElements, region.elements), count = end - begin;
    findSources(region, begin, end, local);
    char *chunk = endpoint.getSent() + contribution.offset +
                  (isSingleLeaf(hosts.selfHost()) ? begin * elementBytes : bytesBefore(hosts.selfHost(), begin));
    char *place = chunk;
    for (const HostSubtree &subtree : subtrees) {
      if (subtree.host != hosts.selfHost())
        continue;
      if (subtree.size == 1)
        std::memcpy(place, sourcesOf(0, 0)[subtree.first], count * elementBytes);
      else
        parallelFor().run(count, 4096, [&](int64_t from, int64_t to, int thread) {
          reducer.reduceSubtree(sourcesOf(thread, from), subtree.first, subtree.size,
                                place + from * reducer.accumulatedBytes(), to - from, thread);
        });
      place += bytesOf(subtree, count);
    }
    bool isLast = end == region.elements;
    contribution.message->ready =
        isLast ? contribution.bytes : static_cast<size_t>(place - (endpoint.getSent() + contribution.offset));
    if (isSingleLeaf(hosts.selfHost()))
      contribution.message->ready = end * elementBytes;
  }

  void reduceChunk(const Region &region, int64_t begin, int64_t end) {
    int64_t count = end - begin;
    for (HostContribution &hostContribution : hostContributions) {
      size_t needed = isSingleLeaf(hostContribution.host)
                          ? end * elementBytes
                          : bytesBefore(hostContribution.host, begin) + bytesFrom(hostContribution.host, count);
      while (hostContribution.message->available() < needed)
        endpoint.pump(*this, true);
    }
    findSources(region, begin, end, local);
    char *target = region.isPacked() ? scratch.data() : base + region.box.targetOffset + begin * elementBytes;
    parallelFor().run(count, 4096, [&](int64_t from, int64_t to, int thread) {
      const void **pointers = sourcesOf(thread, from);
      Subtree *given = known.data() + thread * hosts.size();
      for (HostContribution &hostContribution : hostContributions) {
        const char *place =
            receivedAt(hostContribution) +
            (isSingleLeaf(hostContribution.host) ? begin * elementBytes : bytesBefore(hostContribution.host, begin));
        for (const HostSubtree &subtree : subtrees) {
          if (subtree.host != hostContribution.host)
            continue;
          if (subtree.size == 1)
            pointers[subtree.first] = place + from * elementBytes;
          else
            given[subtree.first] = {place + from * reducer.accumulatedBytes(), subtree.size};
          place += bytesOf(subtree, count);
        }
      }
      reducer.reduceWith(pointers, given, target + from * elementBytes, to - from, thread);
    });
    if (region.isPacked()) {
      if (isReceiver)
        forEachPart(region.box, begin * elementBytes, end * elementBytes,
                    [&](int64_t, int64_t to, int64_t at, int64_t bytes) {
                      std::memcpy(result + to, scratch.data() + at, bytes);
                    });
      return;
    }
    for (HostContribution &hostContribution : hostContributions)
      if (hostContribution.slice)
        hostContribution.slice->ready = end * elementBytes;
    endpoint.pump(*this, false);
  }

  /// all_reduce: copies the slices that the other members of this host have reduced or received.
  void copySlices() {
    meet();
    if (!isReceiver)
      return;
    for (int64_t turn = 0; turn < hosts.size(); ++turn) {
      int64_t owner = (movement.self + turn) % hosts.size();
      int64_t holder = hosts.isHere(owner) ? owner : hosts.deputy(hosts.selfHost(), owner);
      const char *from = holder == movement.self ? base : addressOf(holder, recordOf(holder).slice);
      Box box = regions[owner].box;
      box.sourceOffset = box.targetOffset;
      if (from != result && box.runBytes > 0)
        copyInParallel(box, from, result);
    }
  }

  const bool isAllReduce;
  const std::vector<HostSubtree> subtrees;
  TreeReducer reducer;
  const int threads;
  std::vector<Region> regions; ///< By member.
  std::vector<Contribution> contributions;
  std::vector<HostContribution> hostContributions;
  int64_t sentBytes = 0, receivedBytes = 0;
  std::vector<char> scratch, packed;
  std::vector<const char *> local; ///< findSources' result, this host's members in order.
  std::vector<const void *> sources;
  std::vector<Subtree> known;
};

} // namespace

std::unique_ptr<NetCall> makeSlicedReduce(NetEndpoint &endpoint, const MeshShape &mesh, const CollectiveDesc &desc,
                                          Movement movement, const CallSite &site) {
  return std::make_unique<SlicedReduce>(endpoint, mesh, desc, std::move(movement), site);
}

} // namespace spmd::net
