//===- CuptiRun.cpp - the device work of one run --------------------------===//

#include "runtime/device/cuda/Cupti.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

namespace spmd::cuda {
namespace {

/// CUPTI delivers records at once, unless a buffer has work of another device that is still running (CUPTI before
/// 12.3). A profile that waits longer for them changes the times that it measures.
constexpr auto kLongestWait = std::chrono::milliseconds(500);
/// After a run whose records did not come in time, and for buffers that CUPTI keeps although all wanted regions have
/// work: a profile of many runs does not wait for each.
constexpr auto kShortWait = std::chrono::milliseconds(10);
/// After so many runs that waited for such buffers in vain, none does: CUPTI keeps buffers without records.
constexpr int kMostKept = 3;
/// A thread may be interrupted for longer than it means to wait.
constexpr int kLeastFlushes = 5;
constexpr auto kNap = std::chrono::microseconds(200);

/// CUPTI converts a GPU's times to those of the host with an error of some microseconds. A time that is further outside
/// of its run is not one of it.
constexpr int64_t kSlackNs = 10'000'000;

int64_t nowNs() { return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count(); }

} // namespace

CuptiRun::CuptiRun(std::shared_ptr<const Cupti::Session> given, Context context, Stream transfers)
    : session(std::move(given)), cupti(session->getCupti()), stream(CuptiWork::kNoRegion, CuptiWork::kNoRegion) {
  // Without these ids, the times of transfers are those of events.
  if (CuptiStreamId id; transfers && cupti.entries.getContextId(context, &id.first) == kCuptiSuccess &&
                        cupti.entries.getStreamId(context, transfers, 0, &id.second) == kCuptiSuccess)
    stream = id;
  if (!readTimes(began))
    problem = "CUPTI returns no time";
  number = cupti.records.open(began.cuptiNs);
}

CuptiRun::~CuptiRun() {
  while (depth > 0)
    leave();
  cupti.records.close(number);
}

void CuptiRun::enter(uint32_t region) {
  if (cupti.entries.push(kCuptiCustom, CuptiRecords::makeId(number, region)) == kCuptiSuccess)
    ++depth;
  else
    problem = "CUPTI refuses to mark a step";
}

void CuptiRun::leave() {
  if (depth == 0)
    return;
  --depth;
  if (cupti.entries.pop(kCuptiCustom, nullptr) != kCuptiSuccess)
    problem = "CUPTI refuses to mark the end of a step";
}

bool CuptiRun::readTimes(Times &times) const {
  constexpr int kTries = 5; // The thread may be interrupted between two of the three readings.
  int64_t shortest = INT64_MAX;
  for (int i = 0; i < kTries; ++i) {
    uint64_t time = 0;
    int64_t before = nowNs();
    if (cupti.entries.getTimestamp(&time) != kCuptiSuccess)
      return false;
    int64_t took = nowNs() - before;
    if (took < shortest) {
      shortest = took;
      times = {time, before + took / 2};
    }
  }
  return true;
}

CuptiRecords::Run CuptiRun::waitForRecords(std::span<const uint32_t> wanted) {
  auto began = std::chrono::steady_clock::now();
  std::vector<uint32_t> present;
  bool hasForced = false;
  for (int flushes = 1;; ++flushes) {
    bool isDelivered = cupti.flush(/*ofAnyThread=*/hasTransfers());
    CuptiRecords::Run run = cupti.records.collect(number, stream);
    if (!run.problem.empty())
      return run;
    present.clear();
    for (const CuptiWork &work : run.work)
      present.push_back(work.region);
    std::sort(present.begin(), present.end());
    bool isComplete = std::includes(present.begin(), present.end(), wanted.begin(), wanted.end());
    // A region may have more work in a buffer that is still to come.
    auto waited = std::chrono::steady_clock::now() - began;
    bool hasWaited = waited >= kShortWait && flushes >= kLeastFlushes;
    if (isComplete && (isDelivered || hasWaited || cupti.keptBuffers >= kMostKept)) {
      cupti.keptBuffers = isDelivered ? 0 : cupti.keptBuffers + 1;
      return run;
    }
    if (!isComplete && hasWaited && (cupti.isLate || waited >= kLongestWait)) {
      // The stream has nothing left to do. Kineto found that a flush without force may return nothing (issue 95).
      cupti.isLate = true;
      if (!hasForced) {
        hasForced = true;
        cupti.flushForced();
        continue;
      }
      run.problem = "CUPTI did not deliver all records";
      return run;
    }
    std::this_thread::sleep_for(kNap);
  }
}

std::string CuptiRun::finish(std::span<const uint32_t> wanted, std::span<const uint32_t> transferring,
                             std::vector<Work> &work) {
  if (!problem.empty())
    return problem;
  CuptiRecords::Run run = waitForRecords(wanted);
  if (!run.problem.empty())
    return run.problem;
  Times ended;
  if (!readTimes(ended))
    return "CUPTI returns no time";
  return convert(run, ended, transferring, work);
}

std::string CuptiRun::convert(const CuptiRecords::Run &run, const Times &ended, std::span<const uint32_t> transferring,
                              std::vector<Work> &work) const {
  // CUPTI's clock is the time of day, which may be corrected slowly, or set.
  constexpr double kMostDrift = 1e-3;
  auto passed = static_cast<double>(ended.steadyNs - began.steadyNs);
  auto counted = static_cast<double>(static_cast<int64_t>(ended.cuptiNs - began.cuptiNs));
  if (std::abs(counted - passed) > kMostDrift * passed + static_cast<double>(kSlackNs))
    return "the clock of the host was set";
  double rate = counted > 0 ? passed / counted : 1;
  auto toSteady = [&](uint64_t time) {
    auto since = static_cast<double>(static_cast<int64_t>(time - began.cuptiNs));
    return began.steadyNs + std::llround(since * rate);
  };
  // The first call of each region that transfers, in the order of the calls.
  std::vector<std::pair<uint32_t, uint32_t>> calls;
  for (uint32_t region : transferring)
    if (auto first = run.firstCalls.find(region); first != run.firstCalls.end())
      calls.emplace_back(first->second, region);
  std::sort(calls.begin(), calls.end());
  for (const CuptiWork &each : run.work) {
    Work converted{toSteady(each.start), toSteady(each.end), each.region};
    if (converted.beginNs < began.steadyNs - kSlackNs || converted.endNs > ended.steadyNs + kSlackNs)
      return "CUPTI's times are not those of the run";
    if (each.region == CuptiWork::kNoRegion) {
      auto behind = std::upper_bound(calls.begin(), calls.end(), std::pair(each.correlation, CuptiWork::kNoRegion));
      if (behind == calls.begin())
        continue;
      converted.region = std::prev(behind)->second;
    }
    work.push_back(converted);
  }
  return "";
}

} // namespace spmd::cuda
