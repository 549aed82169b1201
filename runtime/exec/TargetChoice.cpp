//===- TargetChoice.cpp - which target of a file runs here ----------------===//

#include "runtime/exec/TargetChoice.h"

#include "runtime/artifact/ArtifactReader.h"
#include "runtime/artifact/TargetAgreement.h"
#include "runtime/device/LocalDevices.h"
#include "runtime/device/cuda/Architecture.h"
#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/exec/cpu/CpuFeatures.h"
#include "runtime/support/Error.h"

#include <algorithm>

namespace spmd {
namespace {

using cuda::Architecture;

std::string architectureName(int capability) { return "sm_" + std::to_string(capability); }

std::vector<std::string> missingHere(const TargetInfo &target, const TargetMachine &machine) {
  return machine.missingFeatures ? machine.missingFeatures(target.features) : missingCpuFeatures(target.features);
}

/// Returns how well a target suits the machine: 0 if it does not run there, otherwise more for a better one.
int rankOf(const TargetInfo &target, const TargetMachine &machine) {
  if (target.backend != machine.platform)
    return 0;
  if (target.backend == "cpu")
    return missingHere(target, machine).empty() ? 1 + static_cast<int>(target.features.size()) : 0;
  std::optional<Architecture> architecture = Architecture::parse(target.cpu);
  bool runs = architecture && !machine.gpus.empty() &&
              std::all_of(machine.gpus.begin(), machine.gpus.end(),
                          [&](const TargetMachine::Gpu &gpu) { return architecture->runsOn(gpu.capability); });
  return runs ? 1 + 2 * architecture->number + (architecture->isSpecific ? 1 : 0) : 0;
}

bool hasPlatform(const std::vector<TargetInfo> &targets, const std::string &platform) {
  return std::any_of(targets.begin(), targets.end(),
                     [&](const TargetInfo &target) { return target.backend == platform; });
}

/// Returns why no target runs, and the remedy, as the end of a sentence.
std::string whyNone(const std::vector<TargetInfo> &targets, const TargetMachine &machine) {
  std::string remedy = "; compile it with --target=" + machine.platform;
  if (!hasPlatform(targets, machine.platform))
    return ", and the platform is " + machine.platform + remedy + ", too";
  if (machine.platform == "cpu") {
    std::string lacks;
    for (const TargetInfo &target : targets)
      if (target.backend == "cpu")
        for (const std::string &feature : missingHere(target, machine))
          lacks += (lacks.empty() ? "" : ", ") + feature + " (" + target.str() + ")";
    return ", but this CPU lacks " + lacks + "; compile it with --target=cpu:<its name>, too";
  }
  if (machine.gpus.empty())
    return ", but " + machine.whyNoGpus +
           (hasPlatform(targets, "cpu") ? "; give --platform=cpu" : "; compile it with --target=cpu, too");
  int least = machine.gpus.front().capability;
  for (const TargetMachine::Gpu &gpu : machine.gpus)
    least = std::min(least, gpu.capability);
  return ", and none of them runs on " + describeGpus(machine) + remedy + ":" + architectureName(least) + ", too";
}

/// Returns the GPUs of this machine that are wished; none, with the reason, if there is no driver.
void findGpus(TargetMachine &machine, const std::optional<std::vector<int32_t>> &wished) {
  std::shared_ptr<const cuda::Driver> driver = cuda::Driver::load(&machine.whyNoGpus);
  for (int i = 0; driver && i < driver->getGpuCount(); ++i) {
    if (wished && std::find(wished->begin(), wished->end(), i) == wished->end())
      continue;
    machine.gpus.push_back({"GPU " + std::to_string(i), driver->readCapability(i)});
  }
  if (driver && machine.gpus.empty())
    machine.whyNoGpus = "this machine has no GPU of the numbers in --local-device-ids";
}

} // namespace

std::string describeGpus(const TargetMachine &machine) {
  std::string text;
  for (const TargetMachine::Gpu &gpu : machine.gpus)
    text += (text.empty() ? "" : ", ") + gpu.name + " with " + architectureName(gpu.capability);
  return text;
}

std::optional<size_t> findTarget(const std::vector<TargetInfo> &targets, const TargetMachine &machine) {
  std::optional<size_t> best;
  int bestRank = 0;
  for (size_t i = 0; i < targets.size(); ++i)
    if (int rank = rankOf(targets[i], machine); rank > bestRank) {
      best = i;
      bestRank = rank;
    }
  return best;
}

size_t chooseTarget(const std::vector<TargetInfo> &targets, const std::string &file, const TargetMachine &machine) {
  if (std::optional<size_t> best = findTarget(targets, machine))
    return *best;
  throw Error("'" + file + "' is compiled for " + targetList(targets) + whyNone(targets, machine));
}

TargetChooser targetChooserFor(std::vector<DeviceRef> devices) {
  return [devices = std::move(devices)](const ArtifactReader &file, const std::string &name) {
    std::vector<TargetInfo> targets = file.getTargets();
    if (targets.size() == 1) // The executor checks it, and names the device that does not fit.
      return size_t{0};
    TargetMachine machine;
    machine.platform = devices.front()->getBackend();
    for (const DeviceRef &device : devices)
      if (machine.platform == "cuda") {
        const cuda::Gpu &gpu = static_cast<CudaDevice &>(*device).getGpu();
        machine.gpus.push_back(
            {"GPU " + std::to_string(gpu.getOrdinal()) + " (" + gpu.getName() + ")", gpu.getCapability()});
      }
    return chooseTarget(targets, name, machine);
  };
}

TargetMachine findMachine(const std::vector<TargetInfo> &targets, const TargetWish &wish) {
  if (wish.platform && !isPlatform(*wish.platform))
    throw Error("platform is '" + *wish.platform + "'; give " + platformNames() + " (SPMD_PLATFORM)",
                Error::Kind::Usage);
  TargetMachine machine;
  machine.platform = wish.platform.value_or("cuda");
  if (machine.platform == "cuda" && hasPlatform(targets, "cuda"))
    findGpus(machine, wish.gpus);
  if (!wish.platform && !findTarget(targets, machine) && hasPlatform(targets, "cpu"))
    machine.platform = "cpu";
  return machine;
}

} // namespace spmd
