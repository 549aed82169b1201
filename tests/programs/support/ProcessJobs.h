//===- ProcessJobs.h - programs run by several real processes ---*- C++ -*-===//
//
// Jobs of real processes (program-worker), joined through the coordinator, with collectives in shared memory. A job
// stays and runs one program after the other. A program runs on several of them: in one process, in one for each
// device, and in between, on devices in order and in any other order; every layout must give the same bits.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/artifact/Plan.h"

#include <memory>
#include <string>
#include <vector>

namespace spmdc {

/// One result on the whole, row-major bytes.
using ResultBytes = std::vector<char>;

class ProcessJobs {
public:
  explicit ProcessJobs(std::string workerProgram);
  ~ProcessJobs();
  ProcessJobs(const ProcessJobs &) = delete;
  ProcessJobs &operator=(const ProcessJobs &) = delete;

  /// Starts the jobs on which programs of so many devices run. To be called in the process that owns this object before
  /// a forked one calls `run`. Throws spmd::Error.
  void prepare(int64_t devices);

  /// Runs the program on every layout for it. Empty, or how a run failed or two layouts differ. `seed` chooses the
  /// order of devices. Arguments are row-major bytes.
  std::string run(const spmd::Artifact &artifact, const std::vector<std::vector<char>> &arguments, uint64_t seed,
                  std::vector<ResultBytes> &results);

  /// Ends all jobs: after a failure their processes may be anywhere.
  void reset();

private:
  class Job;
  /// Devices of each process: `2,2` makes a job.
  static std::vector<std::vector<int>> layoutsFor(int64_t devices);
  Job &jobOf(const std::vector<int> &layout);

  std::string workerProgram;
  std::vector<std::unique_ptr<Job>> jobs;
};

} // namespace spmdc
