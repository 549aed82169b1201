//===- SelfLauncher.h - test programs that start themselves -----*- C++ -*-===//
//
// A program of scenarios over several processes: `PROGRAM launch N D SCENARIO` starts N processes of itself with D
// devices each, which run `PROGRAM SCENARIO`. A test starts the first command (`launchProgram`); its processes join
// through the coordinator.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/api/include/spmd/job.h"
#include "runtime/coordinator/Launcher.h"
#include "tests/support/Shell.h"
#include "tests/support/TimeLimit.h"

#include <filesystem>
#include <functional>

namespace spmd::testing_api {

/// Prints a line of a process that other processes do not interrupt.
inline void say(const std::string &text) {
  std::string line = "process=" + std::to_string(process_index()) + " " + text + "\n";
  std::fputs(line.c_str(), stdout);
  std::fflush(stdout);
}

/// The `main` of such a program. `member` runs a scenario as one of the processes, and returns its exit status.
inline int launchSelf(int argc, char **argv, const std::function<int(const std::string &scenario)> &member) {
  if (argc == 2)
    return member(argv[1]);
  if (argc != 5 || std::string(argv[1]) != "launch")
    return 2;
  LaunchOptions options;
  options.command = {std::filesystem::read_symlink("/proc/self/exe").string(), argv[4]};
  options.numProcesses = std::stoi(argv[2]);
  options.environment = {{"SPMD_DEVICES_PER_PROCESS", argv[3]}};
  try {
    return launchLocal(options).exitStatus();
  } catch (const Error &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

/// Runs a scenario of the program in this file, on so many processes with so many devices each.
inline test::Printed launchProgram(const std::string &file, int processes, int devices, const std::string &scenario) {
  return test::shell("timeout " + std::to_string(test::timeLimit(60)) + " " + file + " launch " +
                     std::to_string(processes) + " " + std::to_string(devices) + " " + scenario);
}

} // namespace spmd::testing_api
