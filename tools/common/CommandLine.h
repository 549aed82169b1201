//===- CommandLine.h - checks of every command line -------------*- C++ -*-===//
//
// CLI11 takes the next argument as the value of an option whose own value is empty or missing, so `--report=$FILE
// --resume` with FILE unset would write to a file `--resume`. All commands parse through parseCommandLine, which
// rejects such command lines. It also rejects unknown options and commands, and suggests the closest known name.
//
//===----------------------------------------------------------------------===//
#pragma once

namespace CLI {
class App;
}

namespace spmdc {

/// Parses the command line as `app.parse(argc, argv)` does. Before that it throws CLI::ValidationError for
/// - a value that is empty (`--report=`, `--report ""`),
/// - an option that takes a value and is followed by another option (`--report --resume`),
/// - an option or a command that `app` does not have; the message suggests the closest known one.
/// Arguments after `--` are not checked.
void parseCommandLine(CLI::App &app, int argc, const char *const *argv);

} // namespace spmdc
