//===- CudaBackend.cpp - plans on GPUs ------------------------------------===//

#include "runtime/exec/cuda/CudaBackend.h"

#include "runtime/device/cuda/Architecture.h"
#include "runtime/exec/cuda/CudaProgram.h"
#include "runtime/support/Error.h"

#include <map>

namespace spmd {
namespace {

/// Throws if the code does not run on this GPU.
void checkArchitecture(const Plan &plan, const cuda::Gpu &gpu) {
  std::optional<cuda::Architecture> architecture = cuda::Architecture::parse(plan.target.cpu);
  if (!architecture)
    throw Error("the artifact '" + plan.name + "' is compiled for '" + plan.target.cpu +
                "', which is not a GPU architecture; compile it again");
  if (!architecture->runsOn(gpu.getCapability()))
    throw Error("the artifact '" + plan.name + "' is compiled for " + plan.target.cpu + ", but GPU " +
                std::to_string(gpu.getOrdinal()) + " (" + gpu.getName() + ") is " + gpu.getArchitecture() +
                "; compile it with --target=cuda:" + gpu.getArchitecture());
}

class CudaBackend final : public ExecutionBackend {
public:
  CudaBackend(std::shared_ptr<const Artifact> artifact, const std::vector<DeviceRef> &devices) {
    const Plan &plan = artifact->plan;
    for (const DeviceRef &ref : devices) {
      auto &device = static_cast<CudaDevice &>(*ref);
      const cuda::Gpu &gpu = device.getGpu();
      if (codes.count(&gpu) != 0)
        continue;
      gpu.makeCurrent();
      CudaCode &code = codes[&gpu];
      code.device = std::static_pointer_cast<CudaDevice>(ref);
      if (plan.kernels.empty()) // The plan only moves data.
        continue;
      checkArchitecture(plan, gpu);
      code.module = std::make_unique<cuda::KernelCode>(gpu.getSharedDriver(), artifact->code, plan.name);
      for (const KernelInfo &kernel : plan.kernels) {
        cuda::Function function = code.module->getFunction(kernel.symbol);
        if (kernel.sharedBytes > 0)
          gpu.getDriver().check(
              gpu.getDriver().FuncSetAttribute(function, cuda::kMaxDynamicSharedBytes, kernel.sharedBytes),
              "cuFuncSetAttribute");
        code.kernels.push_back(function);
      }
    }
  }

  ~CudaBackend() override {
    for (auto &[gpu, code] : codes)
      try {
        gpu->makeCurrent();
        code.module.reset();
      } catch (const Error &) {
        // A context with an error has no modules any more.
      }
  }

  std::unique_ptr<DeviceProgram> makeProgram(const ProgramContext &context, Device &device, int64_t position) override {
    auto &cudaDevice = static_cast<CudaDevice &>(device);
    return std::make_unique<CudaProgram>(context, codes.at(&cudaDevice.getGpu()), cudaDevice, position);
  }

private:
  std::map<const cuda::Gpu *, CudaCode> codes;
};

} // namespace

std::unique_ptr<ExecutionBackend> createCudaBackend(std::shared_ptr<const Artifact> artifact,
                                                    const std::vector<DeviceRef> &devices) {
  return std::make_unique<CudaBackend>(std::move(artifact), devices);
}

} // namespace spmd
