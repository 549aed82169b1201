//===- LocalGpu.cpp - the architecture of this machine's GPU --------------===//

#include "runtime/jit/LocalGpu.h"

#include "runtime/device/cuda/Driver.h"
#include "runtime/support/Error.h"

#include <algorithm>

namespace spmdc {
namespace {

/// The newest architecture for which this compiler generates code; newer GPUs run its PTX. Code for sm_90a has
/// instructions of this architecture alone (wgmma).
constexpr int kNewestCapability = 90;

} // namespace

std::string nameLocalGpu(const std::string &target) {
  if (target != "cuda")
    return target;
  using spmd::Error;
  std::string whyNot;
  std::shared_ptr<const spmd::cuda::Driver> driver = spmd::cuda::Driver::load(&whyNot);
  if (!driver)
    throw Error("the target cuda is this machine's GPU, but " + whyNot + "; name an architecture, such as cuda:sm_90",
                Error::Kind::Usage);
  int capability = driver->readCapability(0);
  return "cuda:sm_" + std::to_string(std::min(capability, kNewestCapability)) +
         (capability == kNewestCapability ? "a" : "");
}

} // namespace spmdc
