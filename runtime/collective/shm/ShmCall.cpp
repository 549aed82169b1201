//===- ShmCall.cpp - one prepared collective of one device ----------------===//

#include "runtime/collective/shm/ShmCall.h"
#include "runtime/device/Allocation.h"

#include <algorithm>
#include <cstring>

namespace spmd::shm {
namespace {

/// Below this size distributing work over the threads of a device does not pay.
constexpr int64_t parallelBytes = 256 << 10;
/// Runs of fewer elements are packed before they are reduced.
constexpr int64_t shortRun = 64;
constexpr int64_t packedElements = 1024;

/// Enlarges a vector that several calls use.
template <typename Element> void enlarge(std::vector<Element> &vector, int64_t size) {
  vector.resize(std::max(vector.size(), static_cast<size_t>(size)));
}

} // namespace

ShmCall::ShmCall(ShmEndpoint &endpoint, GroupState &group, const MeshShape &mesh, const CollectiveDesc &desc,
                 Movement given, const CallSite &site)
    : endpoint(endpoint), group(group), movement(std::move(given)), isAllReduce(desc.kind == CollectiveKind::AllReduce),
      isReduction(isAllReduce || desc.kind == CollectiveKind::ReduceScatter),
      isStaged(movement.operandBytes <= stagedBytes), elementBytes(byteSize(desc.dtype)),
      members(static_cast<int64_t>(group.members.size())), scratch(endpoint.getScratch()) {
  int threads = endpoint.getDevice().getThreadCount();
  if (isReduction) {
    reducer.emplace(desc.dtype, desc.reduction, members, scratch.reduction);
    reducer->setThreads(threads);
    for (const Box &box : movement.boxes)
      if (box.runBytes < shortRun * elementBytes)
        packedBytes = std::max(packedBytes, std::min(packedElements * elementBytes, box.runCount() * box.runBytes));
    enlarge(scratch.packed, threads * (members + 1) * packedBytes);
    enlarge(scratch.pointers, threads * members);
  }
  enlarge(scratch.sources, members);
  // Each device begins with another peer, so that they do not all read the same memory at a time.
  std::sort(movement.boxes.begin(), movement.boxes.end(), [&](const Box &a, const Box &b) {
    auto turn = [&](const Box &box) { return (box.source - movement.self + members) % members; };
    return std::pair(turn(a), a.targetOffset) < std::pair(turn(b), b.targetOffset);
  });
  if (site.onlyReceiver >= 0 && site.onlyReceiver != endpoint.getPosition()) {
    isReceiver = false;
    movement.boxes.clear();
    movement.zeros.clear();
  }
  text = describeCall(desc, site);
  fingerprint = fingerprintCall(mesh, desc, site);
}

ShmCall::~ShmCall() { endpoint.forget(*this); }

MemoryLocation ShmCall::locate(const void *data, int64_t bytes, DeviceBufferRef &staging, bool isRead) {
  CpuMemory &memory = endpoint.getDevice().getMemory();
  if (auto found = memory.locate(data, bytes))
    return *found;
  if (!staging)
    staging = allocateFor(endpoint.getDevice(), bytes, [&] { return text; });
  if (isRead)
    std::memcpy(staging->data(), data, bytes);
  return *memory.locate(staging->data(), bytes);
}

int64_t ShmCall::sliceStart(int64_t member) const {
  // Slices begin on cache lines of the operand, relative to its start.
  int64_t lines = (movement.operandBytes + 63) / 64, perMember = (lines + members - 1) / members;
  return std::min(member * perMember * 64, movement.operandBytes);
}

void ShmCall::start(const void *operandData, void *resultData) {
  operand = static_cast<const char *>(operandData);
  result = static_cast<char *>(resultData);
  isInFlight = true;
  if (isAlone())
    return;
  Record &record = endpoint.nextRecord(*this, sequence);
  record.fingerprint.store(fingerprint, std::memory_order_relaxed);
  setText(record, text);
  if (isStaged) {
    if (movement.operandBytes > 0)
      std::memcpy(record.staged, operand, movement.operandBytes);
  } else {
    record.operand = locate(operand, movement.operandBytes, operandStaging, true);
    if (isAllReduce) {
      int64_t begin = sliceStart(movement.self), bytes = sliceStart(movement.self + 1) - begin;
      record.slice = locate(result + begin, bytes, sliceStaging, false);
    }
  }
  endpoint.announce(*this, group, sequence);
  readyBarrier = group.nextBarrier++;
  endpoint.arrive(group, readyBarrier);
}

void ShmCall::done() { finish(); }

void ShmCall::readSources() {
  std::vector<const char *> &sources = scratch.sources;
  if (isAlone()) {
    sources[0] = operand;
    return;
  }
  endpoint.wait(group, readyBarrier, *this, sequence);
  endpoint.checkMembers(group, *this, sequence);
  for (int64_t p = 0; p < members; ++p) {
    int64_t member = group.members[p];
    Record &record = endpoint.recordOf(member, sequence);
    if (isStaged)
      sources[p] = record.staged;
    else if (member == endpoint.getPosition() && !operandStaging)
      sources[p] = operand;
    else
      sources[p] = endpoint.addressOf(member, record.operand);
  }
}

void ShmCall::finish() {
  if (!isInFlight)
    return;
  readSources();
  if (isAllReduce && !isStaged && !isAlone())
    allReduceBySlices();
  else if (isReduction)
    reduceAll();
  else
    copyAll();
  if (isReceiver)
    for (const Box &box : movement.zeros)
      zeroBox(box, result);
  if (!isAlone()) {
    if (!isStaged) {
      uint64_t barrier = group.nextBarrier++;
      endpoint.arrive(group, barrier);
      endpoint.wait(group, barrier, *this, sequence);
    }
    endpoint.markConsumed(sequence);
  }
  isInFlight = false;
}

void ShmCall::copyInParallel(const Box &box, const char *source, char *target) {
  ParallelFor &loop = endpoint.getDevice().getParallelFor();
  int64_t runs = box.runCount();
  if (loop.getThreadCount() == 1 || runs * box.runBytes < parallelBytes) {
    copyBox(box, source, target, 0, runs);
  } else if (runs >= 4 * loop.getThreadCount()) {
    loop.run(runs, std::max<int64_t>(1, (64 << 10) / box.runBytes),
             [&](int64_t begin, int64_t end, int) { copyBox(box, source, target, begin, end); });
  } else {
    forEachRun(box, 0, runs, [&](int64_t from, int64_t to) {
      loop.run(box.runBytes, 64 << 10, [&](int64_t begin, int64_t end, int) {
        std::memcpy(target + to + begin, source + from + begin, end - begin);
      });
    });
  }
}

void ShmCall::copyAll() {
  const std::vector<const char *> &sources = scratch.sources;
  for (const Box &box : movement.boxes) {
    // A group of one may have the same buffer on both sides.
    if (sources[box.source] + box.sourceOffset == result + box.targetOffset && box.counts.empty())
      continue;
    copyInParallel(box, sources[box.source], result);
  }
}

void ShmCall::reduceRuns(const Box &box, const char *const *from, int64_t begin, int64_t end, int thread) {
  int64_t runElements = box.runBytes / elementBytes;
  const void **inputs = scratch.pointers.data() + thread * members;
  if (runElements >= shortRun) {
    forEachRun(box, begin, end, [&](int64_t source, int64_t target) {
      for (int64_t p = 0; p < members; ++p)
        inputs[p] = from[p] + source;
      reducer->reduce(inputs, result + target, runElements, thread);
    });
    return;
  }
  int64_t runsAtOnce = packedElements / runElements;
  char *own = scratch.packed.data() + thread * (members + 1) * packedBytes;
  for (int64_t first = begin; first < end; first += runsAtOnce) {
    int64_t last = std::min(first + runsAtOnce, end);
    for (int64_t p = 0; p < members; ++p) {
      char *part = own + p * packedBytes;
      inputs[p] = part;
      forEachRun(box, first, last, [&](int64_t source, int64_t) {
        std::memcpy(part, from[p] + source, box.runBytes);
        part += box.runBytes;
      });
    }
    char *reduced = own + members * packedBytes;
    reducer->reduce(inputs, reduced, (last - first) * runElements, thread);
    forEachRun(box, first, last, [&](int64_t, int64_t target) {
      std::memcpy(result + target, reduced, box.runBytes);
      reduced += box.runBytes;
    });
  }
}

void ShmCall::reduceAll() {
  ParallelFor &loop = endpoint.getDevice().getParallelFor();
  const char *const *sources = scratch.sources.data();
  for (const Box &box : movement.boxes) {
    int64_t runs = box.runCount();
    if (loop.getThreadCount() == 1 || runs * box.runBytes < parallelBytes) {
      reduceRuns(box, sources, 0, runs, 0);
    } else if (runs >= 4 * loop.getThreadCount()) {
      loop.run(runs, std::max<int64_t>(1, (16 << 10) / box.runBytes),
               [&](int64_t begin, int64_t end, int thread) { reduceRuns(box, sources, begin, end, thread); });
    } else {
      forEachRun(box, 0, runs, [&](int64_t source, int64_t target) {
        loop.run(box.runBytes / elementBytes, 4096, [&](int64_t begin, int64_t end, int thread) {
          const void **inputs = scratch.pointers.data() + thread * members;
          for (int64_t p = 0; p < members; ++p)
            inputs[p] = sources[p] + source + begin * elementBytes;
          reducer->reduce(inputs, result + target + begin * elementBytes, end - begin, thread);
        });
      });
    }
  }
}

void ShmCall::allReduceBySlices() {
  const std::vector<const char *> &sources = scratch.sources;
  int64_t begin = sliceStart(movement.self), bytes = sliceStart(movement.self + 1) - begin;
  char *slice = sliceStaging ? static_cast<char *>(sliceStaging->data()) : result + begin;
  ParallelFor &loop = endpoint.getDevice().getParallelFor();
  loop.run(bytes / elementBytes, std::max<int64_t>(4096, 64 / elementBytes),
           [&](int64_t first, int64_t last, int thread) {
             const void **inputs = scratch.pointers.data() + thread * members;
             for (int64_t p = 0; p < members; ++p)
               inputs[p] = sources[p] + begin + first * elementBytes;
             reducer->reduce(inputs, slice + first * elementBytes, last - first, thread);
           });
  uint64_t barrier = group.nextBarrier++;
  endpoint.arrive(group, barrier);
  endpoint.wait(group, barrier, *this, sequence);
  if (!isReceiver)
    return;
  if (sliceStaging)
    std::memcpy(result + begin, slice, bytes);
  for (int64_t turn = 1; turn < members; ++turn) {
    int64_t peer = (movement.self + turn) % members;
    int64_t from = sliceStart(peer), length = sliceStart(peer + 1) - from;
    if (length == 0)
      continue;
    Box box;
    box.runBytes = length;
    copyInParallel(box, endpoint.addressOf(group.members[peer], endpoint.recordOf(group.members[peer], sequence).slice),
                   result + from);
  }
}

} // namespace spmd::shm
