//===- ClockOffset.cpp - the offset of two clocks -------------------------===//

#include "runtime/runner/ClockOffset.h"

#include <limits>
#include <string>

namespace spmd {

ClockOffset measureClockOffset(Store &store, int32_t process, const std::vector<int32_t> &others,
                               const std::function<int64_t()> &now, std::chrono::milliseconds timeout) {
  constexpr int rounds = 8;
  const char *const call = "the comparison of clocks";
  auto keyOf = [](int32_t asker, int round, const char *what) {
    return "profile/clock/" + std::to_string(asker) + "/" + std::to_string(round) + what;
  };
  ClockOffset best;
  int64_t shortest = std::numeric_limits<int64_t>::max();
  for (int32_t other : others)
    for (int round = 0; round != rounds; ++round) {
      if (process == 0) {
        store.wait(keyOf(other, round, "?"), {other, timeout, call});
        store.set(keyOf(other, round, "!"), std::to_string(now()));
        continue;
      }
      if (process != other)
        continue;
      int64_t asked = now();
      store.set(keyOf(other, round, "?"), "");
      int64_t theirs = std::stoll(store.wait(keyOf(other, round, "!"), {0, timeout, call}));
      int64_t answered = now();
      if (answered - asked >= shortest)
        continue;
      shortest = answered - asked;
      best = {theirs - (asked + (answered - asked) / 2), (shortest + 1) / 2};
    }
  if (process == 0)
    store.removePrefix("profile/clock/");
  return best;
}

} // namespace spmd
