// Artifacts as they are, and with a corrected checksum, so that the code behind the checksum is reached too.

#include "runtime/artifact/ArtifactFile.h"
#include "runtime/artifact/ArtifactReader.h"
#include "runtime/artifact/Sha256.h"
#include "tests/runtime/fuzz/FuzzSupport.h"

#include <cstring>

static void tryOne(std::string_view bytes) {
  try {
    spmd::ArtifactReader reader(bytes, "fuzz");
    std::vector<spmd::Artifact> artifacts;
    for (size_t i = 0; i != reader.getTargets().size(); ++i)
      artifacts.push_back(spmd::decodeArtifact(bytes, "fuzz", [&](auto &, auto &) { return i; }));
    std::string again = spmd::encodeArtifacts(artifacts);
    spmd::decodeArtifact(again, "again", [&](auto &file, auto &) { return file.getTargets().size() - 1; });
  } catch (const spmd::Error &) {
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string bytes(reinterpret_cast<const char *>(data), size);
  tryOne(bytes);
  constexpr size_t sizeOffset = 16, checksumOffset = 24;
  if (bytes.size() < 64)
    return 0;
  for (size_t i = 0; i != 8; ++i)
    bytes[sizeOffset + i] = static_cast<char>(bytes.size() >> (8 * i));
  std::string_view all = bytes;
  auto digest = spmd::sha256({all.substr(0, checksumOffset), all.substr(checksumOffset + sizeof(spmd::Sha256Digest))});
  std::memcpy(&bytes[checksumOffset], digest.data(), digest.size());
  tryOne(bytes);
  return 0;
}
