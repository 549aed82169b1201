// Manifests of checkpoints as they are, and with a corrected checksum.

#include "runtime/checkpoint/Manifest.h"
#include "tests/runtime/fuzz/FuzzSupport.h"

#include <nlohmann/json.hpp>

static void tryOne(std::string_view text) {
  try {
    spmd::Manifest manifest = spmd::decodeManifest(text, "fuzz");
    if (spmd::decodeManifest(spmd::encodeManifest(manifest), "again") != manifest)
      std::abort();
  } catch (const spmd::Error &) {
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  tryOne(text);
  if (text.find("[[[[[[[[") != text.npos) // The JSON library recurses; the decoder's own limit must come first.
    return 0;
  nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object())
    return 0;
  json.erase("checksum");
  json["checksum"] = spmd::checksum(json.dump());
  tryOne(json.dump());
  return 0;
}
