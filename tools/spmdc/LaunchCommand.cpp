//===- LaunchCommand.cpp - spmdc launch -----------------------------------===//

#include "runtime/coordinator/Protocol.h"
#include "runtime/runner/Restarts.h"
#include "runtime/support/Env.h"
#include "runtime/support/Error.h"
#include "runtime/support/File.h"
#include "runtime/support/Token.h"
#include "tools/common/RunCommandLine.h"
#include "tools/spmdc/Command.h"

#include <iostream>
#include <memory>

namespace spmdc {
namespace {

struct LaunchCommand {
  spmd::LaunchOptions launch;
  spmd::RestartOptions restart;
  std::string reportFile;
  bool verbose = false;

  int run() {
    spmd::RunLog log(std::cerr, "spmdc", spmd::LogFormat::Text);
    spmd::RunReport report("spmdc launch");
    std::optional<int64_t> savedStep; // The newest step that any attempt has saved.
    int status = kOk;
    try {
      spmd::checkWritable("--report", reportFile);
      checkRestartOptions();
      spmd::Environment environment = spmd::Environment::read();
      for (const std::string &misspelt : environment.misspelt)
        log.write(spmd::RunLog::Level::Warning, misspelt);
      launch.statusToken = spmd::findStatusToken(environment, "");
      if (verbose)
        launch.started = [&](const std::vector<pid_t> &pids, const std::string &address) {
          log.writeStarted(pids, address);
        };
      spmd::LaunchResult result = spmd::launchWithRestarts(
          launch, restart, log, report, [&](spmd::LaunchOptions &next, const spmd::LaunchResult &ended) {
            for (const spmd::ChildReport &told : ended.reports)
              if (told.savedStep)
                savedStep = told.savedStep;
            if (savedStep)
              next.environment.emplace_back("SPMD_RESUME", "newest");
            return savedStep;
          });
      status = result.exitStatus();
      if (result.culprit)
        log.write(spmd::RunLog::Level::Error, result.cause());
      if (result.outputProblem != 0)
        log.write(spmd::RunLog::Level::Error,
                  "cannot write the output of the processes: " + spmd::writeProblem(result.outputProblem));
    } catch (const spmd::Error &error) {
      log.write(spmd::RunLog::Level::Error, error.what());
      if (error.getKind() == spmd::Error::Kind::Usage)
        return kUsage;
      report.setError(error.what());
      status = kFailed;
    }
    if (!reportFile.empty())
      try {
        spmd::writeFileAtomically(reportFile, report.json(status), spmd::Readers::Owner);
      } catch (const spmd::Error &error) {
        log.write(spmd::RunLog::Level::Error, std::string("--report: ") + error.what());
        return status == kOk ? kFailed : status;
      }
    return status;
  }

  void checkRestartOptions() const {
    if (!restart.minProcesses)
      return;
    if (restart.count == 0)
      throw spmd::Error("--min-processes says with how few processes a job may be restarted; give --restarts N",
                        spmd::Error::Kind::Usage);
    if (*restart.minProcesses > launch.numProcesses)
      throw spmd::Error("--min-processes " + std::to_string(*restart.minProcesses) + " is more than -n " +
                            std::to_string(launch.numProcesses),
                        spmd::Error::Kind::Usage);
  }
};

} // namespace

void addLaunchCommand(CLI::App &app, int &status) {
  CLI::App *command = app.add_subcommand(
      "launch", "Start local processes of any program that uses the C++ API; if one fails, all are stopped");
  auto state = std::make_shared<LaunchCommand>();
  state->launch.prefixOutput = true;
  command->add_option("-n,--num-processes", state->launch.numProcesses, "Number of processes")
      ->required()
      ->check(CLI::Range(1, spmd::coordinator::maxProcesses));
  addRestartOptions(*command, state->restart);
  addReportOption(*command, state->reportFile);
  command->add_flag("--verbose", state->verbose, "Log the coordinator's address and the pids of the processes");
  command->add_option("COMMAND", state->launch.command, "The program and its arguments, after --")->required();
  command->callback([state, &status] { status = state->run(); });
}

} // namespace spmdc
