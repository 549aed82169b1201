//===- CuptiRecords.cpp - records of device work, by run ------------------===//

#include "runtime/device/cuda/CuptiRecords.h"

#include <algorithm>
#include <cstring>

namespace spmd::cuda {
namespace {

/// A profile keeps a million steps (ProfileLog.h), and few steps are more than four kernels or copies. This much work
/// takes 160 MB.
constexpr size_t kMostWork = 4'000'000;
/// CUPTI converts a GPU's times to those of the host with an error of some microseconds.
constexpr uint64_t kClockErrorNs = 1'000'000;
/// A step has a few calls with a record each.
constexpr size_t kMostCalls = 4 * kMostWork;

/// Returns the record as `Record` declares it, which its bytes contain.
template <typename Record> Record readAs(const uint8_t *bytes) {
  Record record;
  std::memcpy(&record, bytes, sizeof record);
  return record;
}

template <typename Record> CuptiWork toWork(const Record &record) {
  CuptiWork work;
  work.start = record.start;
  work.end = record.end;
  work.correlation = record.correlation;
  work.stream = {record.context, record.stream};
  return work;
}

/// The bytes of a record of this kind that are read.
size_t bytesOf(uint32_t kind) {
  switch (kind) {
  case kCuptiKernel:
    return sizeof(CuptiKernel);
  case kCuptiMemcpy:
  case kCuptiMemset:
    return sizeof(CuptiCopy);
  case kCuptiPeerCopy:
    return sizeof(CuptiPeerCopy);
  case kCuptiExternal:
    return sizeof(CuptiExternal);
  default:
    return sizeof(uint32_t);
  }
}

} // namespace

uint32_t CuptiRecords::open(uint64_t beganNs) {
  std::lock_guard lock(mutex);
  uint32_t run = nextRun++;
  runs[run].beganNs = beganNs;
  return run;
}

void CuptiRecords::close(uint32_t run) {
  std::lock_guard lock(mutex);
  runs.erase(run);
  std::erase_if(externalIds, [run](const auto &entry) { return entry.second >> 32 == run; });
  // Runs of several devices may overlap all the time.
  uint64_t oldest = UINT64_MAX;
  for (const auto &[number, other] : runs)
    oldest = std::min(oldest, std::max(other.beganNs, kClockErrorNs));
  std::erase_if(pending, [&](const CuptiWork &work) { return work.end < oldest - kClockErrorNs; });
}

size_t CuptiRecords::countPending() {
  std::lock_guard lock(mutex);
  return pending.size();
}

void CuptiRecords::lose(const std::string &problem) {
  std::lock_guard lock(mutex);
  loseAll(problem);
}

void CuptiRecords::loseAll(const std::string &problem) {
  for (auto &[number, run] : runs)
    if (run.problem.empty())
      run.problem = problem;
}

void CuptiRecords::read(const CuptiEntries &entries, uint8_t *buffer, size_t bytes, size_t validBytes) {
  std::lock_guard lock(mutex);
  if (validBytes > bytes)
    return loseAll("CUPTI delivered a damaged buffer");
  uint8_t *const end = buffer + validBytes;
  void *record = nullptr;
  for (uint8_t *next = buffer; next < end;) { // The least address of the next record.
    if (int status = entries.getNextRecord(buffer, validBytes, &record); status == kCuptiNoMoreRecords)
      return;
    else if (status != kCuptiSuccess)
      return loseAll("CUPTI delivered an incomplete record");
    // The library knows the sizes of its records; each has to be in the buffer, behind the one before it.
    auto *at = static_cast<uint8_t *>(record);
    if (at < next || at >= end || static_cast<size_t>(end - at) < sizeof(uint32_t))
      return loseAll("CUPTI delivered a damaged record");
    auto kind = readAs<uint32_t>(at);
    size_t needed = bytesOf(kind);
    if (static_cast<size_t>(end - at) < needed)
      return loseAll("CUPTI delivered a damaged record");
    add(kind, at, needed);
    next = at + needed;
  }
}

void CuptiRecords::add(uint32_t kind, const uint8_t *record, size_t bytes) {
  if (runs.empty() || bytes == sizeof(uint32_t))
    return;
  if (kind == kCuptiKernel)
    return addWork(toWork(readAs<CuptiKernel>(record)));
  if (kind == kCuptiPeerCopy)
    return addWork(toWork(readAs<CuptiPeerCopy>(record)));
  if (kind != kCuptiExternal)
    return addWork(toWork(readAs<CuptiCopy>(record)));
  auto external = readAs<CuptiExternal>(record);
  auto run = runs.find(static_cast<uint32_t>(external.externalId >> 32));
  if (external.externalKind != kCuptiCustom || run == runs.end())
    return;
  if (externalIds.size() >= kMostCalls)
    return loseAll("a run has more calls than a profile keeps");
  externalIds[external.correlation] = external.externalId;
  auto [first, isNew] =
      run->second.firstCalls.try_emplace(static_cast<uint32_t>(external.externalId), external.correlation);
  if (!isNew)
    first->second = std::min(first->second, external.correlation);
}

void CuptiRecords::addWork(const CuptiWork &work) {
  if (pending.size() >= kMostWork)
    return loseAll("a run has more kernels and copies than a profile keeps");
  if (work.start == 0 || work.end < work.start)
    return loseAll("CUPTI could not measure a kernel or copy");
  pending.push_back(work);
}

CuptiRecords::Run CuptiRecords::collect(uint32_t number, CuptiStreamId transfers) {
  std::lock_guard lock(mutex);
  auto run = runs.find(number);
  if (run == runs.end())
    return {};
  size_t kept = 0;
  for (CuptiWork &work : pending) {
    auto known = externalIds.find(work.correlation);
    bool isOwn = known == externalIds.end() ? work.stream == transfers : known->second >> 32 == number;
    if (!isOwn) {
      pending[kept++] = work;
      continue;
    }
    if (known != externalIds.end())
      work.region = static_cast<uint32_t>(known->second);
    run->second.work.push_back(work);
  }
  pending.resize(kept);
  return run->second;
}

} // namespace spmd::cuda
