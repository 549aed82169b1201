// Traced callables on several processes.
#include "tests/runtime/api/SelfLauncher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

using spmd::test::Printed;
using testing::AllOf;
using testing::HasSubstr;

namespace {

Printed launch(int processes, int devices, const std::string &scenario) {
  return spmd::testing_api::launchProgram(SPMDC_BINARY_DIR "/bin/trace-test-program", processes, devices, scenario);
}

// The same numbers on every layout; traced and eager operations agree.
TEST(TraceProcesses, operations_do_not_depend_on_processes) {
  for (auto [processes, devices] : {std::pair(1, 8), std::pair(4, 2), std::pair(2, 4)}) {
    Printed outcome = launch(processes, devices, "operations");
    EXPECT_EQ(outcome.status, 0);
    for (int p = 0; p < processes; ++p)
      EXPECT_THAT(outcome.text, AllOf(HasSubstr("process=" + std::to_string(p) + " values 1091.177490 1091.177490\n"),
                                      HasSubstr("process=" + std::to_string(p) + " total 583.467529 deleted\n")));
  }
}

// The compiler's caches of the main thread are gone by then: nothing can be compiled, and that is an error.
TEST(TraceProcesses, nothing_is_compiled_at_the_exit) {
  Printed outcome = launch(1, 1, "exits");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.text, AllOf(HasSubstr("process=0 first 6.0"), HasSubstr("process=0 again 6.0"),
                                  HasSubstr("TraceProgram.cpp:"), HasSubstr("is not compiled yet is called while")));
  for (std::string question : {"text", "stablehlo", "costs", "memory"})
    EXPECT_THAT(outcome.text, HasSubstr("process=0 " + question + " is refused"));
}

TEST(TraceProcesses, donation_does_not_change_bits) {
  for (auto [processes, devices] : {std::pair(4, 2), std::pair(1, 8)}) {
    Printed outcome = launch(processes, devices, "donated");
    EXPECT_EQ(outcome.status, 0);
    for (int p = 0; p < processes; ++p)
      EXPECT_THAT(outcome.text, HasSubstr("process=" + std::to_string(p) + " same bits\n"));
  }
}

// The call that meets a NaN throws the same error on all processes, wherever it was made; the next call works.
TEST(TraceProcesses, a_nan_is_an_error_of_one_call_on_all) {
  for (auto [processes, devices] : {std::pair(4, 2), std::pair(2, 4), std::pair(1, 8)}) {
    Printed outcome = launch(processes, devices, "nan");
    EXPECT_EQ(outcome.status, 0) << outcome.text;
    for (int p = 0; p < processes; ++p) {
      std::string process = "process=" + std::to_string(p) + " ";
      // The NaN is on the device of the last rows, which the other processes do not hold.
      EXPECT_THAT(outcome.text, HasSubstr(process + "met cpu:7: step "));
      EXPECT_THAT(outcome.text, HasSubstr(process + "next 0.500000 eager 29.500000\n"));
      // A NaN that all devices get from a collective, and one that only one process holds.
      EXPECT_THAT(outcome.text, HasSubstr(process + "total cpu:7: step "));
      EXPECT_THAT(outcome.text, HasSubstr(process + "last 3.000000\n"));
    }
  }
}

// Calls on a process's own devices need no common order among processes, nor with another thread's calls on all
// devices.
TEST(TraceProcesses, threads_with_devices_of_their_own) {
  for (auto [processes, devices] : {std::pair(4, 2), std::pair(2, 4)}) {
    Printed outcome = launch(processes, devices, "threads");
    EXPECT_EQ(outcome.status, 0) << outcome.text;
    EXPECT_THAT(outcome.text, testing::Not(HasSubstr("wrong")));
    for (int p = 0; p < processes; ++p)
      EXPECT_THAT(outcome.text, HasSubstr("process=" + std::to_string(p) + " range 7.000000\n"));
  }
}

// As JAX's multi-controller programs: all processes must call the same.
TEST(TraceProcesses, different_programs_are_an_error_on_all) {
  Printed outcome = launch(4, 2, "differ");
  EXPECT_NE(outcome.status, 0);
  for (int p = 0; p < 4; ++p)
    EXPECT_THAT(outcome.text, HasSubstr("process=" + std::to_string(p) + " "));
  EXPECT_THAT(outcome.text, HasSubstr("the processes do not run the same program: process "));
}

} // namespace
