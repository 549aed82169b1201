//===- Dnnl.h - oneDNN, found at run time -----------------------*- C++ -*-===//
//
// The library is opened by name, so that a binary runs with or without it. The matmul primitive is used of version 2;
// later versions changed that interface, and of them only sgemm, which did not change, is used. oneDNN always runs
// single-threaded: parallelFor alone distributes work over threads.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <dnnl.h>

#include <memory>
#include <string>

namespace spmd {

class Dnnl {
public:
  /// Returns null if there is no usable library; `whyNot` then lists the attempts.
  static std::shared_ptr<const Dnnl> load(std::string *whyNot = nullptr);
  ~Dnnl();
  Dnnl(const Dnnl &) = delete;
  Dnnl &operator=(const Dnnl &) = delete;

  bool hasPrimitives() const { return engine != nullptr; }
  dnnl_engine_t getEngine() const { return engine; }
  /// For the calling thread; call it before primitives are created or run on that thread.
  void useOneThread() const {
    if (setThreads)
      setThreads(1);
  }
  const std::string &getName() const { return name; }

  decltype(&::dnnl_sgemm) sgemm = nullptr;
  decltype(&::dnnl_engine_create) engineCreate = nullptr;
  decltype(&::dnnl_engine_destroy) engineDestroy = nullptr;
  decltype(&::dnnl_stream_create) streamCreate = nullptr;
  decltype(&::dnnl_stream_destroy) streamDestroy = nullptr;
  decltype(&::dnnl_stream_wait) streamWait = nullptr;
  decltype(&::dnnl_memory_desc_init_by_strides) memoryDescInitByStrides = nullptr;
  decltype(&::dnnl_memory_desc_init_by_tag) memoryDescInitByTag = nullptr;
  decltype(&::dnnl_memory_desc_get_size) memoryDescGetSize = nullptr;
  decltype(&::dnnl_memory_create) memoryCreate = nullptr;
  decltype(&::dnnl_memory_destroy) memoryDestroy = nullptr;
  decltype(&::dnnl_memory_set_data_handle) memorySetDataHandle = nullptr;
  decltype(&::dnnl_matmul_desc_init) matmulDescInit = nullptr;
  decltype(&::dnnl_primitive_attr_create) attrCreate = nullptr;
  decltype(&::dnnl_primitive_attr_destroy) attrDestroy = nullptr;
  decltype(&::dnnl_primitive_attr_set_scratchpad_mode) attrSetScratchpadMode = nullptr;
  decltype(&::dnnl_primitive_desc_create) primitiveDescCreate = nullptr;
  decltype(&::dnnl_primitive_desc_destroy) primitiveDescDestroy = nullptr;
  decltype(&::dnnl_primitive_desc_query) primitiveDescQuery = nullptr;
  decltype(&::dnnl_primitive_desc_query_md) primitiveDescQueryMd = nullptr;
  decltype(&::dnnl_reorder_primitive_desc_create) reorderDescCreate = nullptr;
  decltype(&::dnnl_primitive_create) primitiveCreate = nullptr;
  decltype(&::dnnl_primitive_destroy) primitiveDestroy = nullptr;
  decltype(&::dnnl_primitive_execute) primitiveExecute = nullptr;

private:
  Dnnl() = default;
  bool open(const char *soname, std::string &why);
  bool loadPrimitives();

  std::string name;
  void *handle = nullptr;
  void (*setThreads)(int) = nullptr;
  dnnl_engine_t engine = nullptr;
};

} // namespace spmd
