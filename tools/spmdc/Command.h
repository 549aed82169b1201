//===- Command.h - one command of spmdc -------------------------*- C++ -*-===//
#pragma once

#include <CLI/CLI.hpp>

namespace spmdc {

/// Exit statuses of all commands.
enum ExitStatus { kOk = 0, kFailed = 1, kUsage = 2 };

/// Each function adds one subcommand. If the command line names it, its callback runs it and sets `status`.
void addCompileCommand(CLI::App &app, int &status);
void addInspectCommand(CLI::App &app, int &status);
void addExplainCommand(CLI::App &app, int &status);
void addRunCommand(CLI::App &app, int &status);
void addDevicesCommand(CLI::App &app, int &status);
void addLaunchCommand(CLI::App &app, int &status);
void addStatusCommand(CLI::App &app, int &status);
void addTokenCommand(CLI::App &app, int &status);

} // namespace spmdc
