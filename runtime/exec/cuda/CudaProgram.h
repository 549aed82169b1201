//===- CudaProgram.h - a plan resolved for one GPU --------------*- C++ -*-===//
//
// Steps are queued on the device's stream and run there in order. The host waits when it needs a value (a predicate, a
// print, the operand of a collective) and at the end of a run.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/collective/nccl/GpuCollective.h"
#include "runtime/collective/nccl/GpuTransport.h"
#include "runtime/device/cuda/CublasLt.h"
#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/device/cuda/GraphControl.h"
#include "runtime/device/cuda/KernelCode.h"
#include "runtime/device/cuda/LoopStop.h"
#include "runtime/exec/DeviceProgram.h"
#include "runtime/exec/cuda/GraphCache.h"
#include "runtime/exec/cuda/StepTrace.h"

#include <map>
#include <memory>

namespace spmd {

/// State that the devices on one GPU share.
struct CudaCode {
  std::shared_ptr<CudaDevice> device; ///< One of these devices; it keeps the GPU alive.
  std::unique_ptr<cuda::KernelCode> module;
  std::vector<cuda::Function> kernels; ///< In the plan's order.
};

class CudaProgram final : public DeviceProgram {
public:
  CudaProgram(const ProgramContext &context, const CudaCode &code, CudaDevice &device, int64_t position);
  ~CudaProgram() override;

  int64_t getBytes() const override { return plan.arenaBytes + scratchBytes + transferScratchBytes; }

private:
  struct Launch;
  struct Product;
  struct Library;
  struct Copy;
  struct Control;
  struct Repetition;
  struct Transfer;

  std::unique_ptr<PreparedStep> prepareStep(const LaunchStep &step) override;
  std::unique_ptr<PreparedStep> prepareStep(const MatmulStep &step, const SourceLocation &location) override;
  std::unique_ptr<PreparedStep> prepareStep(const LibraryStep &step) override;
  std::unique_ptr<PreparedStep> prepareStep(const CopyStep &step) override;
  std::unique_ptr<PreparedStep> prepareControl(const Step &step, std::vector<PreparedStep *> first,
                                               std::vector<PreparedStep *> second) override;
  std::unique_ptr<DeviceCollective> prepareCollective(const CollectiveDesc &desc, BufferId operand,
                                                      BufferId result) override;
  void finishPreparation() override;
  size_t countMerged(std::span<const Step *const> steps) override { return steps.size(); }
  void runMerged(const std::vector<PreparedStep *> &steps) override;
  bool runControl(PreparedStep &step) override;
  void beginRun() override;
  void endRun() override;
  void abandon(const std::string &cause) noexcept override;

  const void *read(BufferId id) override;
  const std::vector<void *> &view(const std::vector<BufferId> &ids) override;
  void writeCounter(BufferId id, int32_t value) override;
  void *stageOperand(BufferId id, DeviceBufferRef &staging) override;
  void *stageResult(BufferId id, DeviceBufferRef &staging) override;
  void finishResult(BufferId id, const DeviceBufferRef &staging) override;
  DeviceBufferRef allocateHost(int64_t bytes) override { return device.allocateStaging(bytes); }
  void checkTransfers() override;
  int64_t recordTime() override;
  int64_t beginStep(size_t index) override;
  int64_t endStep(size_t index) override;
  void resolveTimes(std::vector<ProfileEvent> &events) override;

  cuda::DevicePointer addressOf(BufferId id) const {
    return reinterpret_cast<cuda::DevicePointer>(buffers[static_cast<size_t>(id)]);
  }
  size_t bytesOf(BufferId id) const { return static_cast<size_t>(plan.buffers[static_cast<size_t>(id)].bytes()); }
  cuda::DevicePointer getScratch() const {
    return scratch ? reinterpret_cast<cuda::DevicePointer>(scratch->data()) : 0;
  }
  /// Returns null if our own kernels compute the product.
  std::shared_ptr<cuda::CublasLtProduct> prepareProduct(const MatmulShape &shape, const LibraryEpilogue &epilogue);
  void launch(int32_t kernel, size_t firstPointer, size_t count);
  /// Begins to trace the run where CUPTI records.
  void beginTrace();
  /// Ends the trace: the profile has the times of events.
  void endTrace(std::vector<ProfileEvent> &profile);
  /// Queues the steps on that stream.
  void queue(const std::vector<PreparedStep *> &steps, cuda::Stream where);
  /// Ends the loops that the device executes, early: nothing else can end one that does not end by itself.
  void stopLoops() noexcept;
  void makeGraphControl();
  /// `mlp.spmd:5:7: cuda:0`: the location of the current step.
  std::string describeLocation() const;
  /// Throws spmd::Error with that location unless the result is success.
  void check(cuda::Result result, const char *what) const;
  /// Returns when the stream has executed all queued work; throws when the job is over.
  void wait();

  const CudaCode &code;
  CudaDevice &device;
  const cuda::Driver &driver;
  const cuda::Stream stream;
  cuda::Stream target; ///< Receives the steps: `stream`, or a stream that captures them.
  std::unique_ptr<GraphCache> graphs;
  /// Null: the host decides what loops and branches run.
  std::unique_ptr<cuda::GraphControl> graphControl;
  bool hasLookedForControl = false;
  std::unique_ptr<cuda::LoopStop> stop;   ///< Also without `graphControl`, while loops of graphs may run.
  DeviceBufferRef looked;                 ///< For `graphControl`.
  std::shared_ptr<cuda::NcclGroup> group; ///< Null: no collective runs on the device itself.
  cuda::NcclComm comm = nullptr;
  /// The stream of transfers, which overlap with the steps after their start. The transfers of all collectives run one
  /// after the other, in the plan's order.
  cuda::Stream transfers = nullptr;
  DeviceBufferRef transferScratch;
  int64_t transferScratchBytes = 0;
  std::vector<void *> runAddresses; ///< Addresses of arguments and results of the current run.
  DeviceBufferRef arena, constants, scratch, coordinatesOnDevice;
  DeviceBufferRef control; ///< Host memory for a value on which control flow depends.
  int64_t scratchBytes = 0;
  /// Null: our own kernel computes the product.
  std::map<std::pair<MatmulShape, LibraryEpilogue>, std::shared_ptr<cuda::CublasLtProduct>> products;
  /// Parameters of the launch that is being queued.
  std::vector<void *> parameters;
  void *coordinatesAddress = nullptr;

  std::vector<std::vector<char>> mirrors; ///< Copies for the host, by BufferId.
  std::vector<void *> mirrorAddresses;

  std::vector<cuda::Event> events; ///< Events of the run's profile; reused by the next run.
  size_t eventCount = 0;
  int64_t firstTimeNs = 0;
  /// While profiles are wanted; null: CUPTI is not there, or does not record.
  std::shared_ptr<const cuda::Cupti::Session> recording;
  std::unique_ptr<StepTrace> trace; ///< Of the current run; null: its profile has the times of events.
};

} // namespace spmd
