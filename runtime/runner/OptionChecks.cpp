//===- OptionChecks.cpp - checks of a run's options -----------------------===//

#include "runtime/runner/OptionChecks.h"

#include "runtime/api/Disagreement.h"
#include "runtime/api/Job.h"
#include "runtime/coordinator/Describe.h"
#include "runtime/runner/Inputs.h"
#include "runtime/runner/Outputs.h"
#include "runtime/runner/RunCheckpoints.h"
#include "runtime/support/CountText.h"

#include <filesystem>
#include <map>

namespace spmd {
namespace {

void checkBatches(const RunOptions &options, const Plan &plan, const CheckedRun &run) {
  const auto &batchInputs = run.batchInputs;
  if (batchInputs.empty()) {
    if (options.shuffle)
      throw Error("--shuffle orders the rows of inputs that are fed in batches; give --input NAME=batches:FILE.npy",
                  Error::Kind::Usage);
    if (options.lastBatch != LastBatch::drop)
      throw Error("--last-batch applies to inputs that are fed in batches; give --input NAME=batches:FILE.npy",
                  Error::Kind::Usage);
    return;
  }
  const ValueInfo &first = plan.params[batchInputs[0].first];
  for (const auto &[i, file] : batchInputs) {
    const ValueInfo &param = plan.params[i];
    if (param.shape.empty())
      throw Error("--input " + param.name + "=batches:" + file + ": parameter '" + param.name +
                      "' is a scalar, which has no rows",
                  Error::Kind::Usage);
    if (param.shape[0] != first.shape[0])
      throw Error("parameters '" + first.name + "' and '" + param.name + "' are fed in batches of " +
                      std::to_string(first.shape[0]) + " and " + std::to_string(param.shape[0]) +
                      " rows; the rows of a batch belong together",
                  Error::Kind::Usage);
    for (const CarriedValue &carry : run.carries)
      if (carry.parameter == i)
        throw Error("parameter '" + param.name + "' is carried from step to step and fed in batches; give one of them",
                    Error::Kind::Usage);
  }
}

void checkRestartOptions(const RunOptions &options, bool isMember) {
  const RestartOptions &restart = options.restart;
  if (restart.count > 0 && isMember)
    throw Error("--restarts applies to processes that this command starts; in a cluster, let the scheduler start the "
                "processes again, with --resume",
                Error::Kind::Usage);
  if (!restart.minProcesses)
    return;
  if (restart.count == 0)
    throw Error("--min-processes says with how few processes a job may be restarted; give --restarts N",
                Error::Kind::Usage);
  int processes = options.job.num_processes.value_or(1);
  if (*restart.minProcesses > processes)
    throw Error("--min-processes " + std::to_string(*restart.minProcesses) + " is more than --num-processes " +
                    std::to_string(processes),
                Error::Kind::Usage);
  if (options.job.local_device_ids.get())
    throw Error(
        "--min-processes changes how many devices a process has, and --local-device-ids fixes that; give one of "
        "them",
        Error::Kind::Usage);
}

/// Two outputs in one file: only the last one would remain.
void checkFiles(const RunOptions &options) {
  std::map<std::string, std::string> writers;
  auto add = [&](const std::string &what, const std::string &file) {
    if (file.empty())
      return;
    auto [known, isNew] = writers.try_emplace(std::filesystem::path(file).lexically_normal().string(), what);
    std::error_code unknown; // A path that cannot be examined fails when it is written.
    if (!isNew && !std::filesystem::is_character_file(file, unknown))
      throw Error(known->second + " and " + what + " both write '" + file + "'; give each a file of its own",
                  Error::Kind::Usage);
  };
  for (const std::string &output : options.outputs)
    add("--output " + output, output.substr(std::min(output.size(), output.find('=') + 1)));
  add("--report", options.reportFile);
  add("--profile", options.profileFile);
  add("--time-json", options.timeJson);
}

} // namespace

std::string meshText(const MeshShape &mesh) {
  std::string text;
  for (const MeshAxis &axis : mesh.axes)
    text += (text.empty() ? "" : ", ") + axis.name + "=" + std::to_string(axis.size);
  return "mesh (" + text + ")";
}

CheckedRun checkRunOptions(const RunOptions &options, const Plan &plan, bool isMember) {
  if (options.job.platform && *options.job.platform != plan.target.backend)
    throw Error("--platform is " + *options.job.platform + ", and '" + plan.name + "' is compiled for " +
                    plan.target.str() + "; compile it with --target=" + *options.job.platform,
                Error::Kind::Usage);
  checkInputs(plan, options.inputs);
  checkOutputs(plan, options.outputs);
  checkFiles(options);
  CheckedRun run{findCarries(plan, options.carries), findBatchInputs(plan, options.inputs)};
  checkBatches(options, plan, run);
  if (options.steps < 0)
    throw Error("--steps " + std::to_string(options.steps) + " is negative", Error::Kind::Usage);
  if (!run.carries.empty() && options.steps == 0)
    throw Error("--carry feeds results back from step to step; give --steps K", Error::Kind::Usage);
  if (options.steps > 0 && options.repeat > 0)
    throw Error("--steps runs a loop and --repeat times the same call; give one of them", Error::Kind::Usage);
  checkCheckpointOptions(options);
  checkRestartOptions(options, isMember);
  if (options.repeat < 0)
    throw Error("--repeat " + std::to_string(options.repeat) + " is negative", Error::Kind::Usage);
  return run;
}

std::string loopWarning(const RunOptions &options, const CheckedRun &run) {
  // Steps of one program over different batches may each have an effect, such as printing.
  if (options.steps == 0 || !run.carries.empty() || !run.batchInputs.empty())
    return "";
  return "--steps " + std::to_string(options.steps) +
         " without --carry calls the program with the same arguments each time, and keeps the last results only; give "
         "--carry NAMES to feed results back, or --repeat K to time calls";
}

bool needsResults(const Plan &plan, const RunOptions &options, const std::vector<CarriedValue> &carries) {
  std::vector<bool> isCarried(plan.results.size());
  for (const CarriedValue &carry : carries)
    isCarried[carry.result] = true;
  for (size_t i : wantedResults(plan, options.outputs, options.print || options.printShards))
    if (!isCarried[i])
      return true;
  return false;
}

int devicesPerProcess(const RunOptions &options, const Environment &environment, const MeshShape &mesh, int processes,
                      bool startsProcesses) {
  int64_t count = mesh.deviceCount();
  const auto &ids =
      options.job.local_device_ids.get() ? options.job.local_device_ids.get() : environment.localDeviceIds;
  std::optional<int> told = options.job.devices_per_process;
  if (!told && environment.devicesPerProcess)
    told = *environment.devicesPerProcess;
  if (ids)
    told = static_cast<int>(ids->size());
  std::string has = "the " + meshText(mesh) + " has " + countText(count, "device");
  if (!told) {
    if (count == 1 && processes > 1)
      throw Error("the program runs on one device, which " + std::to_string(processes) +
                      " processes cannot share; give it a mesh when it is compiled, such as --mesh a=" +
                      std::to_string(processes),
                  Error::Kind::Usage);
    if (count % processes != 0)
      throw Error(has + " and " + std::to_string(processes) +
                      " processes cannot share them equally; give --devices-per-process or another number",
                  Error::Kind::Usage);
    return static_cast<int>(count / processes);
  }
  if (startsProcesses || processes == 1)
    if (static_cast<int64_t>(*told) * processes != count)
      throw Error(has + " and " + countText(processes, "process", "processes") + " with " + countText(*told, "device") +
                      (processes == 1 ? "" : " each") + " make " +
                      std::to_string(static_cast<int64_t>(*told) * processes) +
                      "; give --num-processes and --devices-per-process whose product is " + std::to_string(count),
                  Error::Kind::Usage);
  return *told;
}

void checkJobDevices(const Topology &topology, const MeshShape &mesh) {
  if (topology.deviceCount() == mesh.deviceCount())
    return;
  std::map<int64_t, std::vector<int32_t>> processes;
  std::map<int32_t, std::string> counts;
  for (const ProcessInfo &process : topology.processes) {
    processes[process.deviceCount()].push_back(process.index);
    counts[process.index] = std::to_string(process.deviceCount());
  }
  std::string text;
  for (const auto &[count, those] : processes)
    text += std::to_string(count) + " on " + coordinator::describeProcesses(those) + "; ";
  text += "together they have " + std::to_string(topology.deviceCount()) + ", and the " + meshText(mesh) + " has " +
          std::to_string(mesh.deviceCount());
  if (auto found = findDisagreement(counts))
    throw SharedError("the processes were started with different options: --devices-per-process differs: " + text,
                      found->others.front());
  throw SharedError("the number of devices of the processes differs from that of the mesh: " + text +
                        "; give --num-processes and --devices-per-process whose product is that number",
                    SharedError::nobody);
}

std::string sharedFileWarning(const RunOptions &options, const Topology &topology, int32_t process) {
  auto isShared = [](const std::string &file) { return !file.empty() && file.find("{process}") == std::string::npos; };
  bool isReport = isShared(options.reportFile);
  if (!isReport && !isShared(options.profileFile))
    return "";
  const std::string &file = isReport ? options.reportFile : options.profileFile;
  for (const ProcessInfo &other : topology.processes)
    if (other.index < process && other.bootId == topology.processes[process].bootId)
      return (isReport ? "--report " : "--profile ") + file + ": if process " + std::to_string(other.index) +
             " of this host writes that file, too, only the last one's content remains; use {process} in its name";
  return "";
}

} // namespace spmd
