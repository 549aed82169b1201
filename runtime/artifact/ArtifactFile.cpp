//===- ArtifactFile.cpp - reading and writing .spmdx ----------------------===//

#include "runtime/artifact/ArtifactFile.h"

#include "runtime/artifact/PlanJson.h"
#include "runtime/artifact/PlanVerifier.h"
#include "runtime/artifact/Sha256.h"
#include "runtime/support/Error.h"
#include "runtime/support/File.h"

#include <array>
#include <cstring>

namespace spmd {
namespace {

// The first byte is neither ASCII nor UTF-8; the last two change if the file is transferred as text.
constexpr std::string_view kMagic("\x89SPMDX\r\n", 8);
constexpr size_t kHeaderBytes = 64;
constexpr size_t kChecksumOffset = 24;
constexpr size_t kSectionEntryBytes = 32;
constexpr size_t kAlignment = 64;
constexpr std::array<std::string_view, 3> kSectionNames = {"plan", "constants", "code"};
// The JSON parser needs about 30 times the size of its input in memory.
constexpr uint64_t kMaxPlanBytes = uint64_t(256) << 20;

static_assert(kChecksumOffset + sizeof(Sha256Digest) <= kHeaderBytes);

template <typename T> void store(std::string &bytes, size_t offset, T value) {
  for (size_t i = 0; i < sizeof(T); ++i)
    bytes[offset + i] = static_cast<char>(value >> (8 * i) & 0xff);
}

template <typename T> T load(std::string_view bytes, size_t offset) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i)
    value |= static_cast<T>(static_cast<uint8_t>(bytes[offset + i])) << (8 * i);
  return value;
}

size_t alignUp(size_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

/// Returns the SHA-256 of the file without its checksum field.
Sha256Digest checksumOf(std::string_view bytes) {
  return sha256({bytes.substr(0, kChecksumOffset), bytes.substr(kChecksumOffset + sizeof(Sha256Digest))});
}

struct Section {
  uint64_t offset = 0, size = 0;
};

/// Returns the sections in the order of kSectionNames.
std::array<Section, 3> readSections(std::string_view bytes, const std::string &name) {
  auto damaged = [&](const std::string &what) {
    return Error("'" + name + "' is not a valid artifact: " + what + "; compile the program again");
  };
  uint32_t count = load<uint32_t>(bytes, 12);
  if (count != kSectionNames.size() || bytes.size() < kHeaderBytes + count * kSectionEntryBytes)
    throw damaged("it has " + std::to_string(count) + " sections where this format has 3");
  std::array<Section, 3> sections;
  for (size_t i = 0; i < sections.size(); ++i) {
    size_t entry = kHeaderBytes + i * kSectionEntryBytes;
    std::string_view title = bytes.substr(entry, 16);
    title = title.substr(0, title.find('\0'));
    if (title != kSectionNames[i])
      throw damaged("section " + std::to_string(i) + " is not `" + std::string(kSectionNames[i]) + "`");
    Section section{load<uint64_t>(bytes, entry + 16), load<uint64_t>(bytes, entry + 24)};
    if (section.offset > bytes.size() || section.size > bytes.size() - section.offset)
      throw damaged("section `" + std::string(title) + "` is outside of the file");
    sections[i] = section;
  }
  if (sections[0].size > kMaxPlanBytes)
    throw damaged("its plan has " + std::to_string(sections[0].size) + " bytes and more than " +
                  std::to_string(kMaxPlanBytes) + " are not read");
  return sections;
}

} // namespace

bool looksLikeArtifact(std::string_view firstBytes) { return firstBytes.substr(0, kMagic.size()) == kMagic; }

std::string encodeArtifact(const Artifact &artifact) {
  std::string plan = writePlanJson(artifact);
  std::array<const std::string *, 3> contents = {&plan, &artifact.constants, &artifact.code};
  size_t size = alignUp(kHeaderBytes + contents.size() * kSectionEntryBytes);
  std::array<size_t, 3> offsets{};
  for (size_t i = 0; i < contents.size(); ++i) {
    offsets[i] = size;
    size = alignUp(size + contents[i]->size());
  }

  std::string bytes(size, '\0');
  kMagic.copy(bytes.data(), kMagic.size());
  store<uint32_t>(bytes, 8, kArtifactFormatVersion);
  store<uint32_t>(bytes, 12, contents.size());
  store<uint64_t>(bytes, 16, size);
  for (size_t i = 0; i < contents.size(); ++i) {
    size_t entry = kHeaderBytes + i * kSectionEntryBytes;
    kSectionNames[i].copy(&bytes[entry], kSectionNames[i].size());
    store<uint64_t>(bytes, entry + 16, offsets[i]);
    store<uint64_t>(bytes, entry + 24, contents[i]->size());
    contents[i]->copy(&bytes[offsets[i]], contents[i]->size());
  }
  Sha256Digest digest = checksumOf(bytes);
  std::memcpy(&bytes[kChecksumOffset], digest.data(), digest.size());
  return bytes;
}

Artifact decodeArtifact(std::string_view bytes, const std::string &name) {
  if (!looksLikeArtifact(bytes))
    throw Error("'" + name + "' is not an artifact (a .spmdx file written by `spmdc compile`)");
  if (bytes.size() < kHeaderBytes)
    throw Error("'" + name + "' is truncated: it has " + std::to_string(bytes.size()) +
                " bytes and the header alone has " + std::to_string(kHeaderBytes) + "; compile or copy it again");
  uint32_t version = load<uint32_t>(bytes, 8);
  if (version == 0)
    throw Error("'" + name + "' has artifact format 0, which does not exist; compile or copy it again");
  if (version != kArtifactFormatVersion)
    throw Error("'" + name + "' has artifact format " + std::to_string(version) +
                " and this spmdc " SPMDC_VERSION " reads format " + std::to_string(kArtifactFormatVersion) + "; " +
                (version > kArtifactFormatVersion ? "use a newer spmdc or compile the program with this one"
                                                  : "compile the program again"));
  uint64_t size = load<uint64_t>(bytes, 16);
  if (size != bytes.size())
    throw Error("'" + name + "' is " + (bytes.size() < size ? "truncated" : "damaged") + ": it has " +
                std::to_string(bytes.size()) + " bytes and should have " + std::to_string(size) +
                "; compile or copy it again");
  Sha256Digest digest = checksumOf(bytes);
  if (std::memcmp(digest.data(), bytes.data() + kChecksumOffset, digest.size()) != 0)
    throw Error("'" + name + "' is damaged: its content does not match its SHA-256 checksum; compile or copy it again");

  std::array<Section, 3> sections = readSections(bytes, name);
  auto content = [&](size_t i) { return bytes.substr(sections[i].offset, sections[i].size); };
  Artifact artifact;
  try {
    readPlanJson(content(0), artifact);
    artifact.constants = content(1);
    artifact.code = content(2);
    verifyPlan(artifact);
  } catch (const Error &error) {
    throw error.withContext("'" + name + "'");
  }
  return artifact;
}

void writeArtifact(const Artifact &artifact, const std::string &path) {
  writeFileAtomically(path, encodeArtifact(artifact));
}

Artifact readArtifact(const std::string &path) {
  MappedFile file(path);
  return decodeArtifact(file.bytes(), path);
}

std::string fingerprint(const Artifact &artifact) {
  std::string plan = writePlanJsonWithoutLocations(artifact.plan);
  // The sizes separate the three parts, so that no two artifacts give the same hashed text.
  std::string sizes = std::to_string(plan.size()) + "," + std::to_string(artifact.constants.size()) + ";";
  return toHex(sha256({sizes, plan, artifact.constants, artifact.code}));
}

} // namespace spmd
