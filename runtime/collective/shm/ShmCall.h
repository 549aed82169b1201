//===- ShmCall.h - one prepared collective of one device --------*- C++ -*-===//
//
// Small operands (Movement::operandBytes up to `stagedBytes`) are copied to the control page, where each device reads
// all of them; one barrier. Larger operands are read in place, with one barrier before and one after. A large
// all_reduce has as many slices as members: each member reduces one, waits at a barrier, and copies the others. The
// reduction tree is the same, and so are the bits.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/collective/Movement.h"
#include "runtime/collective/Reduce.h"
#include "runtime/collective/shm/ShmCommunicator.h"

#include <memory>
#include <optional>

namespace spmd::shm {

class ShmCall final : public AnnouncedCall {
public:
  ShmCall(ShmEndpoint &endpoint, GroupState &group, const MeshShape &mesh, const CollectiveDesc &desc,
          Movement movement, const CallSite &site);
  ~ShmCall() override;

  void start(const void *operand, void *result) override;
  void done() override;

  void finish() override;
  uint64_t getFingerprint() const override { return fingerprint; }
  std::string describe() const override { return text; }

private:
  bool isAlone() const { return group.members.size() == 1; }
  /// Returns the location to announce for `data`, which is copied to `staging` if it is not in the device's memory.
  MemoryLocation locate(const void *data, int64_t bytes, DeviceBufferRef &staging, bool isRead);
  void readSources();
  void copyAll();
  void copyInParallel(const Box &box, const char *source, char *target);
  void reduceAll();
  void reduceRuns(const Box &box, const char *const *sources, int64_t begin, int64_t end, int thread);
  void allReduceBySlices();
  int64_t sliceStart(int64_t member) const;

  ShmEndpoint &endpoint;
  GroupState &group;
  Movement movement;
  const bool isAllReduce, isReduction, isStaged;
  bool isReceiver = true;
  const int64_t elementBytes;
  uint64_t fingerprint = 0;
  std::string text;
  std::optional<TreeReducer> reducer;
  const int64_t members;
  int64_t packedBytes = 0; ///< Of one member in CallScratch::packed; 0 if all runs are long.
  CallScratch &scratch;
  DeviceBufferRef operandStaging, sliceStaging;

  // State of the call in flight.
  const char *operand = nullptr;
  char *result = nullptr;
  uint64_t sequence = 0;
  uint64_t readyBarrier = 0;
  bool isInFlight = false;
};

} // namespace spmd::shm
