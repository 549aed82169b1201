//===- ProcessLaunch.cpp - the processes that `run` starts ----------------===//

#include "runtime/runner/ProcessLaunch.h"

#include "runtime/api/Job.h"
#include "runtime/artifact/ArtifactFile.h"
#include "runtime/checkpoint/CheckpointDirectory.h"
#include "runtime/coordinator/Launcher.h"
#include "runtime/runner/OptionChecks.h"
#include "runtime/support/File.h"
#include "runtime/support/Process.h"
#include "runtime/support/Token.h"

#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace spmd {
namespace {

/// Returns a file in memory that has the artifact; children read it through /proc. The program is compiled once, and no
/// file is left behind.
UniqueFd shareArtifact(const Artifact &artifact) {
  std::string bytes = encodeArtifact(artifact);
  UniqueFd fd(memfd_create("spmd-artifact", MFD_CLOEXEC));
  size_t written = 0;
  while (fd && written < bytes.size()) {
    ssize_t count = write(fd.get(), bytes.data() + written, bytes.size() - written);
    if (count <= 0)
      break;
    written += static_cast<size_t>(count);
  }
  if (written < bytes.size())
    throw Error("no memory to pass the program to its processes: " + writeProblem(errno));
  return fd;
}

} // namespace

int launchProcesses(const ProcessLaunch &run) {
  const RunOptions &options = run.options;
  const Artifact &artifact = run.artifact;
  UniqueFd shared = shareArtifact(artifact), profile;
  RunOptions current = options;
  if (!options.profileFile.empty()) {
    profile = UniqueFd(memfd_create("spmd-profile", MFD_CLOEXEC));
    if (!profile)
      throw Error(std::string("no memory for the profile: ") + systemErrorText(errno));
    current.profilePart = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(profile.get());
  }
  LaunchOptions launchOptions;
  launchOptions.numProcesses = options.job.num_processes.value_or(1);
  auto fill = [&](LaunchOptions &launch) {
    launch.environment.clear();
    current.job.num_processes = launch.numProcesses;
    int devices = static_cast<int>(artifact.plan.mesh.deviceCount() / launch.numProcesses);
    if (launch.numProcesses == options.job.num_processes.value_or(1))
      devices = devicesPerProcess(options, run.environment, artifact.plan.mesh, launch.numProcesses,
                                  /*startsProcesses=*/true);
    if (!options.job.local_device_ids.get())
      launch.environment = {{"SPMD_DEVICES_PER_PROCESS", std::to_string(devices)}};
    launch.command =
        run.request.childCommand(current, "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(shared.get()));
  };
  fill(launchOptions);
  if (!options.checkpointDirectory.empty())
    launchOptions.terminationTime = std::chrono::hours(24); // A second signal ends the processes sooner.
  if (options.verbose)
    launchOptions.started = [&](const std::vector<pid_t> &pids, const std::string &address) {
      run.log.writeStarted(pids, address);
    };
  if (launchOptions.numProcesses > 1)
    resolveTls(options.job, run.environment); // Reports an error once, instead of once for each process.
  launchOptions.statusToken = findStatusToken(run.environment, options.job.token_file.value_or(""));
  RestartOptions restart = options.restart;
  restart.fit = [&](int32_t most) {
    while (most > 0 && artifact.plan.mesh.deviceCount() % most != 0)
      --most;
    return most;
  };
  // Until this run has saved, the folder may have checkpoints of another run, which count only if the user gave
  // --resume. After that it has only checkpoints that this run continues.
  LaunchResult result = launchWithRestarts(launchOptions, restart, run.log, run.report,
                                           [&](LaunchOptions &launch, const LaunchResult &ended) {
                                             for (const ChildReport &told : ended.reports)
                                               if (told.savedStep)
                                                 current.resume = -1;
                                             fill(launch);
                                             if (current.resume != -1)
                                               return current.resume;
                                             std::vector<int64_t> steps = findCheckpoints(options.checkpointDirectory);
                                             return steps.empty() ? std::nullopt : std::optional(steps.back());
                                           });
  bool isProfileWritten = !profile || run.writeProfile(MappedFile(current.profilePart).bytes());
  if (result.culprit && result.culprit->signal != 0 && result.interruptedBy == 0 && !result.isReaderGone())
    run.log.write(RunLog::Level::Error, result.culprit->str(), result.verdict());
  int status = result.exitStatus();
  return status == 0 && !isProfileWritten ? 1 : status;
}

} // namespace spmd
