//===- OnThreads.h - runs the same on several threads at once ---*- C++ -*-===//
#pragma once

#include <gtest/gtest.h>

#include <barrier>
#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace spmd::test {

/// The number of threads with which tests check the thread safety that spmd.h promises.
constexpr int kThreads = 8;

/// Runs `body` on all threads, which start together; an exception in one fails the test.
inline void onThreads(const std::function<void(int thread)> &body) {
  std::barrier together(kThreads);
  std::vector<std::string> errors(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      together.arrive_and_wait();
      try {
        body(i);
      } catch (const std::exception &error) {
        errors[static_cast<size_t>(i)] = error.what();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &error : errors)
    EXPECT_EQ(error, "");
}

} // namespace spmd::test
