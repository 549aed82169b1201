//===- DeviceProgram.h - a plan resolved for one CPU device -----*- C++ -*-===//
//
// Every step with its pointers, its function, its prepared collective or product: what is left to do at run time is
// to put in the addresses of arguments and results, and to go through the steps. Nothing is allocated then.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/device/cpu/Dnnl.h"
#include "runtime/device/cpu/Matmul.h"
#include "runtime/exec/Executor.h"
#include "runtime/exec/KernelModule.h"
#include "runtime/exec/NanAgreement.h"
#include "runtime/exec/NanCheck.h"

#include <map>
#include <memory>
#include <vector>

namespace spmd {

/// What the programs of all local devices have in common.
struct ProgramContext {
  std::shared_ptr<const Artifact> artifact;
  std::shared_ptr<const KernelModule> module;
  std::shared_ptr<const Dnnl> dnnl; ///< Null: none, or not needed.
  const char *constants = nullptr;
  Communicator *communicator = nullptr;
  Health *health = nullptr;
  ExecutionCounters *counters = nullptr;
  ProfileLog *profileLog = nullptr;
  bool checkNans = false, nansEndJob = false;
  const std::vector<StepInfo> *stepInfo = nullptr;
  PrintFunction print;
  int64_t printPosition = 0;           ///< The mesh position that prints.
  std::vector<int64_t> localPositions; ///< The mesh positions of this process.
  uint64_t fingerprint = 0;
};

class DeviceProgram {
public:
  /// On the device's own thread, so that its memory is first touched there.
  DeviceProgram(const ProgramContext &context, CpuDevice &device, int64_t position);
  ~DeviceProgram();

  /// On the device's thread. `profile` may be null.
  void run(uint64_t launch, const std::vector<DeviceBufferRef> &arguments, const std::vector<DeviceBufferRef> &results,
           std::vector<ProfileEvent> *profile);

  /// After a run that failed, and Communicator::abort: returns when nothing uses the memory of that run any more.
  void settle() {
    if (endpoint)
      endpoint->settle();
  }

  /// Where the run under way has come to, or the last run; on the device's thread.
  const SourceLocation &getPlace() const { return *place; }

  /// Arena, scratch.
  int64_t getBytes() const;

private:
  struct Op;
  using Ops = std::vector<Op>;
  struct PrintValue {
    std::unique_ptr<CollectiveCall> gather; ///< Null where this device has all of the value.
    DeviceBufferRef gathered;
    BufferId buffer = 0;
    ValueInfo info;
  };

  /// One collective step: a call, or, where the root is known at run time, one for each root that there may be.
  struct Collective {
    std::vector<std::unique_ptr<CollectiveCall>> byRoot;
    CollectiveCall *underWay = nullptr;
  };

  Ops resolve(const std::vector<Step> &steps);
  size_t addPointers(const std::vector<BufferId> &ids);
  void resolveMatmul(const MatmulStep &step, Op &op);
  void resolveStart(const CollectiveStartStep &start, bool isAsync, Op &op);
  void resolvePrint(const PrintStep &step, Op &op);
  void execute(Ops &ops);
  void executeOne(Op &op);
  void executePrint(Op &op);
  CollectiveCall &choose(Collective &collective, BufferId root);
  CallSite endSite() const;
  /// What the run has to throw because of a NaN, or nothing. Collective among the devices of the mesh.
  std::optional<NanAgreement::Answer> findNan(std::optional<NanCheck::Finding> &found);
  /// Throws, but on a device that leaves it to another one of this process.
  void failForNan(const NanAgreement::Answer &answer, const std::optional<NanCheck::Finding> &found);
  void checkVerdict() const {
    if (context.health && context.health->isOver())
      context.health->throwVerdict();
  }
  bool readPredicate(BufferId id) const { return *static_cast<const uint8_t *>(buffers[id]) != 0; }

  const ProgramContext &context;
  const Plan &plan;
  CpuDevice &device;
  const int64_t position;
  const std::vector<int64_t> coordinates;
  CommunicatorEndpoint *endpoint = nullptr;

  DeviceBufferRef arena, scratch;
  int64_t scratchBytes = 0;
  std::vector<void *> buffers;                     ///< By BufferId.
  std::vector<void *> pointers;                    ///< Operand lists of all kernels, one after the other.
  std::vector<std::pair<size_t, BufferId>> fixups; ///< Entries of `pointers` that change with the arguments.
  std::vector<std::unique_ptr<Collective>> collectives;
  std::map<int32_t, size_t> collectiveOfId;
  /// Where a branch or a loop holds collectives, devices can part in it unnoticed: then they meet at the end of the
  /// run, before its results count.
  std::unique_ptr<CollectiveCall> endOfRun;
  int depth = 0; ///< Of control flow, while resolving.
  bool hasNestedCollectives = false;
  std::map<MatmulShape, std::shared_ptr<Matmul>> matmuls;
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
