//===- LaunchCommand.cpp - spmdc launch -----------------------------------===//

#include "runtime/coordinator/Launcher.h"
#include "runtime/support/Error.h"
#include "tools/spmdc/Command.h"

#include <iostream>
#include <memory>

namespace spmdc {

void addLaunchCommand(CLI::App &app, int &status) {
  CLI::App *command = app.add_subcommand(
      "launch", "Start local processes of any program that uses the C++ API; all are taken down if one fails");
  auto options = std::make_shared<spmd::LaunchOptions>();
  options->prefixOutput = true;
  command->add_option("-n", options->numProcesses, "How many processes")->required()->check(CLI::Range(1, 100000));
  command->add_option("COMMAND", options->command, "The program and its arguments, behind --")->required();
  command->callback([options, &status] {
    try {
      spmd::LaunchResult result = spmd::launchLocal(*options);
      status = result.exitStatus();
      if (result.culprit)
        std::cerr << "spmdc: error: " << result.culprit->str() << "\n";
    } catch (const spmd::Error &error) {
      std::cerr << "spmdc: error: " << error.what() << "\n";
      status = kFailed;
    }
  });
}

} // namespace spmdc
