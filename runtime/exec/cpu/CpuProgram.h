//===- CpuProgram.h - a plan resolved for one CPU device --------*- C++ -*-===//
#pragma once

#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/device/cpu/Dnnl.h"
#include "runtime/device/cpu/Matmul.h"
#include "runtime/exec/DeviceProgram.h"
#include "runtime/exec/cpu/KernelModule.h"
#include "runtime/exec/cpu/LaunchGroup.h"

#include <map>
#include <memory>

namespace spmd {

/// State that the CPU devices of a process share.
struct CpuCode {
  std::shared_ptr<const KernelModule> module;
  std::shared_ptr<const Dnnl> dnnl; ///< Null: not installed, or not needed.
  const char *constants = nullptr;
};

class CpuProgram final : public DeviceProgram {
public:
  CpuProgram(const ProgramContext &context, const CpuCode &code, CpuDevice &device, int64_t position);

  int64_t getBytes() const override { return plan.arenaBytes + scratchBytes; }

private:
  struct Launch;
  struct Product;
  struct Library;
  struct FourierTransform;
  struct Copy;
  struct Loop;

  std::unique_ptr<PreparedStep> prepareStep(const LaunchStep &step) override;
  std::unique_ptr<PreparedStep> prepareStep(const MatmulStep &step, const SourceLocation &location) override;
  std::unique_ptr<PreparedStep> prepareStep(const LibraryStep &step) override;
  std::unique_ptr<PreparedStep> prepareStep(const CopyStep &step) override;
  std::unique_ptr<PreparedStep> prepareLoop(const CompiledLoop &loop) override;
  bool runControl(PreparedStep &step) override {
    step.run();
    return true;
  }
  size_t countMerged(std::span<const Step *const> steps) override;
  void prepareMerged(const std::vector<PreparedStep *> &steps) override;
  void runMerged(const std::vector<PreparedStep *> &steps) override;
  void finishPreparation() override;
  void beginRun() override;

  const void *read(BufferId id) override { return buffers[static_cast<size_t>(id)]; }
  const std::vector<void *> &view(const std::vector<BufferId> &) override { return buffers; }
  void writeCounter(BufferId id, int32_t value) override {
    *static_cast<int32_t *>(buffers[static_cast<size_t>(id)]) = value;
  }
  void *stageOperand(BufferId id, DeviceBufferRef &) override { return buffers[static_cast<size_t>(id)]; }
  void *stageResult(BufferId id, DeviceBufferRef &) override { return buffers[static_cast<size_t>(id)]; }
  void finishResult(BufferId, const DeviceBufferRef &) override {}
  DeviceBufferRef allocateHost(int64_t bytes) override { return device.allocate(bytes); }
  int64_t recordTime() override;

  const CpuCode &code;
  CpuDevice &device;
  DeviceBufferRef arena, scratch;
  int64_t scratchBytes = 0;
  std::map<MatmulShape, std::shared_ptr<Matmul>> matmuls;
};

} // namespace spmd
