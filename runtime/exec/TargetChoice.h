//===- TargetChoice.h - which target of a file runs here --------*- C++ -*-===//
//
// A .spmdx file may have a program for each of several targets (docs/artifact.md). One of them is loaded: the best that
// runs on all devices of this process. The processes of a job compare the programs that they have chosen when they
// join.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/artifact/ArtifactFile.h"
#include "runtime/device/Device.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace spmd {

/// The CPU or the GPUs that a program must run on.
struct TargetMachine {
  struct Gpu {
    std::string name;   ///< `GPU 0 (NVIDIA H100 80GB HBM3)`.
    int capability = 0; ///< 90 for compute capability 9.0.
  };
  std::string platform = "cpu"; ///< `cpu` or `cuda`.
  std::vector<Gpu> gpus = {};   ///< Of the platform cuda.
  /// Of the platform cuda without GPUs: the reason, as a clause.
  std::string whyNoGpus = {};
  /// Returns those of LLVM's feature names that this CPU lacks; null: missingCpuFeatures.
  std::function<std::vector<std::string>(const std::vector<std::string> &)> missingFeatures = nullptr;
};

/// Returns the index of the best target of the machine's platform that runs on it: for GPUs the newest architecture
/// that all of them run (sm_90a before sm_90, and only on 9.0; the driver translates PTX of an older one), for CPUs the
/// one with the most features. Of equal ones the first. Throws spmd::Error that lists the targets if none runs; `file`
/// is the name for messages.
size_t chooseTarget(const std::vector<TargetInfo> &targets, const std::string &file, const TargetMachine &machine);
/// The same; nullopt if none runs.
std::optional<size_t> findTarget(const std::vector<TargetInfo> &targets, const TargetMachine &machine);
/// `GPU 0 with sm_80, GPU 1 with sm_90`.
std::string describeGpus(const TargetMachine &machine);

/// Chooses for the devices of a job, at least one.
TargetChooser targetChooserFor(std::vector<DeviceRef> devices);

/// The wishes of a process before it joins a job and has devices.
struct TargetWish {
  std::optional<std::string> platform = {}; ///< `cpu` or `cuda`; nullopt: cuda if a target runs on the GPUs.
  /// The numbers of the GPUs to use; nullopt: all that the driver lists. Numbers that it does not list are ignored.
  std::optional<std::vector<int32_t>> gpus = {};
};

/// Returns the machine for which one of these targets is wished to run here. Looks for GPUs only if one of the targets
/// is for them; `gpus` has those that were found, also if no target runs on them and the platform is therefore cpu.
/// Throws a usage error for an unknown platform.
TargetMachine findMachine(const std::vector<TargetInfo> &targets, const TargetWish &wish);

} // namespace spmd
