//===- RunCommandLine.cpp - the options of `run` --------------------------===//

#include "tools/common/RunCommandLine.h"

#include "runtime/coordinator/Protocol.h"
#include "runtime/device/LocalDevices.h"

#include <CLI/CLI.hpp>

#include <charconv>
#include <filesystem>
#include <iostream>
#include <unistd.h>

namespace spmdc {
namespace {

using Milliseconds = std::chrono::milliseconds;

/// Adds an option in seconds, which may have a fraction.
void addSeconds(CLI::App &app, const std::string &name, std::optional<Milliseconds> &target, const std::string &help) {
  app.add_option_function<double>(
         name, [&target](const double &seconds) { target = Milliseconds(static_cast<int64_t>(seconds * 1000 + 0.5)); },
         help)
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 1e9))
      ->group("Running");
}

std::string secondsText(Milliseconds value) { return std::to_string(static_cast<double>(value.count()) / 1000); }

/// Parses a comma-separated list: `0,1`.
std::vector<int32_t> parseIds(const std::string &text) {
  std::vector<int32_t> ids;
  const char *begin = text.data(), *end = begin + text.size();
  while (true) {
    int32_t id = 0;
    auto [rest, error] = std::from_chars(begin, end, id);
    if (error != std::errc() || (rest != end && *rest != ','))
      throw CLI::ValidationError("--local-device-ids", "'" + text + "' is not a list of numbers such as 0,1");
    ids.push_back(id);
    if (rest == end)
      return ids;
    begin = rest + 1;
  }
}

} // namespace

void addJobOptions(CLI::App &app, spmd::InitializeOptions &job) {
  const char *group = "Running";
  app.add_option("-n,--num-processes", job.num_processes,
                 "Number of processes; without a coordinator address they are started on this machine")
      ->type_name("N")
      ->check(CLI::Range(1, spmd::coordinator::maxProcesses))
      ->group(group);
  app.add_option("--devices-per-process", job.devices_per_process, "CPU devices of each process")
      ->type_name("D")
      ->check(CLI::Range(1, 4096))
      ->group(group);
  app.add_option("--platform", job.platform,
                 "The devices: " + spmd::platformNames() +
                     " (default: those of the program; of an artifact for several targets, cuda where it runs)")
      ->type_name("PLATFORM")
      ->check(CLI::Validator(
          [](std::string &text) {
            return spmd::isPlatform(text) ? std::string()
                                          : "'" + text + "' is not a platform; give " + spmd::platformNames();
          },
          ""))
      ->group(group);
  app.add_option("--coordinator-address", job.coordinator_address, "Host and port of process 0: join its job")
      ->type_name("HOST:PORT")
      ->group(group);
  app.add_option("--coordinator-bind-address", job.coordinator_bind_address, "Where process 0 listens")
      ->type_name("HOST[:PORT]")
      ->group(group);
  app.add_option("--process-id", job.process_id, "Which process of the job this is, from 0")
      ->type_name("I")
      ->group(group);
  app.add_option_function<std::string>(
         "--local-device-ids", [&job](const std::string &text) { job.local_device_ids = parseIds(text); },
         "Numbers of this machine's devices to use: 0,1")
      ->type_name("IDS")
      ->group(group);
  addSeconds(app, "--initialization-timeout", job.initialization_timeout,
             "How long to wait for all processes (default 300)");
  addSeconds(app, "--heartbeat-timeout", job.heartbeat_timeout,
             "A process without heartbeats for this long counts as lost (default 10)");
  addSeconds(app, "--collective-timeout", job.collective_timeout,
             "A process that is stuck for this long is an error (default 300; 0: never)");
  app.add_option("--job-id", job.job_id, "Distinguishes jobs at one coordinator address")
      ->type_name("ID")
      ->group(group);
  app.add_option("--token-file", job.token_file, "The secret that the processes share")
      ->type_name("FILE")
      ->group(group);
  addTlsOptions(app, job, group);
}

void addTlsOptions(CLI::App &app, spmd::InitializeOptions &job, const std::string &group) {
  auto add = [&](const char *name, std::optional<std::string> &file, const char *help) {
    app.add_option(name, file, help)->type_name("FILE")->group(group);
  };
  add("--tls-cert", job.tls_cert, "Connect by TLS only: this process's certificate (PEM)");
  add("--tls-key", job.tls_key, "Its key");
  add("--tls-ca", job.tls_ca, "The authority that has signed the certificates of all processes");
}

void addReportOption(CLI::App &app, std::string &file) {
  app.add_option("--report", file,
                 "Write the outcome of the run as JSON: root cause, processes, steps ({process}: the process's number)")
      ->type_name("FILE")
      ->group("Running");
}

void addRestartOptions(CLI::App &app, spmd::RestartOptions &options) {
  const char *group = "Running";
  app.add_option(
         "--restarts", options.count,
         "Restart this many times after a fault (a process is killed, lost, or stuck), from the newest checkpoint if "
         "there is one")
      ->type_name("N")
      ->check(CLI::Range(0, 1'000'000))
      ->group(group);
  app.add_option_function<double>(
         "--restart-delay",
         [&options](const double &seconds) {
           options.delay = Milliseconds(static_cast<int64_t>(seconds * 1000 + 0.5));
         },
         "Delay before the first restart; doubles each time, up to a minute (default 1)")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 60.0))
      ->group(group);
  app.add_option("--min-processes", options.minProcesses,
                 "Restart without the processes that died, with at least this many (default: as many as before)")
      ->type_name("N")
      ->check(CLI::Range(1, spmd::coordinator::maxProcesses))
      ->group(group);
}

void addRunOptions(CLI::App &app, spmd::RunOptions &options) {
  const char *group = "Running";
  addJobOptions(app, options.job);
  app.add_option("--input", options.inputs,
                 "An argument: NAME=FILE (.npy; a struct: .npz, .safetensors), or NAME=zeros, ones, iota, normal:SEED, "
                 "key:SEED "
                 "(a random key), or NAME=batches:FILE.npy: the next rows at each step")
      ->type_name("NAME=SPEC")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false)
      ->group(group);
  app.add_option("--shuffle", options.shuffle, "Shuffle the rows of batches in each epoch, with this seed")
      ->type_name("SEED")
      ->group(group);
  app.add_option_function<std::string>(
         "--last-batch",
         [&options](const std::string &last) {
           options.lastBatch = last == "wrap" ? spmd::LastBatch::wrap : spmd::LastBatch::drop;
         },
         "Incomplete batch at the end of an epoch: drop it, or fill it from the next epoch (default drop)")
      ->type_name("drop|wrap")
      ->check(CLI::IsMember({"drop", "wrap"}))
      ->group(group);
  app.add_option("--output", options.outputs, "Write a result: NAME=FILE (.npy, .npz, .safetensors)")
      ->type_name("NAME=FILE")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false)
      ->group(group);
  app.add_flag("--print", options.print, "Process 0 prints the results")->group(group);
  app.add_flag("--print-shards", options.printShards, "Each process prints the shards of its devices")->group(group);
  app.add_option("--repeat", options.repeat, "Time this many more calls")
      ->type_name("K")
      ->check(CLI::Range(0, 1 << 30))
      ->group(group);
  app.add_option("--steps", options.steps, "Call this many times, and pass the results of --carry to the next call")
      ->type_name("K")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 40))
      ->group(group);
  app.add_option("--carry", options.carries,
                 "Results that the next step takes as parameters of the same name: p,m,v; donated: all that have a "
                 "parameter's name, as those do for which JAX donates an argument")
      ->type_name("NAMES")
      ->delimiter(',')
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false)
      ->group(group);
  app.add_option("--checkpoint-dir", options.checkpointDirectory,
                 "Folder of checkpoints: the values of --carry, after every --checkpoint-every steps and at the end")
      ->type_name("DIR")
      ->group(group);
  app.add_option("--checkpoint-every", options.checkpointEvery, "Save after every N steps")
      ->type_name("N")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 40))
      ->group(group);
  app.add_option("--checkpoint-keep", options.checkpointKeep, "Keep the N newest checkpoints (default: all)")
      ->type_name("N")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 40))
      ->group(group);
  app.add_flag_function(
         "--resume{-1}", [&options](int64_t step) { options.resume = step; },
         "Continue from the newest checkpoint that is not damaged, or (--resume=N) from that of step N")
      ->check(
          [](const std::string &step) {
            bool isStep =
                !step.empty() && step.size() < 19 && step.find_first_not_of("0123456789") == std::string::npos;
            return isStep || step == "-1" ? "" : "'" + step + "' is not a step; --resume=N takes a number, from 0 on";
          },
          "", "")
      ->group(group);
  app.add_flag("--resume-partial", options.resumePartial,
               "With --resume: restore only the values of --carry; ignore other values of the checkpoint, which start "
               "from --input")
      ->group(group);
  app.add_option("--time-json", options.timeJson, "Write the times to this file")->type_name("FILE")->group(group);
  addReportOption(app, options.reportFile);
  app.add_option_function<std::string>(
         "--log-format",
         [&options](const std::string &format) {
           options.logFormat = format == "json" ? spmd::LogFormat::Json : spmd::LogFormat::Text;
         },
         "Log messages as text, or as one JSON object a line (default text)")
      ->type_name("text|json")
      ->check(CLI::IsMember({"text", "json"}))
      ->group(group);
  app.add_flag("--check-nans", options.checkNans, "A NaN in a result is an error that names the step that computed it")
      ->group(group);
  app.add_option(
         "--profile", options.profileFile,
         "Write a trace of every step on every device, for Perfetto or chrome://tracing ({process}: the number)")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--metrics-port", options.metricsPort,
                 "Process 0 serves the metrics of all processes as Prometheus text on loopback; 0: any port")
      ->type_name("PORT")
      ->check(CLI::Range(0, 65535))
      ->group(group);
  addRestartOptions(app, options.restart);
  app.add_flag("--verbose", options.verbose, "Log more: the coordinator's address, pids of the processes")
      ->group(group);
  options.showProgress = isatty(STDERR_FILENO);
  // The launcher passes these to the processes that it starts; --help does not show them.
  app.add_option("--internal-compile-ms", options.compileMs)->group("");
  app.add_option("--internal-profile-part", options.profilePart)->group("");
  app.add_option("--internal-started-at", options.startedAtNs)->group("");
}

std::vector<std::string> runArguments(const spmd::RunOptions &options) {
  std::vector<std::string> arguments;
  auto add = [&](const std::string &name, const std::string &value) { arguments.push_back(name + "=" + value); };
  auto addTimeout = [&](const std::string &name, const std::optional<Milliseconds> &value) {
    if (value)
      add(name, secondsText(*value));
  };
  addTimeout("--initialization-timeout", options.job.initialization_timeout);
  addTimeout("--heartbeat-timeout", options.job.heartbeat_timeout);
  addTimeout("--collective-timeout", options.job.collective_timeout);
  if (const auto &ids = options.job.local_device_ids.get()) {
    std::string list;
    for (int32_t id : *ids)
      list += (list.empty() ? "" : ",") + std::to_string(id);
    add("--local-device-ids", list);
  }
  if (options.job.platform)
    add("--platform", *options.job.platform);
  if (options.job.job_id)
    add("--job-id", *options.job.job_id);
  if (options.job.token_file)
    add("--token-file", *options.job.token_file);
  for (auto [name, file] : {std::pair("--tls-cert", &options.job.tls_cert),
                            std::pair("--tls-key", &options.job.tls_key), std::pair("--tls-ca", &options.job.tls_ca)})
    if (*file)
      add(name, **file);
  for (const std::string &input : options.inputs)
    add("--input", input);
  if (options.shuffle)
    add("--shuffle", std::to_string(*options.shuffle));
  if (options.lastBatch == spmd::LastBatch::wrap)
    add("--last-batch", "wrap");
  for (const std::string &output : options.outputs)
    add("--output", output);
  if (options.print)
    arguments.push_back("--print");
  if (options.printShards)
    arguments.push_back("--print-shards");
  if (options.repeat)
    add("--repeat", std::to_string(options.repeat));
  if (options.steps)
    add("--steps", std::to_string(options.steps));
  for (const std::string &name : options.carries)
    add("--carry", name);
  if (!options.checkpointDirectory.empty())
    add("--checkpoint-dir", options.checkpointDirectory);
  if (options.checkpointEvery)
    add("--checkpoint-every", std::to_string(options.checkpointEvery));
  if (options.checkpointKeep)
    add("--checkpoint-keep", std::to_string(options.checkpointKeep));
  if (options.resume)
    add("--resume", std::to_string(*options.resume));
  if (options.resumePartial)
    arguments.push_back("--resume-partial");
  if (!options.timeJson.empty())
    add("--time-json", options.timeJson);
  if (options.checkNans)
    arguments.push_back("--check-nans");
  if (!options.profilePart.empty())
    add("--internal-profile-part", options.profilePart);
  if (options.metricsPort)
    add("--metrics-port", std::to_string(*options.metricsPort));
  if (options.logFormat == spmd::LogFormat::Json)
    add("--log-format", "json");
  add("--internal-compile-ms", std::to_string(options.compileMs));
  add("--internal-started-at", std::to_string(options.startedAtNs));
  return arguments;
}

std::string ownExecutable() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

spmd::LogFormat logFormatOf(int argc, char **argv) {
  for (int i = 1; i < argc && argv[i] != std::string_view("--"); ++i) {
    std::string_view argument = argv[i];
    if (argument == "--log-format=json" ||
        (argument == "--log-format" && i + 1 < argc && argv[i + 1] == std::string_view("json")))
      return spmd::LogFormat::Json;
  }
  return spmd::LogFormat::Text;
}

int usageStatus(const CLI::App &app, const CLI::Error &error, spmd::LogFormat format) {
  if (error.get_exit_code() == 0) // --help, --version.
    return app.exit(error, std::cout, std::cerr);
  spmd::RunLog(std::cerr, app.get_name(), format).write(spmd::RunLog::Level::Error, error.what());
  if (format == spmd::LogFormat::Text)
    std::cerr << app.get_name() << " --help lists the options\n";
  return 2;
}

} // namespace spmdc
