// Several threads use loaded programs and arrays at once. tests/runtime/jit/ThreadsTest.cpp has the same for compiled
// programs.
#include "runtime/api/FunctionImpl.h"
#include "runtime/api/Runtime.h"
#include "tests/runtime/api/ApiTestSupport.h"
#include "tests/runtime/api/ExampleProgram.h"
#include "tests/support/OnThreads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

using namespace spmd;
using namespace spmd::testing_api;
using spmd::test::kThreads;
using spmd::test::onThreads;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

class LoadedThreads : public MeshTest {
protected:
  LoadedThreads() : MeshTest({4}, {"i"}) {}

  /// first, first + 1, ...
  Array from(float first) const {
    std::vector<float> values(8);
    std::iota(values.begin(), values.end(), first);
    return device_put(view(values), NamedSharding(mesh, P("i")));
  }
};

TEST_F(LoadedThreads, each_has_its_own_answer) {
  Function function = load(sumAndGather());
  onThreads([&](int thread) {
    for (int call = 0; call < 50; ++call) {
      auto first = static_cast<float>(100 * thread + call);
      std::vector<Array> results = function(from(first));
      EXPECT_THAT(results[0].to_host<float>(), ElementsAre(4 * first + 12, 4 * first + 16));
      EXPECT_EQ(results[1].to_host<float>()[7], first + 7);
    }
  });
}

// Collectives of programs on one set of devices wait for one another: all devices must run the programs in one order.
TEST_F(LoadedThreads, programs_of_the_same_devices_do_not_wait_for_ever) {
  onThreads([&](int thread) {
    Function own = load(sumAndGather());
    Array x = from(static_cast<float>(thread));
    for (int call = 0; call < 50; ++call)
      x = device_put(own(x)[1], NamedSharding(mesh, P("i")));
    EXPECT_EQ(x.to_host<float>()[0], static_cast<float>(thread));
  });
}

TEST_F(LoadedThreads, an_array_is_read_by_all) {
  Array x = load(sumAndGather())(from(3))[1];
  onThreads([&](int) {
    Array copy = x;
    EXPECT_EQ(copy.to_host<float>()[7], 10);
    EXPECT_EQ(copy.addressable_shards().size(), 4u);
    EXPECT_EQ(process_allgather(device_put(x, NamedSharding(mesh, P("i")))).to_host<float>()[0], 3);
    EXPECT_THAT(x.str(), HasSubstr("10."));
    EXPECT_TRUE(x.is_fully_addressable());
  });
}

// One thread gets the array, the others an error; no thread reads memory that was taken.
TEST_F(LoadedThreads, a_donated_array_goes_to_one) {
  std::shared_ptr<Job> current = currentJob(std::source_location::current());
  ProgramOptions options;
  options.donated = {0};
  options.donatedTo = "'main'";
  Program taking(current, sumAndGather(), mesh, std::move(options));
  Function reading = load(sumAndGather());
  for (int round = 0; round < 30; ++round) {
    Array x = from(static_cast<float>(round));
    std::atomic<int> taken{0};
    onThreads([&](int thread) {
      try {
        std::vector<Array> results = thread % 2 ? taking.call({x}) : thread % 4 ? reading(x) : std::vector<Array>{x, x};
        EXPECT_EQ(results[1].to_host<float>()[5], static_cast<float>(round + 5));
        taken += thread % 2;
      } catch (const Error &error) {
        EXPECT_THAT(error.what(), HasSubstr("is used after it was donated to 'main', as parameter 'x'"));
      }
    });
    EXPECT_EQ(taken, 1);
    EXPECT_TRUE(x.is_deleted());
  }
}

} // namespace
