//===- NetMove.cpp - collectives between hosts that move and do not reduce ===//
//
// all_gather, all_to_all, collective_permute, collective_broadcast and exchange: each device sends to each other host
// what its members need, a box that several need only once. One of them, the carrier, receives it: into its result
// where it lies there in one piece, else into memory from which it and the others copy.
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

/// What tells two boxes of one source apart on its side.
using SourceKey = std::tuple<int64_t, std::vector<int64_t>, std::vector<int64_t>, int64_t>;

SourceKey keyOf(const Box &box) { return {box.sourceOffset, box.counts, box.sourceStrides, box.runBytes}; }

/// The same runs, one after the other, on one side.
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
  /// A box that travels, and who on the receiving host needs it.
  struct Parcel {
    Box box;
    std::vector<std::pair<int64_t, Box>> needers; ///< With the box as each sees it.
    int64_t carrier(const HostGroup &hosts, int64_t source) const {
      return needers[hosts.rankOf[source] % needers.size()].first;
    }
  };
  /// From one device to another host, or from another host's device to this one; in the order in which they travel.
  using Parcels = std::vector<Parcel>;

  struct Sending {
    Outgoing *message = nullptr;
    std::vector<Box> boxes; ///< From the operand into what the endpoint has reserved; none: direct.
    int64_t offset = 0;     ///< There, or in the operand.
    int64_t bytes = 0;
  };
  struct Receiving {
    Incoming *message = nullptr;
    bool isInPlace = false;
    int64_t offset = 0; ///< In the result, or in what the endpoint has reserved.
    int64_t bytes = 0;
  };
  /// What this device copies when all is there.
  struct Copy {
    Box box;
    int64_t from = 0; ///< A member of this host.
    enum { Operand, Result, Received } where = Operand;
  };

  /// Puts what `receiver` needs into the parcels of its source.
  static void addNeeds(std::map<int64_t, Parcels> &bySource, int64_t receiver, const std::vector<Box> &boxes) {
    for (const Box &box : boxes) {
      Parcels &parcels = bySource[box.source];
      auto same = std::find_if(parcels.begin(), parcels.end(),
                               [&](const Parcel &parcel) { return keyOf(parcel.box) == keyOf(box); });
      if (same == parcels.end())
        same = parcels.insert(parcels.end(), {box, {}});
      same->needers.push_back({receiver, box});
    }
  }

  void plan(const MeshShape &mesh, const CollectiveDesc &desc, const CallSite &site) {
    const int64_t here = hosts.selfHost();
    // All that crosses the border of this host: to it, by source; from it, by host and source.
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
    // Hosts that have nothing to send one another say so.
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
    // Each begins with another source, so that they do not all read one at a time.
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

  /// What comes from one device of another host: received by carriers, copied by who needs it.
  void planArrival(int64_t source, const Parcels &parcels) {
    std::map<int64_t, std::vector<const Parcel *>> byCarrier;
    for (const Parcel &parcel : parcels)
      byCarrier[parcel.carrier(hosts, source)].push_back(&parcel);
    for (auto &[carrier, carried] : byCarrier) {
      // All members of the host lay out each carrier's memory alike.
      int64_t &layout = layouts[carrier];
      auto ownView = [&, carrier = carrier](const Parcel &parcel) {
        return std::find_if(parcel.needers.begin(), parcel.needers.end(),
                            [&](const auto &needer) { return needer.first == carrier; })
            ->second;
      };
      Box first = ownView(*carried[0]);
      bool isInPlace = carried.size() == 1 && isDense(first, true);
      int64_t bytes = 0;
      for (const Parcel *parcel : carried) {
        for (const auto &[needer, box] : parcel->needers) {
          if (needer != self)
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
      if (sending.boxes.empty()) { // As it lies.
        send(*sending.message, operand + sending.offset, sending.bytes, sending.bytes);
      } else {
        char *packed = endpoint.getSent() + sending.offset;
        for (const Box &box : sending.boxes)
          copyInParallel(box, operand, packed);
        send(*sending.message, packed, sending.bytes, sending.bytes);
      }
      endpoint.pump(*this, false);
    }
    // What is on this host already, while the network works.
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
      // What was received in its place; other boxes of this device may be the same elements again.
      if (from + copy.box.sourceOffset != result + copy.box.targetOffset)
        copyInParallel(copy.box, from, result);
    }
    meet(); // Nobody reads this device's memory any more.
  }

  const int64_t self;
  std::vector<Sending> sendings;
  std::vector<Receiving> receivings;
  std::vector<Copy> copies;
  std::map<int64_t, int64_t> layouts; ///< By carrier: bytes so far.
  int64_t sentBytes = 0, receivedBytes = 0;
};

} // namespace

std::unique_ptr<NetCall> makeNetMove(NetEndpoint &endpoint, const MeshShape &mesh, const CollectiveDesc &desc,
                                     Movement movement, const CallSite &site) {
  return std::make_unique<NetMove>(endpoint, mesh, desc, std::move(movement), site);
}

} // namespace spmd::net
