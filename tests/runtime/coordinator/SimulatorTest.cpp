#include "tests/runtime/coordinator/Simulator.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

using namespace spmd::test;

namespace {

/// SPMD_TEST_SEED replays one schedule; SPMD_TEST_SCHEDULES is the number of schedules to run.
TEST(Simulator, TenThousandSchedulesKeepTheInvariants) {
  uint64_t first = 1, count = 10'000;
  if (const char *seed = getenv("SPMD_TEST_SEED")) {
    first = strtoull(seed, nullptr, 10);
    count = 1;
  }
  if (const char *schedules = getenv("SPMD_TEST_SCHEDULES"))
    count = strtoull(schedules, nullptr, 10);
  int failures = 0;
  for (uint64_t seed = first; seed != first + count && failures < 5; ++seed) {
    std::string violation = simulate(seed);
    if (violation.empty())
      continue;
    ++failures;
    ADD_FAILURE() << "SPMD_TEST_SEED=" << seed << ": " << violation;
  }
}

} // namespace
