//===- HostListTest.cpp - Slurm's lists of hosts --------------------------===//

#include "runtime/support/HostList.h"

#include <gtest/gtest.h>

using namespace spmd;

namespace {

/// Returns the hosts, separated by blanks; `none` if it is not a list.
std::string expand(const std::string &list, size_t limit = 65536) {
  auto hosts = expandHostList(list, limit);
  if (!hosts)
    return "none";
  std::string text;
  for (const std::string &host : *hosts)
    text += (text.empty() ? "" : " ") + host;
  return text;
}

// The results of `scontrol show hostnames`; only newer versions of Slurm accept text after brackets.
TEST(HostList, Grammar) {
  EXPECT_EQ(expand("node1"), "node1");
  EXPECT_EQ(expand("node1,node2"), "node1 node2");
  EXPECT_EQ(expand("node[01-03,7],gpu-a[1-2]b"), "node01 node02 node03 node7 gpu-a1b gpu-a2b");
  EXPECT_EQ(expand("node[001,004-006]"), "node001 node004 node005 node006");
  EXPECT_EQ(expand("node[8-11]"), "node8 node9 node10 node11");
  EXPECT_EQ(expand("node[098-101]"), "node098 node099 node100 node101");
  EXPECT_EQ(expand("rack[2-3]node[07-08].example"),
            "rack2node07.example rack2node08.example rack3node07.example rack3node08.example");
  EXPECT_EQ(expand("[3-4]x,y"), "3x 4x y");
  EXPECT_EQ(expand("n[5-5]"), "n5");
  for (const char *wrong : {"",
                            ",a",
                            "a,",
                            "a,,b",
                            "a[",
                            "a[]",
                            "a[x]",
                            "a]",
                            "a[1;2]",
                            "a[1",
                            "a[2-1]",
                            "a[1-]",
                            "a[-1]",
                            "a[1,]",
                            "a[[1]]",
                            "a b",
                            "a/b",
                            "a[1-2-3]",
                            "a[1234567890123456789]",
                            "a\n"})
    EXPECT_EQ(expand(wrong), "none") << wrong;
}

// A short list may stand for more hosts than fit into memory.
TEST(HostList, IsBounded) {
  EXPECT_EQ(expandHostList("n[1-65536]")->size(), 65536u);
  EXPECT_EQ(expand("n[1-65537]"), "none");
  EXPECT_EQ(expand("n[0-999999999999999999]"), "none");
  EXPECT_EQ(expand("a[1-999]b[1-999]c[1-999]d[1-999]e[1-999]f[1-999]"), "none");
  EXPECT_EQ(expand("n[1-4],m", 4), "none");
  EXPECT_EQ(expand("n[1-3],m", 4), "n1 n2 n3 m");
  EXPECT_EQ(expand(std::string(300, 'n')), "none");
  EXPECT_EQ(expand(std::string(2'000'000, ',')), "none");
}

} // namespace
