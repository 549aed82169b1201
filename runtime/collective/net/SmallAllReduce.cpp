//===- SmallAllReduce.cpp - all_reduce in one round -----------------------===//
//
// The first member of each host, its leader, reduces the subtrees of its host, sends them to all other leaders, and
// finishes the tree with the subtrees that they send: one message each way. The other members get the result from the
// leader's slot in the control page, where it replaces the leader's operand, which no other member reads.
//
//===----------------------------------------------------------------------===//

#include "runtime/collective/Reduce.h"
#include "runtime/collective/net/NetCall.h"

#include <cstring>

namespace spmd::net {
namespace {

class SmallAllReduce final : public NetCall {
public:
  SmallAllReduce(NetEndpoint &endpoint, const MeshShape &mesh, const CollectiveDesc &desc, Movement movement,
                 const CallSite &site)
      : NetCall(endpoint, mesh, desc, std::move(movement), site), subtrees(splitByHost(hosts)),
        reducer(desc.dtype, desc.reduction, hosts.size()), count(this->movement.operandBytes / elementBytes),
        sources(hosts.size()), given(hosts.size()) {
    leader = hosts.leader(hosts.selfHost());
    if (leader != this->movement.self)
      return;
    for (int64_t host = 0; host < hosts.hostCount(); ++host) {
      if (host == hosts.selfHost())
        continue;
      out.push_back(&addOutgoing(hosts.leader(host), 0));
      in.push_back(&addIncoming(hosts.leader(host), 0));
      received.emplace_back(bytesFrom(host));
    }
    sent.resize(bytesFrom(hosts.selfHost()));
  }

private:
  int64_t bytesOf(const HostSubtree &subtree) const {
    // Rounded up, so that the elements of each subtree are aligned.
    return (count * (subtree.size == 1 ? elementBytes : reducer.accumulatedBytes()) + 7) / 8 * 8;
  }
  int64_t bytesFrom(int64_t host) const {
    int64_t bytes = 0;
    for (const HostSubtree &subtree : subtrees)
      bytes += subtree.host == host ? bytesOf(subtree) : 0;
    return bytes;
  }

  void transfer() override {
    if (leader == movement.self)
      lead();
    meet();
    if (isReceiver && movement.operandBytes > 0)
      std::memcpy(result, recordOf(leader).staged, movement.operandBytes);
  }

  void lead() {
    for (int64_t member : hosts.hosts[hosts.selfHost()])
      sources[member] = operandOf(member);
    char *place = sent.data();
    for (const HostSubtree &subtree : subtrees) {
      if (subtree.host != hosts.selfHost())
        continue;
      if (subtree.size == 1) {
        if (movement.operandBytes > 0) // A device that only meets the others has no operand.
          std::memcpy(place, sources[subtree.first], movement.operandBytes);
      } else {
        reducer.reduceSubtree(sources.data(), subtree.first, subtree.size, place, count);
        given[subtree.first] = {place, subtree.size};
      }
      place += bytesOf(subtree);
    }
    for (size_t i = 0; i < out.size(); ++i) {
      send(*out[i], sent.data(), sent.size(), sent.size());
      receive(*in[i], received[i].data(), received[i].size());
    }
    drain();
    size_t next = 0;
    for (int64_t host = 0; host < hosts.hostCount(); ++host) {
      if (host == hosts.selfHost())
        continue;
      const char *from = received[next++].data();
      for (const HostSubtree &subtree : subtrees) {
        if (subtree.host != host)
          continue;
        if (subtree.size == 1)
          sources[subtree.first] = from;
        else
          given[subtree.first] = {from, subtree.size};
        from += bytesOf(subtree);
      }
    }
    reducer.reduceWith(sources.data(), given.data(), recordOf(leader).staged, count);
  }

  const std::vector<HostSubtree> subtrees;
  TreeReducer reducer;
  const int64_t count;
  int64_t leader = 0;
  std::vector<Outgoing *> out;
  std::vector<Incoming *> in;
  std::vector<char> sent;
  std::vector<std::vector<char>> received;
  std::vector<const void *> sources;
  std::vector<Subtree> given;
};

} // namespace

std::unique_ptr<NetCall> makeSmallAllReduce(NetEndpoint &endpoint, const MeshShape &mesh, const CollectiveDesc &desc,
                                            Movement movement, const CallSite &site) {
  return std::make_unique<SmallAllReduce>(endpoint, mesh, desc, std::move(movement), site);
}

} // namespace spmd::net
