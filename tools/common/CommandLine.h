//===- CommandLine.h - what every command line is checked for ---*- C++ -*-===//
//
// CLI11 takes the next argument as the value of an option whose own value is empty or missing, so `--report=$FILE
// --resume` with FILE unset would write to a file `--resume`. Every tool of the tree parses through parseCommandLine,
// which refuses such command lines and those with names that are not known, with the name that was probably meant.
//
//===----------------------------------------------------------------------===//
#pragma once

namespace CLI {
class App;
}

namespace spmdc {

/// Parses the command line as `app.parse(argc, argv)` does. Before that it throws CLI::ValidationError for
/// - a value that is empty (`--report=`, `--report ""`),
/// - an option that takes a value and is followed by nothing but another option (`--report --resume`),
/// - an option or a command that `app` does not have; the message names the one that was probably meant.
/// What stands behind `--` is not looked at.
void parseCommandLine(CLI::App &app, int argc, const char *const *argv);

} // namespace spmdc
