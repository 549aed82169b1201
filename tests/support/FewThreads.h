//===- FewThreads.h - a system that is short of threads ---------*- C++ -*-===//
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <pthread.h>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

namespace spmd::test {

/// While the object lives, this process can start only `count` more threads: their stacks are large, and the limit of
/// address space allows no more.
class FewThreads {
public:
  explicit FewThreads(uint64_t count) {
    std::thread([] {}).join(); // A sanitizer starts a thread of its own with the first one.
    uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    pthread_getattr_default_np(&oldAttributes);
    pthread_attr_t large;
    pthread_attr_init(&large);
    pthread_attr_setstacksize(&large, stackBytes);
    EXPECT_EQ(pthread_setattr_default_np(&large), 0);
    pthread_attr_destroy(&large);
    ::getrlimit(RLIMIT_AS, &oldLimit);
    rlimit limit = oldLimit;
    // Half a stack for the other memory of a thread.
    limit.rlim_cur = pages * static_cast<uint64_t>(::getpagesize()) + count * stackBytes + stackBytes / 2;
    EXPECT_EQ(::setrlimit(RLIMIT_AS, &limit), 0);
  }
  ~FewThreads() {
    ::setrlimit(RLIMIT_AS, &oldLimit);
    pthread_setattr_default_np(&oldAttributes);
    pthread_attr_destroy(&oldAttributes);
  }
  FewThreads(const FewThreads &) = delete;
  FewThreads &operator=(const FewThreads &) = delete;

private:
  static constexpr uint64_t stackBytes = uint64_t(4) << 30;
  pthread_attr_t oldAttributes;
  rlimit oldLimit = {};
};

} // namespace spmd::test
