//===- EndingThread.cpp - ending a process whose job is over --------------===//

#include "runtime/runner/EndingThread.h"

#include "runtime/support/BackgroundThread.h"

#include <chrono>
#include <future>

#include <unistd.h>

namespace spmd {

constexpr std::chrono::seconds tellLimit{1};

void EndingThread::begin() {
  if (hasBegun.exchange(true))
    for (;;)
      pause();
}

void EndingThread::endInstead(int status, const std::function<void()> &tell) {
  if (hasBegun.exchange(true))
    return;
  std::promise<void> told;
  BackgroundThread teller("spmd-end", [&] {
    tell();
    told.set_value();
  });
  told.get_future().wait_for(tellLimit);
  _exit(status); // Destructors would wait for the program.
}

} // namespace spmd
