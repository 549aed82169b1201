#include "runtime/runner/CallTimes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace spmd;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

TEST(CallDurations, TheFirstCountsOnlyIfThereIsNoOther) {
  CallDurations durations;
  EXPECT_THAT(durations.getCounted(), IsEmpty());
  durations.add(90);
  EXPECT_THAT(durations.getCounted(), ElementsAre(90));
  durations.add(20);
  durations.add(30);
  EXPECT_THAT(durations.getCounted(), ElementsAre(20, 30));
}

TEST(RunTimes, WithoutACallTheTimesAreNull) {
  RunTimes times;
  times.firstResultMs = 1.5;
  EXPECT_EQ(times.text(), "no call was timed; first result after 1.5 ms");
  EXPECT_EQ(times.json(), "{\n  \"median_us\": null,\n  \"min_us\": null,\n  \"max_us\": null,\n  \"runs\": 0,\n"
                          "  \"compile_ms\": 0.0,\n  \"first_result_ms\": 1.5\n}\n");
}

} // namespace
