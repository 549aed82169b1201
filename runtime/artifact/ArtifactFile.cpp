//===- ArtifactFile.cpp - reading and writing .spmdx ----------------------===//

#include "runtime/artifact/ArtifactFile.h"

#include "runtime/artifact/ArtifactLayout.h"
#include "runtime/artifact/ArtifactReader.h"
#include "runtime/artifact/PlanJson.h"
#include "runtime/artifact/TargetAgreement.h"
#include "runtime/support/Error.h"
#include "runtime/support/File.h"

#include <cstring>
#include <map>

namespace spmd {

using namespace artifact_layout;

namespace {

template <typename T> void store(std::string &bytes, size_t offset, T value) {
  for (size_t i = 0; i < sizeof(T); ++i)
    bytes[offset + i] = static_cast<char>(value >> (8 * i) & 0xff);
}

size_t alignUp(size_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

/// Throws unless the artifacts may be the targets of one file.
void checkTargets(const std::vector<const Artifact *> &artifacts) {
  if (artifacts.empty() || artifacts.size() > kMaxTargets)
    throw Error("an artifact has 1 to " + std::to_string(kMaxTargets) + " targets, not " +
                std::to_string(artifacts.size()));
  for (size_t i = 1; i < artifacts.size(); ++i) {
    for (size_t j = 0; j < i; ++j)
      if (artifacts[i]->plan.target == artifacts[j]->plan.target)
        throw Error("two targets are " + artifacts[i]->plan.target.str() + "; name each once");
    std::string difference = findDisagreement(artifacts[0]->plan, artifacts[i]->plan);
    if (!difference.empty())
      throw Error("the targets of one artifact have the same parameters and results, but " + difference +
                  "; annotate it, or compile an artifact for each target");
  }
}

std::string encode(const std::vector<const Artifact *> &artifacts) {
  checkTargets(artifacts);
  std::vector<std::string> plans;
  for (const Artifact *artifact : artifacts)
    plans.push_back(writePlanJson(*artifact));
  std::vector<std::string_view> contents; // By section.
  for (size_t i = 0; i < artifacts.size(); ++i)
    contents.insert(contents.end(), {plans[i], artifacts[i]->constants, artifacts[i]->code});
  size_t size = alignUp(kHeaderBytes + contents.size() * kSectionEntryBytes);
  // Plans differ in their targets, so that only constants and code are found here.
  std::map<std::string_view, size_t> places;
  std::vector<size_t> offsets;
  for (std::string_view content : contents) {
    auto [place, isNew] = places.emplace(content, size);
    offsets.push_back(place->second);
    if (isNew)
      size = alignUp(size + content.size());
  }

  std::string bytes(size, '\0');
  kMagic.copy(bytes.data(), kMagic.size());
  store<uint32_t>(bytes, kVersionOffset, kArtifactFormatVersion);
  store<uint32_t>(bytes, kCountOffset, static_cast<uint32_t>(contents.size()));
  store<uint64_t>(bytes, kSizeOffset, size);
  for (size_t i = 0; i < contents.size(); ++i) {
    size_t entry = kHeaderBytes + i * kSectionEntryBytes;
    std::string_view name = kSectionNames[i % kSectionNames.size()];
    name.copy(&bytes[entry], name.size());
    store<uint64_t>(bytes, entry + kEntryOffset, offsets[i]);
    store<uint64_t>(bytes, entry + kEntrySize, contents[i].size());
    contents[i].copy(&bytes[offsets[i]], contents[i].size());
  }
  Sha256Digest digest = checksumOf(bytes);
  std::memcpy(&bytes[kChecksumOffset], digest.data(), digest.size());
  return bytes;
}

} // namespace

bool looksLikeArtifact(std::string_view firstBytes) { return firstBytes.substr(0, kMagic.size()) == kMagic; }

std::string encodeArtifact(const Artifact &artifact) { return encode({&artifact}); }

std::string encodeArtifacts(const std::vector<Artifact> &artifacts) {
  std::vector<const Artifact *> pointers;
  for (const Artifact &artifact : artifacts)
    pointers.push_back(&artifact);
  return encode(pointers);
}

Artifact decodeArtifact(std::string_view bytes, const std::string &name, const TargetChooser &choose) {
  ArtifactReader reader(bytes, name);
  if (choose)
    return reader.take(choose(reader, name));
  std::vector<TargetInfo> targets = reader.getTargets();
  if (targets.size() > 1)
    throw Error("'" + name + "' is compiled for " + targetList(targets) + ", and one target is needed here");
  return reader.take(0);
}

void writeArtifact(const Artifact &artifact, const std::string &path) {
  writeFileAtomically(path, encodeArtifact(artifact));
}

Artifact readArtifact(const std::string &path, const TargetChooser &choose) {
  MappedFile file(path);
  return decodeArtifact(file.bytes(), path, choose);
}

std::string fingerprint(const Artifact &artifact) {
  std::string plan = writePlanJsonWithoutLocations(artifact.plan);
  // The sizes separate the three parts, so that no two artifacts give the same hashed text.
  std::string sizes = std::to_string(plan.size()) + "," + std::to_string(artifact.constants.size()) + ";";
  return toHex(sha256({sizes, plan, artifact.constants, artifact.code}));
}

} // namespace spmd
