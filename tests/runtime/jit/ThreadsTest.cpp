// Functions, arrays and operations used by several threads at once. ThreadSanitizer (docs/testing.md) finds races; the
// tests check that each thread gets its own results.
#include "runtime/api/include/spmd/spmd.h"
#include "tests/runtime/api/ApiTestSupport.h"
#include "tests/support/OnThreads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>

using namespace spmd;
using spmd::test::kThreads;
using spmd::test::onThreads;
using testing::HasSubstr;
using testing_api::messageOf;

namespace {

class Threads : public testing::Test {
protected:
  Threads() { initialize({.num_processes = 1, .devices_per_process = 4}); }
  ~Threads() override { shutdown(); }

  /// first, first + 1, ...
  static Array counted(float first, int64_t size = 8, const P &spec = P("i")) {
    std::vector<float> values(static_cast<size_t>(size));
    std::iota(values.begin(), values.end(), first);
    return device_put(view(values), NamedSharding(make_mesh({4}, {"i"}), spec));
  }
  /// The sum of these numbers.
  static float sumOf(float first, float size = 8) { return first * size + size * (size - 1) / 2; }
};

TEST_F(Threads, the_first_calls_of_a_function_compile_it_once_and_each_thread_has_its_own_answer) {
  Function f = jit("mesh m(i=4)\nfn main(x: f32[8@i]) { return (sum(x), x * 2.0); }");
  onThreads([&](int thread) {
    for (int call = 0; call < 20; ++call) {
      auto first = static_cast<float>(100 * thread + call);
      std::vector<Array> results = f(counted(first));
      EXPECT_EQ(results[0].item<float>(), sumOf(first));
      EXPECT_EQ(results[1].to_host<float>()[7], 2 * (first + 7));
    }
  });
}

// The collectives of programs on the same devices wait for one another, so all devices must run them in one order.
TEST_F(Threads, different_functions_over_the_same_devices_do_not_wait_for_ever) {
  std::vector<Function> functions;
  for (int i = 0; i < kThreads; ++i)
    functions.push_back(jit("mesh m(i=4)\nfn main(x: f32[8@i]) { return sum(x) + " + std::to_string(i) + ".0; }"));
  onThreads([&](int thread) {
    Array x = counted(static_cast<float>(thread));
    for (int call = 0; call < 30; ++call)
      EXPECT_EQ(functions[static_cast<size_t>(thread)](x)[0].item<float>(),
                sumOf(static_cast<float>(thread)) + static_cast<float>(thread));
  });
}

TEST_F(Threads, a_callable_is_traced_once_for_a_type) {
  std::atomic<int> traces{0}, inside{0};
  std::atomic<bool> met{false};
  auto f = jit([&](const Array &x) {
    ++traces;
    met = met || inside++ > 0; // The callable needs no lock of its own.
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    --inside;
    return sum(x) * 3;
  });
  onThreads([&](int thread) {
    int64_t size = thread % 2 ? 8 : 16;
    for (int call = 0; call < 10; ++call) {
      auto first = static_cast<float>(10 * thread + call);
      EXPECT_EQ(f(counted(first, size)).item<float>(), 3 * sumOf(first, static_cast<float>(size)));
    }
  });
  EXPECT_EQ(traces, 2);
  EXPECT_EQ(f.cache_size(), 2u);
  EXPECT_FALSE(met);
}

// Two callables that lower one another while they are traced: neither waits for the other.
TEST_F(Threads, callables_that_lower_one_another_do_not_wait_for_ever) {
  Array x = counted(1);
  std::atomic<int> begun{0};
  std::function<void(int)> lowerOther;
  auto make = [&](int other) {
    return jit([&, other](const Array &y) {
      if (begun++ < 2) { // The two of the threads; what they lower is traced plainly.
        while (begun < 2)
          std::this_thread::yield();
        lowerOther(other);
      }
      return sum(y);
    });
  };
  auto f = make(1), g = make(0);
  lowerOther = [&](int other) { EXPECT_NE((other ? g : f).lower(x).as_text("array"), ""); };
  onThreads([&](int thread) { EXPECT_EQ((thread % 2 ? f : g)(x).item<float>(), sumOf(1)); });
}

TEST_F(Threads, eager_operations_are_each_threads_own) {
  onThreads([](int thread) {
    for (int call = 0; call < 10; ++call) {
      auto first = static_cast<float>(10 * thread + call);
      Array x = counted(first);
      EXPECT_EQ(sum(x * x - x).item<float>(), [&] {
        float total = 0;
        for (int i = 0; i < 8; ++i)
          total += (first + static_cast<float>(i)) * (first + static_cast<float>(i) - 1);
        return total;
      }());
      EXPECT_EQ(sum(ones({5}) + static_cast<float>(thread % 2)).item<float>(), thread % 2 ? 10 : 5);
    }
  });
}

TEST_F(Threads, one_array_is_read_by_all) {
  Array x = counted(3), y = x * 2;
  Array replicated = device_put(x, NamedSharding(x.sharding().mesh(), P()));
  onThreads([&](int) {
    Array copy = y;
    EXPECT_EQ(copy.block_until_ready().to_host<float>()[1], 8);
    EXPECT_EQ(x.addressable_shards().size(), 4u);
    EXPECT_EQ(replicated.to_host<float>()[7], 10);
    EXPECT_EQ(device_put(x, NamedSharding(x.sharding().mesh(), P())).to_host<float>()[7], 10);
    EXPECT_EQ(process_allgather(x).to_host<float>()[0], 3);
    EXPECT_THAT(x.str(), HasSubstr("3."));
  });
}

// If several threads donate one array, one succeeds and the others get an error; no thread reads reused memory.
TEST_F(Threads, a_donated_array_goes_to_one_thread) {
  auto add = jit([](const Array &x) { return x + 100; }, {.donate_argnums = {0}});
  auto read = jit([](const Array &x) { return x * 1; });
  add(counted(0)).block_until_ready();
  read(counted(0)).block_until_ready();
  for (int round = 0; round < 20; ++round) {
    auto first = static_cast<float>(round);
    Array x = read(counted(first)); // Memory of its own: device_put's is shared among devices.
    std::atomic<int> taken{0};
    onThreads([&](int thread) {
      try {
        if (thread % 2) {
          EXPECT_EQ(add(x).to_host<float>()[5], first + 105);
          ++taken;
        } else if (thread % 4) {
          EXPECT_EQ(read(x).to_host<float>()[5], first + 5);
        } else {
          EXPECT_EQ(x.to_host<float>()[5], first + 5);
        }
      } catch (const Error &error) {
        EXPECT_THAT(error.what(), HasSubstr("is used after it was donated to 'main'"));
      }
    });
    EXPECT_EQ(taken, 1);
    EXPECT_TRUE(x.is_deleted());
  }
}

TEST_F(Threads, a_function_is_looked_at_while_it_is_called) {
  Function f = jit("mesh m(i=4)\nfn main(x: f32[8@i]) { return sum(x); }");
  Array x = counted(1);
  onThreads([&](int thread) {
    if (thread % 2) {
      EXPECT_EQ(f(x)[0].item<float>(), sumOf(1));
      return;
    }
    Lowered lowered = f.lower(x);
    EXPECT_THAT(lowered.as_text("partitioned"), HasSubstr("all_reduce"));
    EXPECT_EQ(lowered.cost_analysis().collectives(), 1);
    EXPECT_GT(lowered.memory_analysis().peak_memory_in_bytes, 0);
    EXPECT_EQ(f.parameters().size(), 1u);
    EXPECT_THAT(messageOf([&] { f(x, x); }), HasSubstr("takes 1 arguments and is given 2"));
    EXPECT_THAT(messageOf([&] { lowered.as_text("nothing"); }), HasSubstr("there is no stage 'nothing'"));
  });
}

// An error is thrown in each thread, and the next function works.
TEST_F(Threads, a_mistake_is_told_to_all) {
  Function wrong = jit("mesh m(i=4)\nfn main(x: f32[8@i]) { return x + y; }", {.file_name = "wrong.spmd"});
  Array x = counted(1);
  onThreads([&](int) { EXPECT_THAT(messageOf([&] { wrong(x); }), HasSubstr("wrong.spmd:2:")); });
}

} // namespace
