//===- CuptiRecords.h - records of device work, by run ----------*- C++ -*-===//
//
// CUPTI delivers the records of a process in buffers, in any order, on any thread. Those of a run are found by numbers:
// a thread that queues work is in a region, whose external id is the number of the run and that of the region; a record
// with this id and a correlation id precedes each call, and the record of a kernel or copy has that correlation id.
// Work without a region belongs to a run if it is on the run's stream of transfers, since NCCL queues work on threads
// of its own.
//
// Example: run = open(0); read(...) of a buffer with {external id run << 32 | 5, correlation 71} and {kernel,
// correlation 71, 100 ns to 300 ns}; collect(run) returns the work {100, 300, region 5}.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/CuptiEntries.h"

#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace spmd::cuda {

/// A stream as CUPTI counts: the ids of its context and itself.
using CuptiStreamId = std::pair<uint32_t, uint32_t>;

/// A kernel, a copy, or a memset.
struct CuptiWork {
  static constexpr uint32_t kNoRegion = UINT32_MAX;

  uint64_t start = 0, end = 0; ///< Nanoseconds of CUPTI's clock.
  uint32_t region = kNoRegion;
  uint32_t correlation = 0; ///< Grows from call to call.
  CuptiStreamId stream;
};

/// Thread-safe.
class CuptiRecords {
public:
  struct Run {
    std::vector<CuptiWork> work;
    std::map<uint32_t, uint32_t> firstCalls; ///< Correlation id of a call of each region, by region: the least one.
    std::string problem;                     ///< Set once records of the run are lost or damaged.
    uint64_t beganNs = 0;                    ///< Of CUPTI's clock.
  };

  static uint64_t makeId(uint32_t run, uint32_t region) { return static_cast<uint64_t>(run) << 32 | region; }

  /// Begins a run at this time of CUPTI's clock, and returns its number.
  uint32_t open(uint64_t beganNs);
  /// Forgets a run, and work that ended before all others that are open.
  void close(uint32_t run);
  /// Returns the number of kernels and copies that no run has collected.
  size_t countPending();
  /// Reads the records of a buffer that has these bytes. Records of other kinds and of closed runs are skipped.
  void read(const CuptiEntries &entries, uint8_t *buffer, size_t bytes, size_t validBytes);
  /// Sets the problem of all open runs.
  void lose(const std::string &problem);
  /// Returns what has been read of the run so far. `transfers` is the stream on which work without a region belongs to
  /// the run.
  Run collect(uint32_t run, CuptiStreamId transfers);

private:
  void add(uint32_t kind, const uint8_t *record, size_t bytes);
  void addWork(const CuptiWork &work);
  void loseAll(const std::string &problem);

  std::mutex mutex; ///< Guards all members.
  std::map<uint32_t, Run> runs;
  std::unordered_map<uint32_t, uint64_t> externalIds; ///< By correlation id, of open runs.
  std::vector<CuptiWork> pending;                     ///< Work that no run has collected.
  uint32_t nextRun = 1;
};

} // namespace spmd::cuda
