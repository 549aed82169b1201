//===- ExplainGpus.cpp - GPU support of this machine ----------------------===//

#include "runtime/device/cuda/ExplainGpus.h"

#include "runtime/device/cuda/CublasLt.h"
#include "runtime/device/cuda/Cupti.h"
#include "runtime/device/cuda/Gpu.h"
#include "runtime/support/Error.h"

namespace spmd::cuda {
namespace {

std::string describe(const Gpu &gpu) {
  size_t free = 0, total = 0;
  gpu.makeCurrent();
  gpu.getDriver().check(gpu.getDriver().MemGetInfo(&free, &total), "cuMemGetInfo");
  return "GPU " + std::to_string(gpu.getOrdinal()) + ": " + gpu.getName() + ", " + gpu.getArchitecture() + ", " +
         std::to_string(gpu.getMultiprocessors()) + " multiprocessors, " + std::to_string(free >> 20) + " of " +
         std::to_string(total >> 20) + " MiB free, " + gpu.getUuid() + "\n";
}

std::string blasLine(const std::string &toolkit) {
  std::string whyNot;
  std::shared_ptr<const CublasLt> blas = CublasLt::load(toolkit, &whyNot);
  return blas ? "cuBLASLt: version " + blas->getVersion() + "\n"
              : "cuBLASLt: none (" + whyNot + "); matrix products run by spmdc's own kernels, which are slower\n";
}

std::string cuptiLine(const std::string &toolkit, int driverVersion) {
  constexpr const char *kEvents = "; --profile times steps by events, which adds some microseconds to each\n";
  std::string whyNot;
  std::shared_ptr<Cupti> cupti = Cupti::load(toolkit, driverVersion, &whyNot);
  if (!cupti)
    return "CUPTI: none (" + whyNot + ")" + kEvents;
  bool records = cupti->start(whyNot) != nullptr;
  return "CUPTI: version " + cupti->getVersion() + (records ? "\n" : ", but " + whyNot + kEvents);
}

} // namespace

std::string explainGpus(const std::string &toolkit) {
  std::string whyNot;
  std::shared_ptr<const Driver> driver = Driver::load(&whyNot);
  if (!driver)
    return "GPUs: none: " + whyNot + "\n";
  std::string text = "GPUs: NVIDIA's driver for CUDA " + std::to_string(driver->getVersion() / 1000) + "." +
                     std::to_string(driver->getVersion() % 1000 / 10) + "\n";
  if (!driver->hasConditionalNodes())
    text +=
        "loops: the host decides about each iteration, which takes longer; a driver for CUDA 12.8 lets the GPU do it\n";
  for (int i = 0; i < driver->getGpuCount(); ++i)
    try {
      Gpu gpu(driver, i);
      text += describe(gpu);
      if (i == 0)
        text += blasLine(toolkit) + cuptiLine(toolkit, driver->getVersion());
    } catch (const Error &error) {
      text += "GPU " + std::to_string(i) + ": " + error.what() + "\n";
    }
  return text;
}

} // namespace spmd::cuda
