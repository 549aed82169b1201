//===- KernelCode.cpp - PTX on one GPU ------------------------------------===//

#include "runtime/device/cuda/KernelCode.h"

#include "runtime/support/Error.h"

#include <algorithm>
#include <vector>

namespace spmd::cuda {

KernelCode::KernelCode(std::shared_ptr<const Driver> given, const std::string &ptx, const std::string &name)
    : driver(std::move(given)), name(name) {
  std::vector<char> log(8192, 0);
  int options[] = {kJitErrorLog, kJitErrorLogBytes};
  void *values[] = {log.data(), reinterpret_cast<void *>(static_cast<uintptr_t>(log.size()))};
  Result result = driver->ModuleLoadDataEx(&module, ptx.c_str(), 2, options, values);
  if (result == kSuccess)
    return;
  log.back() = 0;
  std::string text(log.data());
  std::replace(text.begin(), text.end(), '\n', ' ');
  throw Error("the kernels of '" + name + "' cannot be loaded: " + driver->describe(result) +
              (text.empty() ? "" : ": " + text));
}

KernelCode::~KernelCode() { driver->ModuleUnload(module); }

Function KernelCode::getFunction(const std::string &symbol) const {
  Function function = nullptr;
  Result result = driver->ModuleGetFunction(&function, module, symbol.c_str());
  if (result != kSuccess)
    throw Error("the kernels of '" + name + "' lack '" + symbol + "' (" + driver->describe(result) +
                "): the artifact is incomplete; compile it again");
  return function;
}

} // namespace spmd::cuda
