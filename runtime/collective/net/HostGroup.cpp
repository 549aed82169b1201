//===- HostGroup.cpp - the members of a group by host ---------------------===//

#include "runtime/collective/net/HostGroup.h"

#include <algorithm>
#include <bit>
#include <map>

namespace spmd::net {

HostGroup::HostGroup(int64_t size, int64_t self, const std::function<std::string(int64_t)> &nameOf) : self(self) {
  std::map<std::string, int64_t> numbers;
  for (int64_t member = 0; member < size; ++member) {
    auto [entry, isNew] = numbers.try_emplace(nameOf(member), hostCount());
    if (isNew)
      hosts.emplace_back();
    hostOf.push_back(entry->second);
    rankOf.push_back(static_cast<int64_t>(hosts[entry->second].size()));
    hosts[entry->second].push_back(member);
  }
}

static void split(const HostGroup &group, int64_t first, int64_t size, std::vector<HostSubtree> &subtrees) {
  int64_t host = group.hostOf[first];
  bool isOneHost = std::all_of(group.hostOf.begin() + first, group.hostOf.begin() + first + size,
                               [&](int64_t other) { return other == host; });
  if (isOneHost) {
    subtrees.push_back({first, size, host});
    return;
  }
  auto half = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(size - 1)));
  split(group, first, half, subtrees);
  split(group, first + half, size - half, subtrees);
}

std::vector<HostSubtree> splitByHost(const HostGroup &group) {
  std::vector<HostSubtree> subtrees;
  split(group, 0, group.size(), subtrees);
  return subtrees;
}

} // namespace spmd::net
