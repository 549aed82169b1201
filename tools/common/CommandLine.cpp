//===- CommandLine.cpp - checks of every command line ---------------------===//

#include "tools/common/CommandLine.h"

#include "tools/common/OptionNames.h"

#include <CLI/CLI.hpp>

#include <string>
#include <string_view>

namespace spmdc {
namespace {

constexpr const char *kEmptyValue = "the value is empty; is a variable not set?";

/// Walks over the arguments as CLI11 does, before CLI11, and rejects mistakes that CLI11 accepts.
class ArgumentWalk {
public:
  ArgumentWalk(const CLI::App &app, int argc, const char *const *argv) : command(&app), argc(argc), argv(argv) {}

  void run() {
    for (; at < argc; ++at) {
      std::string_view argument = argv[at];
      if (argument == "--")
        return;
      if (argument.starts_with("--"))
        visitLong(argument);
      else if (argument.size() > 1 && argument[0] == '-')
        visitShort(argument);
      else
        visitPlain(argument);
    }
  }

private:
  void visitLong(std::string_view argument) {
    size_t equals = argument.find('=');
    std::string name(argument.substr(0, equals));
    const CLI::Option *option = command->get_option_no_throw(name);
    if (!option)
      refuseUnknown(argument);
    if (equals == std::string_view::npos)
      skipValues(name, *option);
    else if (equals + 1 == argument.size())
      throw CLI::ValidationError(name, kEmptyValue);
  }

  /// Handles `-n 4` and `-n4`. `-5` is a number, not an option.
  void visitShort(std::string_view argument) {
    std::string name(argument.substr(0, 2));
    const CLI::Option *option = command->get_option_no_throw(name);
    bool isNumber = argument[1] >= '0' && argument[1] <= '9';
    if (!option && isNumber)
      return;
    if (option && argument.substr(2) == "=")
      throw CLI::ValidationError(name, kEmptyValue);
    if (!option || (argument.size() > 2 && isForeignOption(argument)))
      refuseUnknown(argument);
    if (argument.size() == 2)
      skipValues(name, *option);
  }

  void visitPlain(std::string_view argument) {
    if (command->get_subcommands(nullptr).empty())
      return;
    for (const CLI::App *known : command->get_subcommands(nullptr))
      if (known->check_name(std::string(argument))) {
        command = known;
        return;
      }
    throw CLI::ValidationError("unknown command '" + std::string(argument) + "'" + commandHint(*command, argument));
  }

  /// Skips the arguments after an option that are its values.
  void skipValues(const std::string &name, const CLI::Option &option) {
    for (int left = option.get_items_expected_min(); left > 0 && at + 1 < argc; --left) {
      std::string next = argv[++at];
      if (next.empty())
        throw CLI::ValidationError(name, kEmptyValue);
      // A value may begin with one dash: a negative number, or `-` for standard input.
      bool isShort = next.size() == 2 && next[0] == '-' && command->get_option_no_throw(next);
      if (!next.starts_with("--") && !isShort)
        continue;
      throw CLI::ValidationError(name, "the value is missing before " + next +
                                           "; is a variable not set? A value that begins with a dash is written " +
                                           name + (name.starts_with("--") ? "=" : "") + next);
    }
  }

  [[noreturn]] void refuseUnknown(std::string_view argument) const {
    std::string hint = optionHint(*command, argument);
    bool takesCommand = false; // The command line of another program, whose options are unknown here.
    for (const CLI::Option *option : command->get_options())
      takesCommand |= option->get_positional() && option->get_items_expected_max() > 1;
    if (hint.empty() && takesCommand)
      hint = "; the command to run goes after --";
    throw CLI::ValidationError("unknown option '" + std::string(argument.substr(0, argument.find('='))) + "'" + hint);
  }

  const CLI::App *command;
  int argc, at = 1;
  const char *const *argv;
};

} // namespace

void parseCommandLine(CLI::App &app, int argc, const char *const *argv) {
  ArgumentWalk(app, argc, argv).run();
  app.parse(argc, argv);
}

} // namespace spmdc
