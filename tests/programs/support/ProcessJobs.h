//===- ProcessJobs.h - programs run by several real processes ---*- C++ -*-===//
//
// Jobs of real processes (program-worker), joined through the coordinator, with collectives in shared memory or,
// between processes that are told to be on different hosts, over the network. A job runs one program after the other. A
// program runs on several jobs: in one process, in one for each device, and in between, on one host and on several, on
// devices in order and in any other order; every layout must give the same bits. Their devices are CPUs, or GPUs of the
// doubles of NVIDIA's libraries (tests/runtime/device/cuda/libcuda), with NCCL between the processes.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/artifact/Plan.h"

#include <memory>
#include <string>
#include <vector>

namespace spmdc {

/// One full result as row-major bytes.
using ResultBytes = std::vector<char>;

class ProcessJobs {
public:
  /// `gpuLibraries` is the folder with the doubles of NVIDIA's libraries; empty: the devices are CPUs.
  explicit ProcessJobs(std::string workerProgram, std::string gpuLibraries = "");
  ~ProcessJobs();
  ProcessJobs(const ProcessJobs &) = delete;
  ProcessJobs &operator=(const ProcessJobs &) = delete;

  /// Starts the jobs for programs of so many devices. To be called in the process that owns this object, before a
  /// forked process calls `run`. Throws spmd::Error.
  void prepare(int64_t devices);

  /// Runs the program on every layout for it. Returns "", or how a run failed or two layouts differ. `seed` chooses the
  /// order of devices. Arguments are row-major bytes.
  std::string run(const spmd::Artifact &artifact, const std::vector<std::vector<char>> &arguments, uint64_t seed,
                  std::vector<ResultBytes> &results);

  /// Ends all jobs: after a failure their processes may be in any state.
  void reset();

private:
  class Job;
  /// By process.
  struct Layout {
    std::vector<int> devices, hosts;
    bool operator==(const Layout &) const = default;
    int64_t deviceCount() const;
    /// Returns `2@0,2@1`: two devices on host 0, two on host 1.
    std::string str() const;
  };
  static std::vector<Layout> layoutsFor(int64_t devices);
  Job &jobOf(const Layout &layout);

  std::string workerProgram, gpuLibraries;
  std::vector<std::unique_ptr<Job>> jobs;
};

} // namespace spmdc
