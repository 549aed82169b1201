//===- LibraryKernels.cpp - the modules of kernels/*.cu -------------------===//

#include "runtime/device/cuda/LibraryKernels.h"

#include "runtime/device/cuda/LibraryPtx.h"
#include "runtime/support/Error.h"

namespace spmd::cuda {
namespace {

/// While it lives, this thread may load modules although it captures a stream.
class RelaxedCapture {
public:
  explicit RelaxedCapture(const Driver &driver) : driver(driver) { exchange(); }
  ~RelaxedCapture() { driver.ThreadExchangeStreamCaptureMode(&mode); }
  RelaxedCapture(const RelaxedCapture &) = delete;
  RelaxedCapture &operator=(const RelaxedCapture &) = delete;

private:
  void exchange() { driver.check(driver.ThreadExchangeStreamCaptureMode(&mode), "cuThreadExchangeStreamCaptureMode"); }

  const Driver &driver;
  int mode = kCaptureRelaxed; ///< The previous mode.
};

} // namespace

Function LibraryKernels::find(const std::string &module, const std::string &symbol) const {
  std::lock_guard lock(mutex);
  Function &function = functions[{module, symbol}];
  if (function)
    return function;
  RelaxedCapture relaxed(*driver);
  std::unique_ptr<KernelCode> &code = modules[module];
  if (!code)
    code = std::make_unique<KernelCode>(driver, findLibraryPtx(module), "runtime library " + module);
  return function = code->getFunction(symbol);
}

void LibraryLauncher::launch(const std::string &module, const std::string &symbol, int64_t blocks,
                             void **arguments) const {
  if (blocks == 0)
    return;
  if (blocks > INT32_MAX)
    throw Error(symbol + ": the array is too large for one launch on a GPU (" + std::to_string(blocks) + " blocks)");
  const Driver &driver = kernels.getDriver();
  driver.check(driver.LaunchKernel(kernels.find(module, symbol), static_cast<unsigned>(blocks), 1, 1, kBlockThreads, 1,
                                   1, 0, stream, arguments, nullptr),
               symbol.c_str());
}

void LibraryLauncher::copy(DevicePointer target, DevicePointer source, int64_t bytes) const {
  if (bytes > 0)
    kernels.getDriver().check(kernels.getDriver().MemcpyDtoDAsync(target, source, static_cast<size_t>(bytes), stream),
                              "copying on the GPU");
}

void LibraryLauncher::fill(DevicePointer target, unsigned char value, int64_t bytes) const {
  if (bytes > 0)
    kernels.getDriver().check(kernels.getDriver().MemsetD8Async(target, value, static_cast<size_t>(bytes), stream),
                              "clearing GPU memory");
}

} // namespace spmd::cuda
