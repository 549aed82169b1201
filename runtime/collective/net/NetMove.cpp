//===- NetMove.cpp - collectives without a reduction ----------------------===//
//
// all_gather, all_to_all, collective_permute, collective_broadcast and exchange between hosts. Each device sends to
// each other host the boxes that its members need; a box that several members need is sent once. One of them, the
// carrier, receives it: directly into its result if the box is contiguous there, else into memory from which the
// carrier and the others copy.
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/net/NetCall.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <tuple>

namespace spmd::net {
namespace {

/// Identifies a box of one source by its source side.
using SourceKey = std::tuple<int64_t, std::vector<int64_t>, std::vector<int64_t>, int64_t>;

SourceKey keyOf(const Box &box) { return {box.sourceOffset, box.counts, box.sourceStrides, box.runBytes}; }

/// Returns the same runs, packed one after the other on one side.
Box packedAs(const Box &box, int64_t offset, bool isTarget) {
  Box result = box;
  std::vector<int64_t> strides(box.counts.size());
  int64_t stride = box.runBytes;
  for (size_t d = strides.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= box.counts[d];
  }
  (isTarget ? result.targetOffset : result.sourceOffset) = offset;
  (isTarget ? result.targetStrides : result.sourceStrides) = strides;
  return result;
}

int64_t bytesOf(const Box &box) { return box.runCount() * box.runBytes; }
bool isDense(const Box &box, bool onTarget) {
  Box packed = packedAs(box, onTarget ? box.targetOffset : box.sourceOffset, onTarget);
  return onTarget ? packed.targetStrides == box.targetStrides : packed.sourceStrides == box.sourceStrides;
}

class NetMove final : public NetCall {
public:
  NetMove(NetEndpoint &endpoint, const MeshShape &mesh, const CollectiveDesc &desc, Movement given,
          const CallSite &site)
      : NetCall(endpoint, mesh, desc, std::move(given), site), self(movement.self) {
    plan(mesh, desc, site);
    endpoint.reserve(receivedBytes, sentBytes);
  }

private:
  /// A box that is sent, and the members of the receiving host that need it.
  struct Parcel {
    Box box;
    std::vector<std::pair<int64_t, Box>> consumers; ///< Each with the box in terms of its own result.
    int64_t carrier(const HostGroup &hosts, int64_t source) const {
      return consumers[hosts.rankOf[source] % consumers.size()].first;
    }
  };
  /// The boxes from one device to another host, or from another host's device to this host, in the order in which they
  /// are sent.
  using Parcels = std::vector<Parcel>;

  struct Sending {
    Outgoing *message = nullptr;
    std::vector<Box> boxes; ///< Copied from the operand to reserved memory before the send; none: sent directly.
    int64_t offset = 0;     ///< Offset in reserved memory, or in the operand.
    int64_t bytes = 0;
  };
  struct Receiving {
    Incoming *message = nullptr;
    bool isInPlace = false;
    int64_t offset = 0; ///< Offset in the result, or in reserved memory.
    int64_t bytes = 0;
  };
  /// A copy that this device makes when all data has arrived.
  struct Copy {
    Box box;
    int64_t from = 0; ///< A member of this host.
    enum { Operand, Result, Received } where = Operand;
  };

  /// Adds the boxes that `receiver` needs to the parcels of their sources.
  static void addNeeds(std::map<int64_t, Parcels> &bySource, int64_t receiver, const std::vector<Box> &boxes) {
    for (const Box &box : boxes) {
      Parcels &parcels = bySource[box.source];
      auto same = std::find_if(parcels.begin(), parcels.end(),
                               [&](const Parcel &parcel) { return keyOf(parcel.box) == keyOf(box); });
      if (same == parcels.end())
        same = parcels.insert(parcels.end(), {box, {}});
      same->consumers.push_back({receiver, box});
    }
  }

  void plan(const MeshShape &mesh, const CollectiveDesc &desc, const CallSite &site) {
    const int64_t here = hosts.selfHost();
    // All data that leaves or enters this host: `arriving` by source, `leaving` by host and source.
    std::map<int64_t, Parcels> arriving;
    std::map<int64_t, std::map<int64_t, Parcels>> leaving;
    for (int64_t member = 0; member < hosts.size(); ++member) {
      if (site.onlyReceiver >= 0 && movement.group[member] != site.onlyReceiver)
        continue;
      bool isHere = hosts.isHere(member);
      Movement theirs = computeMovement(mesh, desc, movement.group[member],
                                        [&](int64_t source) { return hosts.isHere(source) != isHere; });
      if (isHere)
        addNeeds(arriving, member, theirs.boxes);
      else
        addNeeds(leaving[hosts.hostOf[member]], member, theirs.boxes);
    }
    std::set<int64_t> hostsHeard, hostsTold;
    for (auto &[source, parcels] : arriving) {
      hostsHeard.insert(hosts.hostOf[source]);
      planArrival(source, parcels);
    }
    for (auto &[host, bySource] : leaving) {
      if (!bySource.empty())
        hostsTold.insert(host);
      if (auto mine = bySource.find(self); mine != bySource.end())
        planDeparture(mine->second);
    }
    // Hosts without data for one another exchange empty messages, so that each knows that the other is in this call.
    for (int64_t host = 0; host < hosts.hostCount() && self == hosts.leader(here); ++host) {
      if (host != here && !hostsTold.count(host))
        sendings.push_back({&addOutgoing(hosts.leader(host), 1), {}, 0, 0});
      if (host != here && !hostsHeard.count(host))
        receivings.push_back({&addIncoming(hosts.leader(host), 1), false, 0, 0});
    }
    if (isReceiver)
      for (const Box &box : movement.boxes)
        if (hosts.isHere(box.source))
          copies.push_back({box, box.source, Copy::Operand});
    // Each member begins with another source, so that they do not all read the same memory at a time.
    std::sort(copies.begin(), copies.end(), [&](const Copy &a, const Copy &b) {
      auto turn = [&](const Copy &copy) { return (copy.box.source - self + hosts.size()) % hosts.size(); };
      return std::pair(turn(a), a.box.targetOffset) < std::pair(turn(b), b.box.targetOffset);
    });
  }

  void planDeparture(const Parcels &parcels) {
    std::map<int64_t, std::vector<Box>> byCarrier;
    for (const Parcel &parcel : parcels)
      byCarrier[parcel.carrier(hosts, self)].push_back(parcel.box);
    for (auto &[carrier, boxes] : byCarrier) {
      Sending sending{&addOutgoing(carrier, 0), {}, 0, 0};
      if (boxes.size() == 1 && isDense(boxes[0], false)) {
        sending.offset = boxes[0].sourceOffset;
        sending.bytes = bytesOf(boxes[0]);
      } else {
        sending.offset = sentBytes;
        for (const Box &box : boxes) {
          sending.boxes.push_back(packedAs(box, sending.bytes, true));
          sending.bytes += bytesOf(box);
        }
        sentBytes += (sending.bytes + 63) / 64 * 64;
      }
      sendings.push_back(std::move(sending));
    }
  }

  /// Plans the data from one device of another host: carriers receive it, and members that need it copy it.
  void planArrival(int64_t source, const Parcels &parcels) {
    std::map<int64_t, std::vector<const Parcel *>> byCarrier;
    for (const Parcel &parcel : parcels)
      byCarrier[parcel.carrier(hosts, source)].push_back(&parcel);
    for (auto &[carrier, carried] : byCarrier) {
      // All members of the host compute the same layout of each carrier's memory.
      int64_t &layout = layouts[carrier];
      auto ownView = [&, carrier = carrier](const Parcel &parcel) {
        return std::find_if(parcel.consumers.begin(), parcel.consumers.end(),
                            [&](const auto &consumer) { return consumer.first == carrier; })
            ->second;
      };
      Box first = ownView(*carried[0]);
      bool isInPlace = carried.size() == 1 && isDense(first, true);
      int64_t bytes = 0;
      for (const Parcel *parcel : carried) {
        for (const auto &[consumer, box] : parcel->consumers) {
          if (consumer != self)
            continue;
          if (!isInPlace)
            copies.push_back({packedAs(box, layout + bytes, false), carrier, Copy::Received});
          else
            copies.push_back({packedAs(box, first.targetOffset, false), carrier, Copy::Result});
        }
        bytes += bytesOf(parcel->box);
      }
      if (carrier == self)
        receivings.push_back({&addIncoming(source, 0), isInPlace, isInPlace ? first.targetOffset : layout, bytes});
      if (!isInPlace)
        layout += (bytes + 63) / 64 * 64;
    }
    receivedBytes = layouts[self];
  }

  void transfer() override {
    if (std::any_of(receivings.begin(), receivings.end(), [](const Receiving &each) { return each.isInPlace; }))
      placeResult();
    if (receivedBytes > 0)
      recordOf(self).received =
          *endpoint.getLocal().getDevice().getMemory().locate(endpoint.getReceived(), receivedBytes);
    for (Receiving &receiving : receivings)
      receive(*receiving.message, (receiving.isInPlace ? base : endpoint.getReceived()) + receiving.offset,
              receiving.bytes);
    for (Sending &sending : sendings) {
      if (sending.boxes.empty()) { // Sent directly from the operand.
        send(*sending.message, operand + sending.offset, sending.bytes, sending.bytes);
      } else {
        char *packed = endpoint.getSent() + sending.offset;
        for (const Box &box : sending.boxes)
          copyInParallel(box, operand, packed);
        send(*sending.message, packed, sending.bytes, sending.bytes);
      }
      endpoint.pump(*this, false);
    }
    // Data of this host is copied while the network transfers.
    for (const Copy &copy : copies)
      if (copy.where == Copy::Operand) {
        copyInParallel(copy.box, operandOf(copy.from), result);
        endpoint.pump(*this, false);
      }
    drain();
    meet();
    for (const Copy &copy : copies) {
      if (copy.where == Copy::Operand)
        continue;
      bool isOwn = copy.from == self;
      const char *from = nullptr;
      if (copy.where == Copy::Result)
        from = isOwn ? base : addressOf(copy.from, recordOf(copy.from).slice);
      else
        from = isOwn ? endpoint.getReceived() : addressOf(copy.from, recordOf(copy.from).received);
      // Skips data that was received in place; other boxes of this device may hold the same elements again.
      if (from + copy.box.sourceOffset != result + copy.box.targetOffset)
        copyInParallel(copy.box, from, result);
    }
    meet(); // After the meeting no member reads this device's memory any more.
  }

  const int64_t self;
  std::vector<Sending> sendings;
  std::vector<Receiving> receivings;
  std::vector<Copy> copies;
  std::map<int64_t, int64_t> layouts; ///< Bytes used so far, by carrier.
  int64_t sentBytes = 0, receivedBytes = 0;
};

} // namespace

std::unique_ptr<NetCall> makeNetMove(NetEndpoint &endpoint, const MeshShape &mesh, const CollectiveDesc &desc,
                                     Movement movement, const CallSite &site) {
  return std::make_unique<NetMove>(endpoint, mesh, desc, std::move(movement), site);
}

} // namespace spmd::net
