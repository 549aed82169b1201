#include "tests/runtime/api/SelfLauncher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

using testing::Contains;
using testing::Each;
using testing::HasSubstr;

namespace {

struct Outcome {
  int status = -1;
  std::vector<std::string> lines;   ///< Sorted, because processes print in any order.
  std::vector<std::string> notices; ///< Messages on stderr from any process; a busy machine may cause some.
};

/// Real processes of api-test-program (ApiProgram.cpp), joined through the coordinator.
Outcome launch(int processes, int devices, const std::string &scenario) {
  auto [status, text] =
      spmd::testing_api::launchProgram(SPMDC_BINARY_DIR "/bin/api-test-program", processes, devices, scenario);
  Outcome outcome{status, {}, {}};
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    (line.starts_with("spmd: process ") ? outcome.notices : outcome.lines).push_back(line);
    begin = end + 1;
  }
  std::sort(outcome.lines.begin(), outcome.lines.end());
  return outcome;
}

// The tutorial's output, on its layout and on others: the same data on the same devices, and the same result.
TEST(MultiProcess, toy_of_the_tutorial) {
  for (auto [processes, devices] : {std::pair(4, 2), std::pair(2, 4), std::pair(1, 8), std::pair(8, 1)}) {
    Outcome outcome = launch(processes, devices, "toy");
    EXPECT_EQ(outcome.status, 0);
    for (int d = 0; d < 8; ++d) {
      std::string values = d == 2 ? "[[ 8.  9. 10. 11.]]" : d == 7 ? "[[28. 29. 30. 31.]]" : "[[";
      EXPECT_THAT(outcome.lines, Contains(HasSubstr("process=" + std::to_string(d / devices) + " device CpuDevice(id=" +
                                                    std::to_string(d) + ") has local data " + values)));
    }
    for (int p = 0; p < processes; ++p)
      EXPECT_THAT(outcome.lines, Contains("process=" + std::to_string(p) + " got result: -0.123987"));
  }
}

TEST(MultiProcess, fetching_what_is_elsewhere_says_what_to_do) {
  Outcome outcome = launch(4, 2, "toy");
  EXPECT_THAT(outcome.lines,
              Contains("process=3 fetching the value of f32[4, 8] @ P(i, j) is not possible: it spans devices of other "
                       "processes; use process_allgather(array) for the full value, on all processes, or "
                       "array.addressable_shards() for this process's part"));
  EXPECT_THAT(outcome.lines, Contains("process=0 addressable no"));
  EXPECT_THAT(outcome.lines, Contains("process=2 Array(f32[4, 8] @ P(i, j))"));
}

TEST(MultiProcess, values_survive_resharding_between_processes) {
  for (auto [processes, devices] : {std::pair(4, 2), std::pair(2, 4)}) {
    Outcome outcome = launch(processes, devices, "reshard");
    EXPECT_EQ(outcome.status, 0);
    EXPECT_EQ(outcome.lines.size(), static_cast<size_t>(processes));
    EXPECT_THAT(outcome.lines, Each(HasSubstr("resharded")));
  }
}

TEST(MultiProcess, different_host_values_are_found) {
  Outcome outcome = launch(3, 1, "mismatch");
  ASSERT_EQ(outcome.lines.size(), 3u);
  EXPECT_THAT(outcome.lines, Each(HasSubstr("device_put has different values on process 0 (f32[8]) and process 1 "
                                            "(f32[8]); give the same on all processes")));
}

TEST(MultiProcess, rows_of_each_process_make_one_array) {
  Outcome outcome = launch(2, 2, "rows");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.lines, Contains("process=1 rows 8: 0 0 0 0 1 1 1 1"));
}

TEST(MultiProcess, rows_that_differ_in_number_are_listed) {
  Outcome outcome = launch(2, 1, "uneven-rows");
  ASSERT_EQ(outcome.lines.size(), 2u);
  EXPECT_THAT(outcome.lines, Each(HasSubstr("process 0 has i32[4, 3], process 1 has i32[5, 3]")));
}

TEST(MultiProcess, single_device_arrays_over_processes) {
  Outcome outcome = launch(2, 2, "singles");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.lines, Contains("process=1 [[0 1]"));
  EXPECT_THAT(outcome.lines, Contains(" [2 3]]"));
}

TEST(MultiProcess, other_libraries_take_what_is_here) {
  Outcome outcome = launch(2, 1, "dlpack");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.lines,
              testing::ElementsAre("process=0 takes 2.000000",
                                   "process=1 to_dlpack of f32[2] @ P() is not possible: it is on CpuDevice(id=0) of "
                                   "process 0; call it there"));
}

// The runtime's threads take no signals, which are for the application's threads, and their names tell what they do.
TEST(MultiProcess, threads_of_the_runtime_have_names_and_take_no_signals) {
  Outcome outcome = launch(2, 2, "threads");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.lines, Each(HasSubstr(" takes no signals")));
  for (int process = 0; process < 2; ++process)
    for (std::string name : {"spmd-network", "spmd-segments", "spmd-checkpoint", "spmd-cpu:0", "spmd-cpu:1"}) {
      if (name.find("cpu") != std::string::npos)
        name.back() = static_cast<char>('0' + 2 * process + name.back() - '0');
      EXPECT_THAT(outcome.lines,
                  Contains("process=" + std::to_string(process) + " thread " + name + " takes no signals"));
    }
}

// Such a program would run once for each process, each alone: a warning names the line and the fix.
TEST(MultiProcess, a_program_that_forgets_initialize_is_told) {
  Outcome outcome = launch(2, 1, "forgetful");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(std::count(outcome.lines.begin(), outcome.lines.end(), "process=0 alone among 1"), 2);
  EXPECT_THAT(
      outcome.lines,
      Contains(testing::AllOf(HasSubstr("spmd: warning: devices are used at "), HasSubstr("ApiProgram.cpp:"),
                              HasSubstr("SPMD_NUM_PROCESSES says that it is one of 2; call initialize() before")))
          .Times(2));
  EXPECT_THAT(launch(1, 1, "forgetful").lines, testing::ElementsAre("process=0 alone among 1"));
}

// The other processes end, and all name the process that exited.
TEST(MultiProcess, a_process_that_goes_without_goodbye_ends_the_job) {
  Outcome outcome = launch(3, 1, "deserter");
  EXPECT_EQ(outcome.status, 7);
  ASSERT_EQ(outcome.lines.size(), 2u);
  EXPECT_THAT(outcome.lines, Each(testing::AllOf(HasSubstr("error: process 1 ("), HasSubstr("exited with status 7"))));
}

// The others learn it at once, whatever they wait in, and all of them the same.
TEST(MultiProcess, a_process_that_leaves_without_a_call_is_named) {
  for (std::string call : {"put", "local", "save", "restore", "run", "sync", "submesh", "put-hosts", "run-hosts"}) {
    std::string left = call == "submesh" ? "0" : "1";
    auto begin = std::chrono::steady_clock::now();
    Outcome outcome = launch(3, 1, "left-" + call);
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    EXPECT_EQ(outcome.status, 1) << call;
    ASSERT_EQ(outcome.lines.size(), 3u) << call;
    EXPECT_THAT(outcome.lines,
                Each(testing::AllOf(HasSubstr("error: "), HasSubstr("process " + left), HasSubstr("left the job"))))
        << call;
    EXPECT_LT(seconds, spmd::test::timeLimit(10.0)) << call;
  }
}

// If the coordinator sees both waits, all processes get an error at once.
TEST(MultiProcess, different_calls_that_wait_for_one_another_are_named) {
  auto begin = std::chrono::steady_clock::now();
  for (auto [calls, texts] : {std::pair("put-local", std::pair("device_put at ", "local_data at ")),
                              std::pair("put-local-hosts", std::pair("device_put at ", "local_data at ")),
                              std::pair("put-sync", std::pair("device_put at ", "at barrier `here`")),
                              std::pair("put-run", std::pair("device_put at ", "from P(a) to P() at ")),
                              std::pair("run-put", std::pair("device_put at ", "from P(a) to P() at ")),
                              std::pair("local-run-hosts", std::pair("local_data at ", "from P(a) to P() at ")),
                              std::pair("run-sync-hosts", std::pair("at barrier `here`", "from P(a) to P() at "))}) {
    Outcome outcome = launch(3, 1, std::string("order-") + calls);
    EXPECT_EQ(outcome.status, 1);
    ASSERT_EQ(outcome.lines.size(), 3u);
    EXPECT_THAT(outcome.lines,
                Each(testing::AllOf(HasSubstr("processes wait for one another: "), HasSubstr(texts.first),
                                    HasSubstr(texts.second), HasSubstr("the same calls in the same order"))))
        << calls;
  }
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_LT(seconds, spmd::test::timeLimit(30.0));
}

// A message names the awaited process and its position, without any option.
TEST(MultiProcess, a_process_that_does_not_move_is_named_after_two_seconds) {
  Outcome outcome = launch(2, 1, "sleeper");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.lines, testing::ElementsAre("process=0 awake", "process=1 awake"));
  for (const char *process : {"0", "1"})
    EXPECT_THAT(outcome.notices, Contains(testing::AllOf(testing::StartsWith(std::string("spmd: process ") + process +
                                                                             ": warning: the job has not moved"),
                                                         HasSubstr("process 0: "), HasSubstr("process 1: "))));
}

} // namespace
