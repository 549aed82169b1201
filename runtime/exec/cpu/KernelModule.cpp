//===- KernelModule.cpp - the generated code of an artifact ---------------===//

#include "runtime/exec/cpu/KernelModule.h"
#include "runtime/exec/cpu/CpuFeatures.h"
#include "runtime/support/Error.h"
#include "runtime/support/File.h"
#include "runtime/support/Process.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

namespace spmd {
namespace {

int createCodeFile(const std::string &code, const std::string &name) {
  // Requests an executable memfd; kernels since 6.3 expect the flag.
  constexpr unsigned exec = 0x0010U;
  int fd = memfd_create(name.c_str(), MFD_CLOEXEC | exec);
  if (fd < 0 && errno == EINVAL)
    fd = memfd_create(name.c_str(), MFD_CLOEXEC);
  if (fd < 0)
    throw Error("the kernels of '" + name + "' cannot be loaded: memfd_create: " + writeProblem(errno));
  for (size_t written = 0; written < code.size();) {
    ssize_t n = write(fd, code.data() + written, code.size() - written);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0) {
      std::string why = writeProblem(errno);
      close(fd);
      throw Error("the kernels of '" + name + "' cannot be loaded: " + why);
    }
    written += n;
  }
  return fd;
}

} // namespace

KernelModule::KernelModule(const Artifact &artifact) {
  checkTarget(artifact.plan.target);
  if (artifact.plan.kernels.empty())
    return;
  // The descriptor stays open as long as the object is loaded: the loader identifies objects by path, and a reused
  // descriptor number would give the wrong object.
  fd = createCodeFile(artifact.code, artifact.plan.name);
  handle = dlopen(("/proc/self/fd/" + std::to_string(fd)).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    std::string why = dlerror();
    if (why.find(std::strerror(EMFILE)) != std::string::npos) // dlerror reports it only as text.
      why = systemErrorText(EMFILE);
    close(fd);
    throw Error("the kernels of '" + artifact.plan.name + "' cannot be loaded: " + why);
  }
  for (const KernelInfo &kernel : artifact.plan.kernels) {
    void *function = dlsym(handle, kernel.symbol.c_str());
    if (!function) {
      dlclose(handle);
      close(fd);
      throw Error("the kernels of '" + artifact.plan.name + "' lack '" + kernel.symbol +
                  "': the artifact is incomplete; compile it again");
    }
    symbols.push_back(function);
  }
}

KernelModule::~KernelModule() {
  if (handle)
    dlclose(handle);
  if (fd >= 0)
    close(fd);
}

} // namespace spmd
