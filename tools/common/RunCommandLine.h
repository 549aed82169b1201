//===- RunCommandLine.h - the options of `run` ------------------*- C++ -*-===//
//
// Shared by `spmdc run` and `spmd-run`: the options of INTERFACES.md's table "Running".
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/runner/RunProgram.h"

#include <string>
#include <vector>

namespace CLI {
class App;
class Error;
} // namespace CLI

namespace spmdc {

/// Adds those that say which process of which job this is; parsing fills `job`, which must outlive it.
void addJobOptions(CLI::App &app, spmd::InitializeOptions &job);

/// `--tls-cert`, `--tls-key`, `--tls-ca`: among those of addJobOptions.
void addTlsOptions(CLI::App &app, spmd::InitializeOptions &job, const std::string &group);

/// `--report`.
void addReportOption(CLI::App &app, std::string &file);

/// `--restarts` and what belongs to it.
void addRestartOptions(CLI::App &app, spmd::RestartOptions &options);

/// Adds the options to a command; parsing fills `options`, which must outlive it.
void addRunOptions(CLI::App &app, spmd::RunOptions &options);

/// The same options as arguments, but for those that say which process of a job this is: for the processes that a
/// command starts.
std::vector<std::string> runArguments(const spmd::RunOptions &options);

/// This program's own file.
std::string ownExecutable();

/// How errors are to be printed, also of a command line that was refused before its options were read.
spmd::LogFormat logFormatOf(int argc, char **argv);

/// The exit status of a command line that CLI11 refused: 0 after help, 2 after an error, which is printed to stderr.
int usageStatus(const CLI::App &app, const CLI::Error &error, spmd::LogFormat format);

} // namespace spmdc
