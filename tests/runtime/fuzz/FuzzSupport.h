//===- FuzzSupport.h - helpers of the decoders' fuzz targets ----*- C++ -*-===//
//
// Each *Fuzz.cpp of this folder is one libFuzzer target (docs/testing.md): every input gives a value or an spmd::Error,
// never a crash, a hang, or excessive memory.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/io/ArraySource.h"
#include "runtime/support/Error.h"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <sys/mman.h>
#include <unistd.h>

namespace spmd::test {

/// The input as a file, for decoders that map one.
class MemoryFile {
public:
  MemoryFile(const uint8_t *data, size_t size) : fd(memfd_create("fuzz", MFD_CLOEXEC)) {
    if (fd < 0 || ::write(fd, data, size) != static_cast<ssize_t>(size))
      std::abort();
  }
  ~MemoryFile() { ::close(fd); }
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile &operator=(const MemoryFile &) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd); }

private:
  int fd;
};

/// Reads the full array if it is small.
inline void readAll(const ArraySource &source) {
  const ArrayLayout &layout = source.getLayout();
  if (!layout.dtype)
    return;
  int64_t bytes = byteSize(*layout.dtype);
  std::vector<ShardRange> ranges;
  for (int64_t size : layout.shape) {
    ranges.push_back({0, size});
    if (size < 0 || __builtin_mul_overflow(bytes, size, &bytes))
      std::abort(); // More bytes than the file can have.
  }
  if (bytes > (1 << 20))
    return;
  std::string values(static_cast<size_t>(bytes), '\0');
  source.read(*layout.dtype, ranges, layout.shape, values.data());
}

} // namespace spmd::test
