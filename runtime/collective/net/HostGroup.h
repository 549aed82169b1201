//===- HostGroup.h - the members of a group by host -------------*- C++ -*-===//
//
// Assigns the tasks between the hosts of a group to its members; pure arithmetic, the same on every member. Members are
// numbered by their position in the group.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace spmd::net {

struct HostGroup {
  std::vector<std::vector<int64_t>> hosts; ///< The members on each host; hosts are in the order of their first member.
  std::vector<int64_t> hostOf, rankOf;     ///< For each member: its host, and its index among the members there.
  int64_t self = 0;

  /// `nameOf` returns the host of a member.
  HostGroup(int64_t size, int64_t self, const std::function<std::string(int64_t member)> &nameOf);

  int64_t size() const { return static_cast<int64_t>(hostOf.size()); }
  int64_t hostCount() const { return static_cast<int64_t>(hosts.size()); }
  int64_t selfHost() const { return hostOf[self]; }
  bool isHere(int64_t member) const { return hostOf[member] == selfHost(); }
  int64_t leader(int64_t host) const { return hosts[host][0]; }
  /// The member on `host` that reduces and sends that host's contribution to `member`, a member on another host. The
  /// deputies for the members of one host are spread over the members of `host`.
  int64_t deputy(int64_t host, int64_t member) const { return hosts[host][rankOf[member] % hosts[host].size()]; }
};

/// A largest subtree of the summation tree whose leaves are all on one host.
struct HostSubtree {
  int64_t first = 0, size = 0, host = 0;
};

/// Returns these subtrees of the group, in order.
std::vector<HostSubtree> splitByHost(const HostGroup &group);

} // namespace spmd::net
