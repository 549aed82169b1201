//===- DevicesCommand.cpp - spmdc devices ---------------------------------===//

#include "runtime/api/include/spmd/spmd.h"
#include "runtime/support/Env.h"
#include "runtime/support/Error.h"
#include "tools/common/RunCommandLine.h"
#include "tools/spmdc/Command.h"

#include <algorithm>
#include <iostream>
#include <memory>

namespace spmdc {
namespace {

struct DevicesCommand {
  spmd::InitializeOptions job;
  bool explain = false;

  int run() {
    try {
      if (explain)
        return printEnvironment();
      spmd::initialize(job);
      std::vector<spmd::DeviceInfo> local = spmd::local_devices();
      std::cout << "process " << spmd::process_index() << " of " << spmd::process_count() << "\n";
      for (const spmd::DeviceInfo &device : spmd::devices()) {
        bool isLocal = std::find(local.begin(), local.end(), device) != local.end();
        std::cout << device.str() << " process " << device.process_index << (isLocal ? " (local)" : "") << "\n";
      }
      spmd::shutdown();
    } catch (const spmd::Error &error) {
      std::cerr << "spmdc: error: " << error.what() << "\n";
      return error.getKind() == spmd::Error::Kind::Usage ? kUsage : kFailed;
    }
    return kOk;
  }

  /// What was found in the environment; joins nothing.
  static int printEnvironment() {
    spmd::Environment found = spmd::Environment::read();
    auto show = [](const char *variable, const std::string &value) { std::cout << variable << ": " << value << "\n"; };
    show("SPMD_COORDINATOR_ADDRESS", found.coordinatorAddress.value_or("not set"));
    show("SPMD_NUM_PROCESSES", found.numProcesses ? std::to_string(*found.numProcesses) : "not set");
    show("SPMD_PROCESS_ID", found.processId ? std::to_string(*found.processId) : "not set");
    show("SPMD_DEVICES_PER_PROCESS", found.devicesPerProcess ? std::to_string(*found.devicesPerProcess) : "not set");
    show("SPMD_JOB_ID", found.jobId.value_or("not set"));
    bool isComplete = found.coordinatorAddress && found.numProcesses && found.processId;
    std::cout << (isComplete ? "a process of a cluster\n" : "one process on this machine\n");
    return kOk;
  }
};

} // namespace

void addDevicesCommand(CLI::App &app, int &status) {
  CLI::App *command =
      app.add_subcommand("devices", "The global and local devices, after joining the job if one is named");
  auto state = std::make_shared<DevicesCommand>();
  addJobOptions(*command, state->job);
  command->add_flag("--explain", state->explain, "Only report what was found in the environment");
  command->callback([state, &status] { status = state->run(); });
}

} // namespace spmdc
