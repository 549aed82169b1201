//===- NoFreeDescriptor.h - a process without a free descriptor -*- C++ -*-===//
#pragma once

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <unistd.h>

namespace spmd::test {

/// While the object lives, this process cannot open any file or socket.
class NoFreeDescriptor {
public:
  NoFreeDescriptor() {
    int lowestFree = dup(0);
    close(lowestFree);
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    rlimit now = before;
    now.rlim_cur = static_cast<rlim_t>(lowestFree);
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &now), 0);
  }
  ~NoFreeDescriptor() { setrlimit(RLIMIT_NOFILE, &before); }

private:
  rlimit before{};
};

} // namespace spmd::test
