//===- DeviceProgram.h - a plan resolved for one device ---------*- C++ -*-===//
//
// Every step with its pointers, its function, its prepared collective or product: what is left to do at run time is
// to put in the addresses of arguments and results, and to go through the steps. Nothing is allocated then.
//
// Control flow, collectives, prints and the search for NaNs are the same on all backends and stand here. A backend
// (cpu/, cuda/) derives from it: it prepares the steps that compute, and gives the host access to values.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/Device.h"
#include "runtime/exec/Executor.h"
#include "runtime/exec/NanAgreement.h"
#include "runtime/exec/NanCheck.h"

#include <map>
#include <memory>
#include <vector>

namespace spmd {

/// What the programs of all local devices have in common.
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
  std::vector<int64_t> devices;        ///< Of the job, by mesh position.
  cuda::GpuTransport *gpuTransport = nullptr;
  std::chrono::milliseconds prepareTimeout{0};
  uint64_t fingerprint = 0;
};

/// A step that computes, ready to run with the addresses of the run under way. Throws spmd::Error.
class PreparedStep {
public:
  virtual ~PreparedStep() = default;
  virtual void run() = 0;
};

/// A collective that the device itself performs: prepared once, used by the device's thread. Throws spmd::Error.
class DeviceCollective {
public:
  virtual ~DeviceCollective() = default;
  /// As CollectiveCall's, with the addresses of the run under way.
  virtual void start() = 0;
  virtual void done() = 0;
};

class DeviceProgram {
public:
  virtual ~DeviceProgram();

  /// Resolves all steps; once, on the device's own thread, so that its memory is first touched there.
  void prepare();

  /// On the device's thread. `profile` may be null.
  void run(uint64_t launch, const std::vector<DeviceBufferRef> &arguments, const std::vector<DeviceBufferRef> &results,
           std::vector<ProfileEvent> *profile);

  /// After a run that failed for this cause, and Communicator::abort: returns when nothing uses the memory of that run
  /// any more.
  void settle(const std::string &cause) noexcept;

  /// Where the run under way has come to, or the last run; on the device's thread.
  const SourceLocation &getPlace() const { return *place; }

  /// Arena, scratch, constants of this device alone.
  virtual int64_t getBytes() const = 0;

protected:
  DeviceProgram(const ProgramContext &context, Device &device, int64_t position);

  //===--- What a backend does ----------------------------------------------===//

  virtual std::unique_ptr<PreparedStep> prepareStep(const LaunchStep &step) = 0;
  virtual std::unique_ptr<PreparedStep> prepareStep(const MatmulStep &step, const SourceLocation &location) = 0;
  virtual std::unique_ptr<PreparedStep> prepareStep(const LibraryStep &step) = 0;
  virtual std::unique_ptr<PreparedStep> prepareStep(const CopyStep &step) = 0;
  /// Null: it goes through the host. The same on all devices of the mesh.
  virtual std::unique_ptr<DeviceCollective> prepareCollective(const CollectiveDesc &, BufferId /*operand*/,
                                                              BufferId /*result*/) {
    return nullptr;
  }
  /// All steps are prepared: memory for what they share.
  virtual void finishPreparation() {}

  /// Queues steps that stand one behind the other as one; only for a backend with `joinsSteps`.
  virtual void runJoined(const std::vector<PreparedStep *> &) {}

  virtual void beginRun() {}
  /// Returns when all steps of the run are done, also after an error.
  virtual void endRun() {}
  /// The run failed: nothing is waited for that needs other devices.
  virtual void abandon(const std::string & /*cause*/) noexcept {}

  /// The buffer's value where the host can read it, up to date for the steps so far; until the next call.
  virtual const void *read(BufferId id) = 0;
  /// The memory of each buffer where the host can read it; that of `ids` is up to date, for the steps so far.
  virtual const std::vector<void *> &view(const std::vector<BufferId> &ids) = 0;
  virtual void writeCounter(BufferId id, int32_t value) = 0;

  /// Host memory in which a collective finds its operand (up to date for the steps so far) and leaves its result. On a
  /// CPU it is the buffer's own; elsewhere `staging` keeps it from run to run.
  virtual void *stageOperand(BufferId id, DeviceBufferRef &staging) = 0;
  virtual void *stageResult(BufferId id, DeviceBufferRef &staging) = 0;
  /// The result is there, and the steps that follow may read it.
  virtual void finishResult(BufferId id, const DeviceBufferRef &staging) = 0;
  /// Host memory of which collectives do not need a copy.
  virtual DeviceBufferRef allocateHost(int64_t bytes) = 0;

  /// A point of time on the device, for profiles; `resolveMarks` makes nanoseconds of the steady clock of all of them.
  virtual int64_t mark() = 0;
  virtual void resolveMarks(std::vector<ProfileEvent> &) {}

  //===--- For backends ------------------------------------------------------===//

  /// The entries of `pointers` for these buffers, one after the other; kept up to date.
  size_t addPointers(const std::vector<BufferId> &ids);
  void checkVerdict() const {
    if (context.health && context.health->isOver())
      context.health->throwVerdict();
  }

  const ProgramContext &context;
  const Plan &plan;
  const int64_t position;
  const std::vector<int64_t> coordinates;
  bool joinsSteps = false;
  std::vector<void *> buffers;  ///< By BufferId: addresses on the device.
  std::vector<void *> pointers; ///< Operand lists of all kernels, one after the other.

private:
  struct Op;
  using Ops = std::vector<Op>;
  struct PrintValue {
    std::unique_ptr<CollectiveCall> gather; ///< Null where this device has all of the value.
    DeviceBufferRef operand, gathered;
    BufferId buffer = 0;
    ValueInfo info;
  };

  /// One collective step: a call, or, where the root is known at run time, one for each root that there may be.
  struct Collective {
    std::vector<std::unique_ptr<CollectiveCall>> byRoot;
    std::vector<std::unique_ptr<DeviceCollective>> onDevice; ///< In their place.
    size_t underWay = 0;                                     ///< Into one of them.
    BufferId result = 0;
    DeviceBufferRef operandStaging, resultStaging;
  };

  Ops resolve(const std::vector<Step> &steps);
  static void joinSteps(Ops &ops);
  void resolveStart(const CollectiveStartStep &start, bool isAsync, Op &op);
  void resolvePrint(const PrintStep &step, Op &op);
  void execute(Ops &ops);
  void executeWatched(Ops &ops);
  void executeOne(Op &op);
  /// The run is at this step now.
  void begin(const Op &op);
  void executeSteps();
  void executePrint(Op &op);
  void lookForNans(const Op &op);
  size_t choose(const Collective &collective, BufferId root);
  CallSite endSite() const;
  /// Where the devices of the mesh meet before the first step or behind the last.
  std::unique_ptr<CollectiveCall> prepareMeeting(const CallSite &site);
  std::vector<BufferId> idsIn(BufferInfo::Space space) const;
  /// What the run has to throw because of a NaN, or nothing. Collective among the devices of the mesh.
  std::optional<NanAgreement::Answer> findNan(std::optional<NanCheck::Finding> &found);
  /// Throws, but on a device that leaves it to another one of this process.
  void failForNan(const NanAgreement::Answer &answer, const std::optional<NanCheck::Finding> &found);
  bool readPredicate(BufferId id) { return *static_cast<const uint8_t *>(read(id)) != 0; }

  Device &device;
  CommunicatorEndpoint *endpoint = nullptr;
  std::vector<std::pair<size_t, BufferId>> fixups; ///< Entries of `pointers` that change with the arguments.
  std::vector<std::unique_ptr<Collective>> collectives;
  std::map<int32_t, size_t> collectiveOfId;
  /// Where a branch or a loop holds collectives, devices can part in it unnoticed: then they meet at the end of the
  /// run, before its results count.
  std::unique_ptr<CollectiveCall> endOfRun;
  /// Collectives on devices compare nothing: that all make the same run is checked before it.
  std::unique_ptr<CollectiveCall> startOfRun;
  int depth = 0; ///< Of control flow, while resolving.
  bool hasNestedCollectives = false;
  int32_t nextStep = 0;
  std::unique_ptr<Ops> program;

  std::unique_ptr<NanCheck> nanCheck; ///< Null: NaNs are nobody's business.
  /// Null: this device is the only one of the mesh, or none are looked for.
  std::unique_ptr<NanAgreement> nanAgreement;

  inline static const SourceLocation unknownPlace;

  // The run under way.
  uint64_t launch = 0;
  const SourceLocation *place = &unknownPlace;
  std::vector<ProfileEvent> *profile = nullptr;
};

} // namespace spmd
