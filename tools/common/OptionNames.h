//===- OptionNames.h - suggestions for unknown options ----------*- C++ -*-===//
#pragma once

#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace spmdc {

/// Whether other programs have an option of this name, dashes included: `-np`, which is not `-n p`.
bool isForeignOption(std::string_view option);

/// Continues a message about an option that `app` does not have: `; did you mean --num-processes?`, `; it is an option
/// of `spmdc run``, or nothing.
std::string optionHint(const CLI::App &app, std::string_view option);

/// Continues a message about a command that `app` does not have: `; did you mean 'compile'?`, or nothing.
std::string commandHint(const CLI::App &app, std::string_view command);

} // namespace spmdc
