// Archives as they are, and a valid one with the input as its member, so that the code behind the zip reader is reached
// too.

#include "runtime/io/Npz.h"
#include "tests/runtime/fuzz/FuzzSupport.h"

#include <zlib.h>

static void tryOne(std::string_view bytes) {
  spmd::test::MemoryFile file(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
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
}

/// Returns a zip with one stored member, `x.npy` (APPNOTE.TXT, 4.3).
static std::string zipOf(std::string_view member) {
  const std::string name = "x.npy";
  auto put = [](std::string &out, size_t value, int bytes) {
    for (int i = 0; i != bytes; ++i)
      out += static_cast<char>(value >> (8 * i));
  };
  uLong checksum = crc32(0, reinterpret_cast<const Bytef *>(member.data()), static_cast<uInt>(member.size()));
  std::string entry; // The common part of the local header and the directory.
  put(entry, 20, 2);
  put(entry, 0, 8); // Flags, method, time and date.
  put(entry, checksum, 4);
  put(entry, member.size(), 4);
  put(entry, member.size(), 4);
  put(entry, name.size(), 2);
  put(entry, 0, 2);
  std::string file = "PK\3\4" + entry + name + std::string(member);
  size_t directory = file.size();
  file += "PK\1\2";
  put(file, 20, 2);
  file += entry + std::string(14, '\0') + name; // No comment, this disk, no attributes, at the beginning.
  size_t size = file.size() - directory;
  file += "PK\5\6" + std::string(4, '\0');
  put(file, 1, 2);
  put(file, 1, 2);
  put(file, size, 4);
  put(file, directory, 4);
  put(file, 0, 2);
  return file;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char *>(data), size);
  tryOne(bytes);
  tryOne(zipOf(bytes));
  return 0;
}
