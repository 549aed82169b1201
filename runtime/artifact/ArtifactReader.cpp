//===- ArtifactReader.cpp - the targets of a .spmdx file ------------------===//

#include "runtime/artifact/ArtifactReader.h"

#include "runtime/artifact/ArtifactFile.h"
#include "runtime/artifact/ArtifactLayout.h"
#include "runtime/artifact/PlanJson.h"
#include "runtime/artifact/PlanVerifier.h"
#include "runtime/artifact/TargetAgreement.h"
#include "runtime/support/Error.h"

#include <cstring>

namespace spmd {

using namespace artifact_layout;

namespace {

// The JSON parser needs about 30 times the size of its input in memory.
constexpr uint64_t kMaxPlanBytes = uint64_t(256) << 20;

template <typename T> T load(std::string_view bytes, size_t offset) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i)
    value |= static_cast<T>(static_cast<uint8_t>(bytes[offset + i])) << (8 * i);
  return value;
}

/// Throws if the header and the checksum are not those of a file of this format and this size.
void checkHeader(std::string_view bytes, const std::string &name) {
  if (!looksLikeArtifact(bytes))
    throw Error("'" + name + "' is not an artifact (a .spmdx file written by `spmdc compile`)");
  if (bytes.size() < kHeaderBytes)
    throw Error("'" + name + "' is truncated: it has " + std::to_string(bytes.size()) +
                " bytes and the header alone has " + std::to_string(kHeaderBytes) + "; compile or copy it again");
  uint32_t version = load<uint32_t>(bytes, kVersionOffset);
  if (version == 0)
    throw Error("'" + name + "' has artifact format 0, which does not exist; compile or copy it again");
  if (version != kArtifactFormatVersion)
    throw Error("'" + name + "' has artifact format " + std::to_string(version) +
                " and this spmdc " SPMDC_VERSION " reads format " + std::to_string(kArtifactFormatVersion) + "; " +
                (version > kArtifactFormatVersion ? "use a newer spmdc or compile the program with this one"
                                                  : "compile the program again"));
  uint64_t size = load<uint64_t>(bytes, kSizeOffset);
  if (size != bytes.size())
    throw Error("'" + name + "' is " + (bytes.size() < size ? "truncated" : "damaged") + ": it has " +
                std::to_string(bytes.size()) + " bytes and should have " + std::to_string(size) +
                "; compile or copy it again");
  Sha256Digest digest = checksumOf(bytes);
  if (std::memcmp(digest.data(), bytes.data() + kChecksumOffset, digest.size()) != 0)
    throw Error("'" + name + "' is damaged: its content does not match its SHA-256 checksum; compile or copy it again");
}

Error damaged(const std::string &name, const std::string &what) {
  return Error("'" + name + "' is not a valid artifact: " + what + "; compile the program again");
}

/// Returns the contents of the sections: kSectionNames of each target.
std::vector<std::string_view> readSections(std::string_view bytes, const std::string &name) {
  uint32_t count = load<uint32_t>(bytes, kCountOffset);
  if (count == 0 || count % kSectionNames.size() != 0 || count > kMaxTargets * kSectionNames.size() ||
      bytes.size() < kHeaderBytes + count * kSectionEntryBytes)
    throw damaged(name, "it has " + std::to_string(count) + " sections where this format has 3 for each of 1 to " +
                            std::to_string(kMaxTargets) + " targets");
  std::vector<std::string_view> sections;
  for (size_t i = 0; i < count; ++i) {
    size_t entry = kHeaderBytes + i * kSectionEntryBytes;
    std::string_view title = bytes.substr(entry, kSectionNameBytes), wanted = kSectionNames[i % kSectionNames.size()];
    title = title.substr(0, title.find('\0'));
    if (title != wanted)
      throw damaged(name, "section " + std::to_string(i) + " is not `" + std::string(wanted) + "`");
    uint64_t offset = load<uint64_t>(bytes, entry + kEntryOffset), size = load<uint64_t>(bytes, entry + kEntrySize);
    if (offset > bytes.size() || size > bytes.size() - offset)
      throw damaged(name, "section `" + std::string(title) + "` is outside of the file");
    if (wanted == kSectionNames[0] && size > kMaxPlanBytes)
      throw damaged(name, "its plan has " + std::to_string(size) + " bytes and more than " +
                              std::to_string(kMaxPlanBytes) + " are not read");
    sections.push_back(bytes.substr(offset, size));
  }
  return sections;
}

} // namespace

ArtifactReader::ArtifactReader(std::string_view bytes, const std::string &name) {
  checkHeader(bytes, name);
  std::vector<std::string_view> sections = readSections(bytes, name);
  for (size_t i = 0; i < sections.size(); i += kSectionNames.size()) {
    Program program{{}, sections[i + 1], sections[i + 2]};
    try {
      readPlanJson(sections[i], program.artifact);
      verifyPlan(program.artifact.plan, program.constants.size());
    } catch (const Error &error) {
      throw error.withContext("'" + name + "'");
    }
    const Plan &plan = program.artifact.plan;
    for (const Program &other : programs)
      if (other.artifact.plan.target == plan.target)
        throw damaged(name, "two of its targets are " + plan.target.str());
    if (std::string difference = programs.empty() ? "" : findDisagreement(programs[0].artifact.plan, plan);
        !difference.empty())
      throw damaged(name, difference);
    programs.push_back(std::move(program));
  }
}

std::vector<TargetInfo> ArtifactReader::getTargets() const {
  std::vector<TargetInfo> targets;
  for (const Program &program : programs)
    targets.push_back(program.artifact.plan.target);
  return targets;
}

Artifact ArtifactReader::take(size_t target) {
  Program &program = programs.at(target);
  Artifact artifact = std::move(program.artifact);
  artifact.constants = program.constants;
  artifact.code = program.code;
  return artifact;
}

} // namespace spmd
