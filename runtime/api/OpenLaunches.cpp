//===- OpenLaunches.cpp - launches without a waiting caller ---------------===//

#include "runtime/api/OpenLaunches.h"

#include <utility>

namespace spmd {

void OpenLaunches::add(std::shared_ptr<Launch> launch) {
  // Launches on the same devices end in their order, so checking the front keeps the list short.
  std::lock_guard lock(mutex);
  while (!launches.empty() && launches.front()->isDone()) {
    finish(*launches.front());
    launches.pop_front();
  }
  launches.push_back(std::move(launch));
}

void OpenLaunches::finish(Launch &launch) {
  try {
    launch.wait();
  } catch (const Error &error) {
    if (!failure)
      failure = error;
  }
}

void OpenLaunches::wait() {
  std::deque<std::shared_ptr<Launch>> open;
  {
    std::lock_guard lock(mutex);
    open.swap(launches);
  }
  std::optional<Error> first;
  for (const auto &launch : open) // Without the lock: other threads may go on calling.
    try {
      launch->wait();
    } catch (const Error &error) {
      if (!first)
        first = error;
    }
  std::lock_guard lock(mutex);
  if (failure)
    first = std::exchange(failure, std::nullopt); // The kept error came before.
  if (first)
    throw *first;
}

} // namespace spmd
