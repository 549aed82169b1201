// Traced callables on several processes.
#include "tests/support/TimeLimit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>

#include <sys/wait.h>

using testing::AllOf;
using testing::HasSubstr;

namespace {

struct Outcome {
  int status = -1;
  std::string text;
};

/// Real processes of trace-test-program (TraceProgram.cpp), joined through the coordinator.
Outcome launch(int processes, int devices, const std::string &scenario) {
  std::string command = "timeout " + std::to_string(spmd::test::timeLimit(60)) +
                        " " SPMDC_BINARY_DIR "/bin/trace-test-program launch " + std::to_string(processes) + " " +
                        std::to_string(devices) + " " + scenario + " 2>&1";
  Outcome outcome;
  FILE *pipe = popen(command.c_str(), "r");
  std::array<char, 4096> buffer;
  size_t count = 0;
  while ((count = fread(buffer.data(), 1, buffer.size(), pipe)) > 0)
    outcome.text.append(buffer.data(), count);
  int status = pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

// The same numbers on every layout; traced and eager operations agree.
TEST(TraceProcesses, operations_do_not_depend_on_processes) {
  for (auto [processes, devices] : {std::pair(1, 8), std::pair(4, 2), std::pair(2, 4)}) {
    Outcome outcome = launch(processes, devices, "operations");
    EXPECT_EQ(outcome.status, 0);
    for (int p = 0; p < processes; ++p)
      EXPECT_THAT(outcome.text, AllOf(HasSubstr("process=" + std::to_string(p) + " values 1091.177490 1091.177490\n"),
                                      HasSubstr("process=" + std::to_string(p) + " total 583.467529 deleted\n")));
  }
}

TEST(TraceProcesses, donation_does_not_change_bits) {
  for (auto [processes, devices] : {std::pair(4, 2), std::pair(1, 8)}) {
    Outcome outcome = launch(processes, devices, "donated");
    EXPECT_EQ(outcome.status, 0);
    for (int p = 0; p < processes; ++p)
      EXPECT_THAT(outcome.text, HasSubstr("process=" + std::to_string(p) + " same bits\n"));
  }
}

// As JAX's multi-controller programs: all processes must call the same.
TEST(TraceProcesses, different_programs_are_an_error_on_all) {
  Outcome outcome = launch(4, 2, "differ");
  EXPECT_NE(outcome.status, 0);
  for (int p = 0; p < 4; ++p)
    EXPECT_THAT(outcome.text, HasSubstr("process=" + std::to_string(p) + " "));
  EXPECT_THAT(outcome.text, HasSubstr("the processes do not run the same program: process "));
}

} // namespace
