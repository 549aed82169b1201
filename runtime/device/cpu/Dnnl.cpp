//===- Dnnl.cpp - oneDNN, found at run time -------------------------------===//

#include "runtime/device/cpu/Dnnl.h"

#include <dlfcn.h>

namespace spmd {
namespace {

template <typename Function> bool resolve(void *handle, const char *symbol, Function &function) {
  function = reinterpret_cast<Function>(dlsym(handle, symbol));
  return function != nullptr;
}

} // namespace

bool Dnnl::open(const char *soname, std::string &why) {
  handle = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    why += std::string(why.empty() ? "" : "; ") + dlerror();
    return false;
  }
  name = soname;
  auto refuse = [&](const char *reason) {
    why += std::string(why.empty() ? "" : "; ") + soname + ": " + reason;
    dlclose(handle);
    handle = nullptr;
    return false;
  };
  decltype(&::dnnl_version) version = nullptr;
  if (!resolve(handle, "dnnl_version", version) || !resolve(handle, "dnnl_sgemm", sgemm))
    return refuse("it lacks dnnl_version or dnnl_sgemm");
  const dnnl_version_t *info = version();
  if (info->cpu_runtime == DNNL_RUNTIME_OMP) {
    if (!resolve(handle, "omp_set_num_threads", setThreads))
      return refuse("its OpenMP cannot be told to use one thread");
  } else if (info->cpu_runtime != DNNL_RUNTIME_SEQ) {
    return refuse("it is built for another thread pool than OpenMP");
  }
  if (info->major == DNNL_VERSION_MAJOR && !loadPrimitives())
    return refuse("it lacks functions of its own header");
  return true;
}

bool Dnnl::loadPrimitives() {
  void *h = handle;
  bool isComplete =
      resolve(h, "dnnl_engine_create", engineCreate) && resolve(h, "dnnl_engine_destroy", engineDestroy) &&
      resolve(h, "dnnl_stream_create", streamCreate) && resolve(h, "dnnl_stream_destroy", streamDestroy) &&
      resolve(h, "dnnl_stream_wait", streamWait) &&
      resolve(h, "dnnl_memory_desc_init_by_strides", memoryDescInitByStrides) &&
      resolve(h, "dnnl_memory_desc_init_by_tag", memoryDescInitByTag) &&
      resolve(h, "dnnl_memory_desc_get_size", memoryDescGetSize) && resolve(h, "dnnl_memory_create", memoryCreate) &&
      resolve(h, "dnnl_memory_destroy", memoryDestroy) &&
      resolve(h, "dnnl_memory_set_data_handle", memorySetDataHandle) &&
      resolve(h, "dnnl_matmul_desc_init", matmulDescInit) && resolve(h, "dnnl_primitive_attr_create", attrCreate) &&
      resolve(h, "dnnl_primitive_attr_destroy", attrDestroy) &&
      resolve(h, "dnnl_primitive_attr_set_scratchpad_mode", attrSetScratchpadMode) &&
      resolve(h, "dnnl_primitive_desc_create", primitiveDescCreate) &&
      resolve(h, "dnnl_primitive_desc_destroy", primitiveDescDestroy) &&
      resolve(h, "dnnl_primitive_desc_query", primitiveDescQuery) &&
      resolve(h, "dnnl_primitive_desc_query_md", primitiveDescQueryMd) &&
      resolve(h, "dnnl_reorder_primitive_desc_create", reorderDescCreate) &&
      resolve(h, "dnnl_primitive_create", primitiveCreate) && resolve(h, "dnnl_primitive_destroy", primitiveDestroy) &&
      resolve(h, "dnnl_primitive_execute", primitiveExecute);
  if (!isComplete)
    return false;
  useOneThread();
  return engineCreate(&engine, dnnl_cpu, 0) == dnnl_success;
}

std::shared_ptr<const Dnnl> Dnnl::load(std::string *whyNot) {
  std::string why;
  std::shared_ptr<Dnnl> library(new Dnnl());
  for (const char *soname : {"libdnnl.so.2", "libdnnl.so.3", "libdnnl.so"})
    if (library->open(soname, why))
      return library;
  if (whyNot)
    *whyNot = why;
  return nullptr;
}

Dnnl::~Dnnl() {
  if (engine)
    engineDestroy(engine);
  // The library stays mapped: its OpenMP keeps thread-local state that is destroyed when threads end.
}

} // namespace spmd
