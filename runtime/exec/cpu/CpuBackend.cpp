//===- CpuBackend.cpp - plans on CPU devices ------------------------------===//

#include "runtime/exec/cpu/CpuBackend.h"

#include "runtime/device/Allocation.h"
#include "runtime/exec/cpu/CpuProgram.h"

#include <cstring>

namespace spmd {
namespace {

class CpuBackend final : public ExecutionBackend {
public:
  CpuBackend(std::shared_ptr<const Artifact> artifact, const std::vector<DeviceRef> &devices) {
    code.module = std::make_shared<KernelModule>(*artifact);
    if (hasMatmul(artifact->plan.steps))
      code.dnnl = Dnnl::load();
    if (artifact->constants.empty())
      return;
    constants = allocateFor(*devices[0], static_cast<int64_t>(artifact->constants.size()),
                            [&] { return "the constants of '" + artifact->plan.name + "'"; });
    std::memcpy(constants->data(), artifact->constants.data(), artifact->constants.size());
    code.constants = static_cast<const char *>(constants->data());
  }

  std::unique_ptr<DeviceProgram> makeProgram(const ProgramContext &context, Device &device, int64_t position) override {
    return std::make_unique<CpuProgram>(context, code, static_cast<CpuDevice &>(device), position);
  }

private:
  static bool hasMatmul(const std::vector<Step> &steps) {
    for (const Step &step : steps) {
      if (std::get_if<MatmulStep>(&step.op))
        return true;
      if (auto *branch = std::get_if<IfStep>(&step.op))
        if (hasMatmul(branch->thenSteps) || hasMatmul(branch->elseSteps))
          return true;
      if (auto *loop = std::get_if<WhileStep>(&step.op))
        if (hasMatmul(loop->condition) || hasMatmul(loop->body))
          return true;
      if (auto *counted = std::get_if<ForStep>(&step.op))
        if (hasMatmul(counted->body))
          return true;
    }
    return false;
  }

  CpuCode code;
  DeviceBufferRef constants;
};

} // namespace

std::unique_ptr<ExecutionBackend> createCpuBackend(std::shared_ptr<const Artifact> artifact,
                                                   const std::vector<DeviceRef> &devices) {
  return std::make_unique<CpuBackend>(std::move(artifact), devices);
}

} // namespace spmd
