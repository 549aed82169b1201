//===- ArtifactLayout.h - the bytes of a .spmdx file ------------*- C++ -*-===//
//
// The layout of docs/artifact.md, for the writer (ArtifactFile.cpp) and the reader (ArtifactReader.cpp).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/artifact/Sha256.h"

#include <array>
#include <cstddef>
#include <string_view>

namespace spmd::artifact_layout {

// The first byte is neither ASCII nor UTF-8; the last two change if the file is transferred as text.
inline constexpr std::string_view kMagic("\x89SPMDX\r\n", 8);
inline constexpr size_t kHeaderBytes = 64, kVersionOffset = 8, kCountOffset = 12, kSizeOffset = 16;
inline constexpr size_t kChecksumOffset = 24;
/// An entry of the table of sections: the name in 16 bytes, offset, size.
inline constexpr size_t kSectionEntryBytes = 32, kSectionNameBytes = 16, kEntryOffset = 16, kEntrySize = 24;
inline constexpr size_t kAlignment = 64;
/// The sections of one target, in their order.
inline constexpr std::array<std::string_view, 3> kSectionNames = {"plan", "constants", "code"};

static_assert(kChecksumOffset + sizeof(Sha256Digest) <= kHeaderBytes);

/// Returns the SHA-256 of the file without its checksum field.
inline Sha256Digest checksumOf(std::string_view bytes) {
  return sha256({bytes.substr(0, kChecksumOffset), bytes.substr(kChecksumOffset + sizeof(Sha256Digest))});
}

} // namespace spmd::artifact_layout
