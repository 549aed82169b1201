//===- StatusCommand.cpp - spmdc status -----------------------------------===//

#include "runtime/api/Job.h"
#include "runtime/coordinator/StatusClient.h"
#include "runtime/support/Env.h"
#include "runtime/support/Error.h"
#include "runtime/support/Token.h"
#include "tools/common/RunCommandLine.h"
#include "tools/spmdc/Command.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>

namespace spmdc {
namespace {

const char *stageName(spmd::JobStatus::Stage stage) {
  constexpr const char *names[] = {"joining", "running", "done", "over"};
  return names[static_cast<int>(stage)];
}

/// A process that has joined is `starting` until all processes have joined.
const char *stateName(const spmd::JobStatus &status, spmd::Position::State state) {
  if (state == spmd::Position::State::Joining && status.stage != spmd::JobStatus::Stage::RollCall)
    return "starting";
  constexpr const char *names[] = {"joining", "running", "running", "waiting", "leaving"};
  return names[static_cast<int>(state)];
}

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string memoryText(int64_t bytes) {
  double mib = static_cast<double>(bytes) / (1 << 20);
  return mib < 10'000 ? fixed(mib, mib < 100 ? 1 : 0) + " MiB" : fixed(mib / 1024, 1) + " GiB";
}

struct StatusCommand {
  std::string address, tokenFile;
  spmd::InitializeOptions tls; ///< Only the TLS options are used.
  std::optional<std::string> jobId;
  double timeout = 5;
  bool json = false;

  int run() {
    try {
      std::string token = spmd::findToken(spmd::Environment::read(), tokenFile);
      auto limit = std::chrono::milliseconds(static_cast<int64_t>(timeout * 1000));
      spmd::JobStatus status =
          spmd::queryStatus(address, token, spmd::resolveTls(tls, spmd::Environment::read()), jobId, limit);
      json ? printJson(status) : printTable(status);
    } catch (const spmd::Error &error) {
      std::cerr << "spmdc: error: " << error.what() << "\n";
      return error.getKind() == spmd::Error::Kind::Usage ? kUsage : kFailed;
    }
    return kOk;
  }

  static void printJson(const spmd::JobStatus &status) {
    using Json = nlohmann::ordered_json;
    Json result = {{"stage", stageName(status.stage)},
                   {"uptime_seconds", static_cast<double>(status.uptimeMs) / 1000},
                   {"num_processes", status.numProcesses},
                   {"verdict", status.verdict.empty() ? Json(nullptr) : Json(status.verdict)},
                   {"processes", Json::array()}};
    for (const spmd::ProcessStatus &process : status.processes) {
      const spmd::ProcessStatistics &statistics = process.statistics;
      bool hasLoop = statistics.stepsDone >= 0;
      result["processes"].push_back({{"process", process.process},
                                     {"host", process.host},
                                     {"pid", process.pid},
                                     {"devices", process.devices},
                                     {"state", stateName(status, process.position.state)},
                                     {"steps_done", hasLoop ? Json(statistics.stepsDone) : Json(nullptr)},
                                     {"steps", hasLoop ? Json(statistics.stepsWanted) : Json(nullptr)},
                                     {"launches", statistics.launches},
                                     {"launch", process.position.launch},
                                     {"step", process.position.step},
                                     {"location", process.position.location},
                                     {"steps_per_second", process.rate},
                                     {"launch_seconds", static_cast<double>(statistics.launchNanoseconds) * 1e-9},
                                     {"wire_bytes", statistics.wireBytes},
                                     {"memory_bytes", statistics.residentBytes},
                                     {"heartbeat_age_seconds", static_cast<double>(process.heartbeatAgeMs) / 1000}});
    }
    std::cout << result.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
  }

  static void printTable(const spmd::JobStatus &status) {
    std::cout << stageName(status.stage) << " for " << fixed(static_cast<double>(status.uptimeMs) / 1000, 1) << " s, "
              << status.processes.size() << " of " << status.numProcesses << " processes\n";
    if (!status.verdict.empty())
      std::cout << status.verdict << "\n";
    std::vector<std::vector<std::string>> rows = {
        {"process", "host", "pid", "state", "step", "at", "steps/s", "memory", "heartbeat"}};
    for (const spmd::ProcessStatus &process : status.processes) {
      const spmd::ProcessStatistics &statistics = process.statistics;
      std::string step = statistics.stepsDone >= 0
                             ? std::to_string(statistics.stepsDone) + " of " + std::to_string(statistics.stepsWanted)
                             : std::to_string(statistics.launches);
      rows.push_back({std::to_string(process.process), process.host, std::to_string(process.pid),
                      stateName(status, process.position.state), step,
                      process.position.location.empty() ? "-" : process.position.location, fixed(process.rate, 1),
                      memoryText(statistics.residentBytes),
                      fixed(static_cast<double>(process.heartbeatAgeMs) / 1000, 1) + " s"});
    }
    std::vector<size_t> widths(rows[0].size());
    for (const auto &row : rows)
      for (size_t i = 0; i < row.size(); ++i)
        widths[i] = std::max(widths[i], row[i].size());
    for (const auto &row : rows) {
      std::string line;
      for (size_t i = 0; i < row.size(); ++i)
        line += row[i] + (i + 1 == row.size() ? "" : std::string(widths[i] - row[i].size() + 2, ' '));
      std::cout << line << "\n";
    }
  }
};

} // namespace

void addStatusCommand(CLI::App &app, int &status) {
  CLI::App *command = app.add_subcommand(
      "status", "Show each process of a running job: step, source line, rate, memory, age of its last heartbeat");
  auto state = std::make_shared<StatusCommand>();
  command->add_option("ADDRESS", state->address, "The coordinator's HOST:PORT (run --verbose prints it)")
      ->required()
      ->type_name("");
  command->add_flag("--json", state->json, "Print JSON");
  command->add_option("--token-file", state->tokenFile, "The secret of the job; by default the user's own")
      ->type_name("FILE");
  addTlsOptions(*command, state->tls, "Options");
  command->add_option("--job-id", state->jobId, "Show only this job")->type_name("ID");
  command->add_option("--timeout", state->timeout, "How long to wait for an answer (default 5)")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.1, 3600.0));
  command->callback([state, &status] { status = state->run(); });
}

} // namespace spmdc
