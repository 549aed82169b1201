//===- GpuJobHelper.h - programs on emulated GPUs ---------------*- C++ -*-===//
#pragma once

#include "runtime/collective/nccl/GpuTransport.h"
#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/exec/Executor.h"
#include "tests/programs/support/CompiledRun.h"
#include "tests/runtime/exec/cuda/FakeNcclHelper.h"

#include <optional>

namespace spmd::test {

/// A program for emulated GPUs: its artifact, and the LLVM IR that its PTX was made of.
struct GpuArtifact {
  std::shared_ptr<const Artifact> artifact;
  std::string llvmText;
  explicit operator bool() const { return artifact != nullptr; }
};

/// Null, with a failure of the test, where the program does not compile. As CompiledRun.h's compileText.
GpuArtifact compileForGpus(const std::string &fileName, const std::string &text,
                           const spmdc::PipelineOptions &pipeline = {});

enum class Transport { Host, Nccl };

struct GpuJobOptions {
  Transport transport = Transport::Host;
  /// All devices on one GPU.
  bool sharesGpu = false;
  uint64_t seed = 1;
  int64_t bytesPerGpu = int64_t{1} << 30;
};

/// A job of one process whose devices are emulated GPUs. Programs go before it does.
class GpuJob {
public:
  explicit GpuJob(int64_t devices, const GpuJobOptions &options = {});
  ~GpuJob();

  cuda::FakeDriver &getDriver() { return driver; }
  cuda::FakeNccl &getNccl() { return nccl; }
  const std::vector<DeviceRef> &getDevices() const { return devices; }
  CudaDevice &getDevice(int64_t id) { return static_cast<CudaDevice &>(*devices[static_cast<size_t>(id)]); }
  cuda::GpuTransport *getTransport() { return transport ? &*transport : nullptr; }

  /// Options for a program on all devices, to be completed.
  ExecutorOptions makeOptions();
  /// Throws spmd::Error.
  std::unique_ptr<spmdc::CompiledProgram> load(const GpuArtifact &program, const ExecutorOptions &options);
  std::unique_ptr<spmdc::CompiledProgram> load(const GpuArtifact &program) { return load(program, makeOptions()); }

private:
  cuda::FakeDriver driver;
  cuda::FakeNccl nccl;
  std::vector<DeviceRef> devices;
  std::unique_ptr<CollectiveBackend> collectives;
  std::optional<cuda::GpuTransport> transport;
};

/// Random numbers for each parameter: small integers, with which sums and products of floats are exact, or not.
std::vector<spmdc::Tensor> makeArguments(mlir::MLIRContext &context, const Plan &plan, uint64_t seed, bool areExact);

/// Empty, or the first difference. A float may differ by so many units in its last place; 0: in no bit, but that any
/// NaN is like any other.
std::string compareTensors(llvm::ArrayRef<spmdc::Tensor> expected, llvm::ArrayRef<spmdc::Tensor> actual, double ulps);

} // namespace spmd::test
