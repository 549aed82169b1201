//===- CompiledProgramHelper.cpp - compiles IR for this CPU ---------------===//

#include "tests/passes/cpu/CompiledProgramHelper.h"

#include <gtest/gtest.h>

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;

namespace spmdc {

CompiledKernels::CompiledKernels(ModuleOp module, const CpuTarget &target, const PipelineOptions &options)
    : PlannedProgram(module, options) {
  if (!isPlanned())
    return;
  FailureOr<std::string> code = emitSharedObject(getModule(), artifact.plan, target);
  if (failed(code)) {
    ADD_FAILURE() << "no shared object";
    return;
  }
  artifact.code = std::move(*code);
  int fd = memfd_create("kernels", MFD_CLOEXEC);
  if (fd < 0 || ::write(fd, artifact.code.data(), artifact.code.size()) != static_cast<ssize_t>(artifact.code.size())) {
    ADD_FAILURE() << "no memory file";
    return;
  }
  library = dlopen(("/proc/self/fd/" + std::to_string(fd)).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    ADD_FAILURE() << dlerror();
  ::close(fd);
}

CompiledKernels::~CompiledKernels() {
  if (library)
    dlclose(library);
}

std::string CompiledKernels::launch(const spmd::KernelInfo &info, int64_t extent, const std::vector<void *> &operands,
                                    const std::vector<int64_t> &coordinates, unsigned way) {
  using Kernel = void (*)(int64_t, int64_t, void *const *, const int64_t *);
  auto kernel = reinterpret_cast<Kernel>(dlsym(library, info.symbol.c_str()));
  if (!kernel)
    return "no kernel " + info.symbol;
  int64_t piece = way == Whole ? extent : way == Ones ? 1 : std::max<int64_t>(1, extent / 3 + 1);
  if (extent > 0)
    for (int64_t begin = (extent - 1) / piece * piece; begin >= 0; begin -= piece)
      kernel(begin, std::min(begin + piece, extent), operands.data(), coordinates.data());
  return "";
}

} // namespace spmdc
