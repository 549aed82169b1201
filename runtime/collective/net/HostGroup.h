//===- HostGroup.h - the members of a group by host -------------*- C++ -*-===//
//
// Who does what between the hosts of a group; pure arithmetic, the same on every member. Members are numbered by their
// place in the group.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace spmd::net {

struct HostGroup {
  std::vector<std::vector<int64_t>> hosts; ///< The members on each, hosts in the order of their first member.
  std::vector<int64_t> hostOf, rankOf;     ///< By member: its host, and its place among the members there.
  int64_t self = 0;

  /// `nameOf`: the host of a member.
  HostGroup(int64_t size, int64_t self, const std::function<std::string(int64_t member)> &nameOf);

  int64_t size() const { return static_cast<int64_t>(hostOf.size()); }
  int64_t hostCount() const { return static_cast<int64_t>(hosts.size()); }
  int64_t selfHost() const { return hostOf[self]; }
  bool isHere(int64_t member) const { return hostOf[member] == selfHost(); }
  int64_t leader(int64_t host) const { return hosts[host][0]; }
  /// Who on a host deals with a member of another: spread over its members.
  int64_t deputy(int64_t host, int64_t member) const { return hosts[host][rankOf[member] % hosts[host].size()]; }
};

/// A subtree of the tree of summation all of whose leaves are on one host, as large as possible.
struct HostSubtree {
  int64_t first = 0, size = 0, host = 0;
};

/// Those of the whole group, in order.
std::vector<HostSubtree> splitByHost(const HostGroup &group);

} // namespace spmd::net
