//===- RunCommandLine.h - the options of `run` ------------------*- C++ -*-===//
//
// Shared by `spmdc run` and `spmd-run` (docs/run.md).
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

/// Adds the options that identify this process and its job. Parsing fills `job`, which must outlive `app`.
void addJobOptions(CLI::App &app, spmd::InitializeOptions &job);

/// Adds `--tls-cert`, `--tls-key` and `--tls-ca`. addJobOptions includes them.
void addTlsOptions(CLI::App &app, spmd::InitializeOptions &job, const std::string &group);

/// `--report`.
void addReportOption(CLI::App &app, std::string &file);

/// Adds `--restarts`, `--restart-delay` and `--min-processes`.
void addRestartOptions(CLI::App &app, spmd::RestartOptions &options);

/// Adds all options of `run` to a command. Parsing fills `options`, which must outlive `app`.
void addRunOptions(CLI::App &app, spmd::RunOptions &options);

/// The options as arguments for the processes that a command starts, without those that identify a process.
std::vector<std::string> runArguments(const spmd::RunOptions &options);

/// The path of this executable.
std::string ownExecutable();

/// The format of log messages. Scans the raw arguments, so that it works for a command line that fails to parse.
spmd::LogFormat logFormatOf(int argc, char **argv);

/// The exit status after an exception of CLI11: 0 after help, 2 after an error, which this prints to stderr.
int usageStatus(const CLI::App &app, const CLI::Error &error, spmd::LogFormat format);

} // namespace spmdc
