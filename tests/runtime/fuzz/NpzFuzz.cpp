#include "runtime/io/Npz.h"
#include "tests/runtime/fuzz/FuzzSupport.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  spmd::test::MemoryFile file(data, size);
  try {
    auto archive = spmd::openNpz(file.path());
    for (const std::string &name : archive->getNames()) {
      try {
        spmd::test::readAll(archive->open(name));
      } catch (const spmd::Error &) {
      }
    }
  } catch (const spmd::Error &) {
  }
  return 0;
}
