//===- Cupti.h - times of kernels on the device -----------------*- C++ -*-===//
//
// CUPTI comes with the CUDA toolkit or with Python packages, and is opened by name. It records when each kernel, copy
// and memset began and ended on the device. It does so for a process: all devices of the process share one Cupti, which
// distributes the records among their runs (CuptiRecords.h).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/CuptiRecords.h"

#include <atomic>
#include <memory>
#include <span>
#include <string>

namespace spmd::cuda {

/// The library. At most one records at a time. Thread-safe.
class Cupti : public std::enable_shared_from_this<Cupti> {
public:
  /// Returns null if there is no library; `whyNot` is then one sentence that lists where it was searched. `toolkit` is
  /// the folder of a CUDA toolkit to search as well; it may be empty. A CUPTI that is newer than the driver may not
  /// record, so that of CUDA 12 is the first choice where the driver (13000 is CUDA 13.0) is for it.
  static std::shared_ptr<Cupti> load(const std::string &toolkit, int driverVersion, std::string *whyNot = nullptr);
  /// Makes a library of these functions, for tests without a GPU.
  static std::shared_ptr<Cupti> make(const CuptiEntries &entries);
  /// Returns what `load` finds without a toolkit, the same for each call in a process; may be null.
  static std::shared_ptr<Cupti> ofProcess(int driverVersion);

  Cupti(const Cupti &) = delete;
  Cupti &operator=(const Cupti &) = delete;

  /// `13.0.1`; `API 28` for versions before 13, which have no other number.
  std::string getVersion() const;

  /// Keeps records on: they cost time, and stop when no session is left.
  class Session {
  public:
    ~Session() { cupti->leaveSession(); }
    Session(const Session &) = delete;
    Session &operator=(const Session &) = delete;
    Cupti &getCupti() const { return *cupti; }

  private:
    friend class Cupti;
    explicit Session(std::shared_ptr<Cupti> cupti) : cupti(std::move(cupti)) {}
    std::shared_ptr<Cupti> cupti;
  };
  /// Returns null if CUPTI does not record here, for instance because another tool uses it; `whyNot` is then one
  /// sentence. A GPU is current.
  std::shared_ptr<const Session> start(std::string &whyNot);

  /// Returns the number of kernels and copies that are kept for runs that have not ended.
  size_t countPending() { return records.countPending(); }

private:
  friend class CuptiRun;
  Cupti() = default;
  void leaveSession();
  std::string enable();
  void disable();
  static void requestBuffer(uint8_t **buffer, size_t *bytes, size_t *mostRecords);
  static void completeBuffer(Context context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t validBytes);
  /// Makes CUPTI deliver the records that it has. Returns whether it keeps no buffer from before the call in which
  /// there may be records of this thread, or of any.
  bool flush(bool ofAnyThread);
  /// Asks CUPTI for its buffers even if they are not complete, if no other session has work in them.
  void flushForced();

  CuptiEntries entries;
  CuptiRecords records;
  std::mutex mutex; ///< Guards `sessions` and `refusal`.
  int sessions = 0;
  std::string refusal; ///< Why it does not record; it is not asked again.
  std::mutex flushing; ///< One thread flushes at a time.
  bool hasThreadBuffers = false;
  std::atomic<bool> isLate = false; ///< A run's records did not come in time.
  std::atomic<int> keptBuffers = 0; ///< Runs, one behind the other, that had their records while it kept buffers.
};

/// The device work of one run, by regions. For one thread, whose GPU is current. Ends with the run: see `finish`.
class CuptiRun {
public:
  struct Work {
    int64_t beginNs, endNs; ///< Of the steady clock.
    uint32_t region;
  };

  /// `transfers` is a stream of this run alone, on which other threads queue work too; null: there is none.
  CuptiRun(std::shared_ptr<const Cupti::Session> session, Context context, Stream transfers);
  /// Leaves all regions.
  ~CuptiRun();
  CuptiRun(const CuptiRun &) = delete;
  CuptiRun &operator=(const CuptiRun &) = delete;

  /// Work that this thread queues from now on belongs to this region, until it is left. Regions nest.
  void enter(uint32_t region);
  void leave();

  /// Called once, when the device has done all work of the run. Returns an empty text, and appends the run's work; or
  /// one sentence about why it is not known. Each region of `wanted` has work. Work of other threads on the stream of
  /// transfers belongs to the region of `transferring` whose calls precede it; both are in ascending order.
  std::string finish(std::span<const uint32_t> wanted, std::span<const uint32_t> transferring, std::vector<Work> &work);

private:
  /// The two clocks at one time.
  struct Times {
    uint64_t cuptiNs = 0;
    int64_t steadyNs = 0;
  };
  /// Returns false if CUPTI has no time.
  bool readTimes(Times &times) const;
  bool hasTransfers() const { return stream.first != CuptiWork::kNoRegion; }
  std::string convert(const CuptiRecords::Run &run, const Times &ended, std::span<const uint32_t> transferring,
                      std::vector<Work> &work) const;
  CuptiRecords::Run waitForRecords(std::span<const uint32_t> wanted);

  const std::shared_ptr<const Cupti::Session> session;
  Cupti &cupti;
  uint32_t number = 0;
  int depth = 0;
  CuptiStreamId stream;
  Times began;
  std::string problem; ///< Of calls so far.
};

} // namespace spmd::cuda
