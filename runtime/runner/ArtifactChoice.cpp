//===- ArtifactChoice.cpp - the program of a file for a run ---------------===//

#include "runtime/runner/ArtifactChoice.h"

#include "runtime/artifact/ArtifactReader.h"
#include "runtime/artifact/TargetAgreement.h"
#include "runtime/exec/TargetChoice.h"
#include "runtime/runner/RunLog.h"
#include "runtime/support/Env.h"

#include <iostream>
#include <numeric>

namespace spmd {
namespace {

TargetWish wishOf(const RunOptions &options, const MeshShape &mesh) {
  Environment environment = Environment::read(/*isAlone=*/true);
  TargetWish wish;
  wish.platform = options.job.platform ? options.job.platform : environment.platform;
  const std::optional<std::vector<int32_t>> &ids = options.job.local_device_ids.get();
  wish.gpus = ids ? ids : environment.localDeviceIds;
  if (!wish.gpus) {
    wish.gpus.emplace(static_cast<size_t>(mesh.deviceCount()));
    std::iota(wish.gpus->begin(), wish.gpus->end(), 0);
  }
  return wish;
}

} // namespace

std::shared_ptr<const Artifact> loadArtifact(const std::string &path, const RunOptions &options,
                                             const std::string &command) {
  RunLog log(std::cerr, command, options.logFormat);
  auto choose = [&](const ArtifactReader &file, const std::string &name) {
    std::vector<TargetInfo> targets = file.getTargets();
    if (targets.size() == 1)
      return size_t{0};
    TargetWish wish = wishOf(options, file.getProgram(0).plan.mesh);
    TargetMachine machine = findMachine(targets, wish);
    size_t target = chooseTarget(targets, name, machine);
    std::string chosen =
        "'" + name + "' is compiled for " + targetList(targets) + "; this process runs " + targets[target].str();
    if (machine.platform == "cpu" && !machine.gpus.empty())
      log.write(RunLog::Level::Warning, chosen + ", because none of them runs on " + describeGpus(machine));
    else if (options.verbose)
      log.write(RunLog::Level::Info, chosen);
    return target;
  };
  return std::make_shared<const Artifact>(readArtifact(path, choose));
}

} // namespace spmd
