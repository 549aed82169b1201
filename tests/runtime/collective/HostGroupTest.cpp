//===- HostGroupTest.cpp - tasks of members between hosts -----------------===//

#include "runtime/collective/net/HostGroup.h"

#include <gmock/gmock.h>

using namespace spmd::net;

namespace {

HostGroup groupOn(const std::vector<int> &hosts) {
  return HostGroup(static_cast<int64_t>(hosts.size()), 0,
                   [&](int64_t member) { return std::to_string(hosts[static_cast<size_t>(member)]); });
}

/// Returns `first+size@host` of each subtree.
std::vector<std::string> subtreesOf(const std::vector<int> &hosts) {
  std::vector<std::string> texts;
  for (const HostSubtree &subtree : splitByHost(groupOn(hosts)))
    texts.push_back(std::to_string(subtree.first) + "+" + std::to_string(subtree.size) + "@" +
                    std::to_string(subtree.host));
  return texts;
}

TEST(HostGroup, SubtreesAreAsLargeAsTheTreeAllows) {
  EXPECT_THAT(subtreesOf({0, 0, 1, 1}), testing::ElementsAre("0+2@0", "2+2@1"));
  EXPECT_THAT(subtreesOf({0, 0, 0, 0, 1, 1}), testing::ElementsAre("0+4@0", "4+2@1"));
  // The tree of six is (4, 2): the second host's four members are not a subtree.
  EXPECT_THAT(subtreesOf({0, 0, 1, 1, 1, 1}), testing::ElementsAre("0+2@0", "2+2@1", "4+2@1"));
  EXPECT_THAT(subtreesOf({0, 1, 0, 1}), testing::ElementsAre("0+1@0", "1+1@1", "2+1@0", "3+1@1"));
  EXPECT_THAT(subtreesOf({0, 0, 0}), testing::ElementsAre("0+3@0"));
  EXPECT_THAT(subtreesOf({0, 0, 1}), testing::ElementsAre("0+2@0", "2+1@1"));
}

TEST(HostGroup, DeputiesAreSpread) {
  HostGroup group = groupOn({7, 7, 7, 9, 9});
  EXPECT_THAT(group.hosts, testing::ElementsAre(testing::ElementsAre(0, 1, 2), testing::ElementsAre(3, 4)));
  EXPECT_EQ(group.deputy(1, 0), 3);
  EXPECT_EQ(group.deputy(1, 1), 4);
  EXPECT_EQ(group.deputy(1, 2), 3);
  EXPECT_EQ(group.deputy(0, 4), 1);
}

} // namespace
