//===- TokenCommand.cpp - spmdc token -------------------------------------===//

#include "runtime/support/Token.h"
#include "tools/spmdc/Command.h"

#include <iostream>

namespace spmdc {

void addTokenCommand(CLI::App &app, int &status) {
  CLI::App *command = app.add_subcommand("token", "Print a new random token for the processes of a job");
  command->callback([&status] {
    std::cout << spmd::makeToken() << "\n";
    status = kOk;
  });
}

} // namespace spmdc
