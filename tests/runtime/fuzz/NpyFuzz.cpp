#include "runtime/io/Npy.h"
#include "tests/runtime/fuzz/FuzzSupport.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  spmd::test::MemoryFile file(data, size);
  try {
    spmd::test::readAll(spmd::openNpy(file.path()));
  } catch (const spmd::Error &) {
  }
  return 0;
}
