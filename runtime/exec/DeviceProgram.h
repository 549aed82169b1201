//===- DeviceProgram.h - a plan resolved for one device ---------*- C++ -*-===//
//
// Resolves every step to its pointers, its function, and its prepared collective or product. At run time the program
// only inserts the addresses of arguments and results, and executes the steps. It allocates nothing then.
//
// Control flow, collectives, prints and the search for NaNs are the same on all backends and implemented here. A
// backend (cpu/, cuda/) derives from this class: it prepares the steps that compute, and gives the host access to
// values.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/artifact/CompiledLoops.h"
#include "runtime/device/Device.h"
#include "runtime/exec/Executor.h"
#include "runtime/exec/NanAgreement.h"
#include "runtime/exec/NanCheck.h"

#include <atomic>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace spmd {

/// The state that the programs of all local devices share.
struct ProgramContext {
  std::shared_ptr<const Artifact> artifact;
  Communicator *communicator = nullptr;
  Health *health = nullptr;
  ExecutionCounters *counters = nullptr;
  ProfileLog *profileLog = nullptr;
  bool checkNans = false, nansEndJob = false;
  const std::vector<StepInfo> *stepInfo = nullptr;
  PrintFunction print;
  int64_t printPosition = 0;           ///< The mesh position that prints.
  std::vector<int64_t> localPositions; ///< The mesh positions of this process.
  std::vector<int64_t> devices;        ///< Global device ids by mesh position.
  cuda::GpuTransport *gpuTransport = nullptr;
  std::chrono::milliseconds prepareTimeout{0};
  uint64_t fingerprint = 0;
};

/// A step that computes, ready to run with the addresses of the current run. Throws spmd::Error.
class PreparedStep {
public:
  virtual ~PreparedStep() = default;
  virtual void run() = 0;
  /// Whether the same work is queued each time, so that it may be one of the steps that run as one. Only a step of
  /// `prepareControl` may be another kind.
  virtual bool isStraight() const { return true; }
  /// The launches and copies that it queues, about.
  virtual int64_t countLaunches() const { return 1; }

  int32_t number = 0;                       ///< Of the step in the plan.
  const SourceLocation *location = nullptr; ///< Lives as long as the plan.
};

/// A collective that the device itself performs: prepared once, used by the device's thread only. Throws spmd::Error.
class DeviceCollective {
public:
  virtual ~DeviceCollective() = default;
  /// Like CollectiveCall, with the addresses of the current run.
  virtual void start() = 0;
  virtual void done() = 0;
};

class DeviceProgram {
public:
  virtual ~DeviceProgram();

  /// Resolves all steps. Called once, on the device's own thread, so that its memory is first touched there.
  void prepare();

  /// Runs the program on the device's thread. `profile` may be null.
  void run(uint64_t launch, const std::vector<DeviceBufferRef> &arguments, const std::vector<DeviceBufferRef> &results,
           std::vector<ProfileEvent> *profile);

  /// Waits until nothing uses the memory of a run that has failed for this cause. Called after Communicator::abort.
  void settle(const std::string &cause) noexcept;

  /// The location of the current step, or of the last step of the last run; for the device's thread.
  const SourceLocation &getStepLocation() const { return *place.load(std::memory_order_relaxed); }

  /// Bytes of arena, scratch and constants of this device alone.
  virtual int64_t getBytes() const = 0;

protected:
  DeviceProgram(const ProgramContext &context, Device &device, int64_t position);

  //===--- Implemented by backends ------------------------------------------===//

  virtual std::unique_ptr<PreparedStep> prepareStep(const LaunchStep &step) = 0;
  virtual std::unique_ptr<PreparedStep> prepareStep(const MatmulStep &step, const SourceLocation &location) = 0;
  virtual std::unique_ptr<PreparedStep> prepareStep(const LibraryStep &step) = 0;
  virtual std::unique_ptr<PreparedStep> prepareStep(const CopyStep &step) = 0;
  /// Prepares an `if`, `while` or `for` whose steps all are prepared: `first` are the steps of its first list (then;
  /// condition; body), `second` those of its second. Returns null if only the host can decide which steps run. A step
  /// that is straight is run and merged like those that compute, the others by `runControl`.
  virtual std::unique_ptr<PreparedStep> prepareControl(const Step & /*step*/, std::vector<PreparedStep *> /*first*/,
                                                       std::vector<PreparedStep *> /*second*/) {
    return nullptr;
  }
  /// Prepares a loop that has a function, which `runControl` calls.
  virtual std::unique_ptr<PreparedStep> prepareLoop(const CompiledLoop &) { return nullptr; }
  /// Returns null if the collective goes through the host. The result is the same on all devices of the mesh.
  virtual std::unique_ptr<DeviceCollective> prepareCollective(const CollectiveDesc &, BufferId /*operand*/,
                                                              BufferId /*result*/) {
    return nullptr;
  }
  /// Called when all steps are prepared: allocates memory that they share.
  virtual void finishPreparation() {}

  /// Returns how many of these consecutive steps that compute, from the first one on, run as one; at least 1.
  virtual size_t countMerged(std::span<const Step *const> /*steps*/) { return 1; }
  /// Called once for the steps that run as one, and for each run of them.
  virtual void prepareMerged(const std::vector<PreparedStep *> &) {}
  virtual void runMerged(const std::vector<PreparedStep *> &) {}
  /// Runs a step of `prepareControl` or `prepareLoop`; returns false, having done nothing, if the host has to decide
  /// this time.
  virtual bool runControl(PreparedStep & /*step*/) { return false; }

  virtual void beginRun() {}
  /// Returns when all steps of the run are done, also after an error.
  virtual void endRun() {}
  /// The run has failed: nothing may wait for other devices any more.
  virtual void abandon(const std::string & /*cause*/) noexcept {}

  /// Returns the buffer's value in host memory, up to date for the steps so far; valid until the next call.
  virtual const void *read(BufferId id) = 0;
  /// Returns the memory of each buffer as the host can read it; buffers in `ids` are up to date for the steps so far.
  virtual const std::vector<void *> &view(const std::vector<BufferId> &ids) = 0;
  virtual void writeCounter(BufferId id, int32_t value) = 0;

  /// Returns host memory from which a collective reads its operand (up to date for the steps so far), and to which it
  /// writes its result. On a CPU that is the buffer itself; elsewhere `staging` keeps it from run to run.
  virtual void *stageOperand(BufferId id, DeviceBufferRef &staging) = 0;
  virtual void *stageResult(BufferId id, DeviceBufferRef &staging) = 0;
  /// The result is complete, and the steps that follow may read it.
  virtual void finishResult(BufferId id, const DeviceBufferRef &staging) = 0;
  /// Allocates host memory that collectives access without a copy.
  virtual DeviceBufferRef allocateHost(int64_t bytes) = 0;

  /// Throws if a transfer between devices, of those that this device makes itself, has failed. Threads of collectives
  /// may call it while they wait during a run.
  virtual void checkTransfers() {}

  /// Records a point of time on the device, for profiles; `resolveTimes` converts all of them to nanoseconds of the
  /// steady clock.
  virtual int64_t recordTime() = 0;
  /// Called around each step of a run with a profile, and returns the time: `index` is that of the step in the profile.
  /// Steps nest. A step that fails has no end.
  virtual int64_t beginStep(size_t /*index*/) { return recordTime(); }
  virtual int64_t endStep(size_t /*index*/) { return recordTime(); }
  virtual void resolveTimes(std::vector<ProfileEvent> &) {}

  //===--- For backends ------------------------------------------------------===//

  /// Records that the run has come to this step: errors and the coordinator name its location.
  void atStep(const PreparedStep &step) { atStep(step.number, *step.location); }
  void atStep(int32_t number, const SourceLocation &location);
  /// Appends entries of `pointers` for these buffers, which are kept up to date; returns the index of the first.
  size_t addPointers(const std::vector<BufferId> &ids);
  void checkVerdict() const {
    if (context.health && context.health->isOver())
      context.health->throwVerdict();
  }

  const ProgramContext &context;
  const Plan &plan;
  const int64_t position;
  const std::vector<int64_t> coordinates;
  std::vector<void *> buffers;  ///< By BufferId: addresses on the device.
  std::vector<void *> pointers; ///< Operand lists of all kernels, one after the other.

private:
  struct Op;
  using Ops = std::vector<Op>;
  struct PrintValue {
    std::unique_ptr<CollectiveCall> gather; ///< Null if this device holds the full value.
    DeviceBufferRef operand, gathered;
    BufferId buffer = 0;
    ValueInfo info;
  };

  /// One collective step: a call or, if the root is a run-time value, one call for each possible root.
  struct Collective {
    std::vector<std::unique_ptr<CollectiveCall>> byRoot;
    /// Used instead of `byRoot` if the device performs the collective itself.
    std::vector<std::unique_ptr<DeviceCollective>> onDevice;
    size_t inFlight = 0; ///< Index of the call in flight.
    BufferId result = 0;
    DeviceBufferRef operandStaging, resultStaging;
  };

  Ops resolve(const std::vector<Step> &steps);
  void mergeSteps(Ops &ops);
  void resolveControl(const Step &step, const Ops &first, const Ops *second, Op &op);
  void resolveStart(const CollectiveStartStep &start, bool isAsync, Op &op);
  void resolvePrint(const PrintStep &step, Op &op);
  void execute(Ops &ops);
  void executeWatched(Ops &ops);
  void executeOne(Op &op);
  /// Lets the device execute control flow; returns false if the host has to.
  bool runControl(const Op &op);
  void executeSteps();
  void executePrint(Op &op);
  void lookForNans(const Op &op);
  size_t choose(const Collective &collective, BufferId root);
  CallSite endSite() const;
  /// Prepares the call in which the devices of the mesh meet before the first step or after the last.
  std::unique_ptr<CollectiveCall> prepareMeeting(const CallSite &site);
  std::vector<BufferId> idsIn(BufferInfo::Space space) const;
  /// Returns the NaN for which the run must fail, or nothing. Collective among the devices of the mesh.
  std::optional<NanAgreement::Answer> findNan(std::optional<NanCheck::Finding> &found);
  /// Throws, unless another device of this process reports the NaN.
  void failForNan(const NanAgreement::Answer &answer, const std::optional<NanCheck::Finding> &found);
  bool readPredicate(BufferId id) { return *static_cast<const uint8_t *>(read(id)) != 0; }

  Device &device;
  CommunicatorEndpoint *endpoint = nullptr;
  std::vector<std::pair<size_t, BufferId>> fixups; ///< Entries of `pointers` that change with the arguments.
  std::vector<std::unique_ptr<Collective>> collectives;
  std::map<int32_t, size_t> collectiveOfId;
  /// If a branch or a loop contains collectives, devices can diverge in it unnoticed. They then meet at the end of the
  /// run, before its results count.
  std::unique_ptr<CollectiveCall> endOfRun;
  /// Collectives on devices do not compare calls, so the program checks beforehand that all devices make the same run.
  std::unique_ptr<CollectiveCall> startOfRun;
  int depth = 0; ///< Depth of control flow, while resolving.
  bool hasNestedCollectives = false;
  int32_t nextStep = 0;
  std::unique_ptr<Ops> program;

  std::unique_ptr<NanCheck> nanCheck; ///< Null: the run does not look for NaNs.
  /// Null: this device is the only one of the mesh, or the run does not look for NaNs.
  std::unique_ptr<NanAgreement> nanAgreement;

  inline static const SourceLocation unknownLocation;

  // State of the current run.
  uint64_t launch = 0;
  std::atomic<const SourceLocation *> place = &unknownLocation; ///< `checkTransfers` may read it on other threads.
  std::vector<ProfileEvent> *profile = nullptr;
};

} // namespace spmd
