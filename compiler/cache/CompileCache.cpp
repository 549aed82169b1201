//===- CompileCache.cpp - the cache of compiled programs ------------------===//
//
// The layout of an entry (numbers are little endian): SHA-256 of the key and of the rest of the entry (32 bytes),
// length of the warnings (8 bytes), warnings, artifact as in a .spmdx file.
//
//===----------------------------------------------------------------------===//

#include "compiler/cache/CompileCache.h"

#include "runtime/artifact/ArtifactFile.h"
#include "runtime/artifact/Sha256.h"

#include "llvm/Support/Endian.h"

namespace spmdc {
namespace {

constexpr size_t kDigestBytes = sizeof(spmd::Sha256Digest), kLengthBytes = sizeof(uint64_t);

/// The digest includes the key, so that an entry under another key's name is invalid.
std::string digestOf(const std::string &key, std::string_view rest) {
  spmd::Sha256Digest digest = spmd::sha256({key, rest});
  return {reinterpret_cast<const char *>(digest.data()), digest.size()};
}

std::string encodeEntry(const std::string &key, const spmd::Artifact &artifact, const std::string &warnings) {
  std::string length(kLengthBytes, '\0');
  llvm::support::endian::write64le(length.data(), warnings.size());
  std::string rest = length + warnings + spmd::encodeArtifact(artifact);
  return digestOf(key, rest) + rest;
}

/// Throws spmd::Error if the entry is damaged.
CachedProgram decodeEntry(const std::string &key, std::string_view bytes) {
  if (bytes.size() < kDigestBytes + kLengthBytes ||
      bytes.substr(0, kDigestBytes) != digestOf(key, bytes.substr(kDigestBytes)))
    throw spmd::Error("the entry is damaged");
  bytes.remove_prefix(kDigestBytes);
  uint64_t length = llvm::support::endian::read64le(bytes.data());
  bytes.remove_prefix(kLengthBytes);
  if (length > bytes.size())
    throw spmd::Error("the entry's warnings are longer than the entry");
  return {spmd::decodeArtifact(bytes.substr(length), key), std::string(bytes.substr(0, length))};
}

} // namespace

std::shared_ptr<CompileCache> CompileCache::open(const std::optional<std::string> &directory,
                                                 const spmd::Environment &environment) {
  if (!directory && (environment.noCache || !environment.cacheDirectory))
    return nullptr;
  return std::make_shared<CompileCache>(
      CacheFolder(directory ? *directory : *environment.cacheDirectory, environment.cacheLimit),
      directory || environment.isCacheDirectoryNamed);
}

std::optional<CachedProgram> CompileCache::find(const std::string &key) {
  found.clear();
  std::optional<std::string> bytes;
  try {
    bytes = folder.read(key);
  } catch (const spmd::Error &error) {
    setProblem(error);
  }
  if (!bytes)
    return std::nullopt;
  try {
    CachedProgram program = decodeEntry(key, *bytes);
    found = folder.pathOf(key);
    return program;
  } catch (const spmd::Error &) {
    folder.remove(key); // The compile that follows writes it again.
    return std::nullopt;
  }
}

void CompileCache::keep(const std::string &key, const spmd::Artifact &artifact, const std::string &warnings) {
  try {
    folder.write(key, encodeEntry(key, artifact, warnings));
  } catch (const spmd::Error &error) {
    setProblem(error);
  }
}

void CompileCache::setProblem(const spmd::Error &error) {
  cause = std::string("the compiled program is not cached: ") + error.what();
}

} // namespace spmdc
