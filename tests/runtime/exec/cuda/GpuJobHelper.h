//===- GpuJobHelper.h - programs on emulated GPUs ---------------*- C++ -*-===//
#pragma once

#include "runtime/collective/nccl/GpuTransport.h"
#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/exec/Executor.h"
#include "tests/programs/support/CompiledRun.h"
#include "tests/runtime/device/cuda/doubles/FakeCupti.h"
#include "tests/runtime/device/cuda/doubles/FakeNccl.h"

#include <optional>

namespace spmd::test {

/// A program for emulated GPUs.
using GpuArtifact = std::shared_ptr<const Artifact>;

/// Returns null, with a failure of the test, if the program does not compile. Like compileText of CompiledRun.h.
GpuArtifact compileForGpus(const std::string &fileName, const std::string &text,
                           const spmdc::PipelineOptions &pipeline = {}, bool allowTf32 = false);

enum class Transport { Host, Nccl };

struct GpuJobOptions {
  Transport transport = Transport::Host;
  /// All devices on one GPU.
  bool sharesGpu = false;
  uint64_t seed = 1;
  int64_t bytesPerGpu = int64_t{1} << 30;
  std::shared_ptr<const cuda::CublasLt> blas = nullptr; ///< Null: none.
  int capability = 90;                                  ///< Compute capability 9.0.
  int driverVersion = 13000;                            ///< CUDA 13.0.
  int queues = 8;                                       ///< Of each GPU.
  Health *health = nullptr;                             ///< Null: the job never ends.
  bool hasCupti = false;
  cuda::FakeCuptiOptions cupti = {};
};

/// A job of one process whose devices are emulated GPUs. Programs must be destroyed before it.
class GpuJob {
public:
  explicit GpuJob(int64_t devices, const GpuJobOptions &options = {});
  ~GpuJob();

  cuda::FakeDriver &getDriver() { return driver; }
  cuda::FakeNccl &getNccl() { return nccl; }
  cuda::FakeCupti &getCupti() { return *cupti; }
  const std::vector<DeviceRef> &getDevices() const { return devices; }
  CudaDevice &getDevice(int64_t id) { return static_cast<CudaDevice &>(*devices[static_cast<size_t>(id)]); }
  cuda::GpuTransport *getTransport() { return transport ? &*transport : nullptr; }

  /// Returns options for a program on all devices, to be completed.
  ExecutorOptions makeOptions();
  /// Throws spmd::Error.
  std::unique_ptr<spmdc::CompiledProgram> load(const GpuArtifact &program, const ExecutorOptions &options);
  std::unique_ptr<spmdc::CompiledProgram> load(const GpuArtifact &program) { return load(program, makeOptions()); }

private:
  cuda::FakeDriver driver;
  cuda::FakeNccl nccl;
  std::optional<cuda::FakeCupti> cupti;
  std::vector<DeviceRef> devices;
  std::unique_ptr<CollectiveBackend> collectives;
  std::optional<cuda::GpuTransport> transport;
};

/// Returns random numbers for each parameter: small integers, with which sums and products of floats are exact, or any.
std::vector<spmdc::Tensor> makeArguments(mlir::MLIRContext &context, const Plan &plan, uint64_t seed, bool areExact);

/// Returns an empty text, or the first difference. Floats may differ by so many units in the last place; 0: in no bit,
/// except that all NaNs are equal.
std::string compareTensors(llvm::ArrayRef<spmdc::Tensor> expected, llvm::ArrayRef<spmdc::Tensor> actual, double ulps);

} // namespace spmd::test
