//===- ArtifactFile.h - reading and writing .spmdx --------------*- C++ -*-===//
//
// The container of docs/artifact.md: a fixed header with a SHA-256 over the whole file, a table of sections, and the
// sections `plan` (JSON), `constants` and `code` (binary), each at a multiple of 64 bytes.
//
// Equal artifacts give equal bytes. A file is untrusted input: its sizes are checked against the size of the file
// before anything is allocated, and readArtifact returns only artifacts that the plan verifier accepts. It does not
// check whether this machine can run the code: the executor does.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/artifact/Plan.h"

#include <string>
#include <string_view>

namespace spmd {

/// Incremented with every incompatible change of the plan; spmdc reads this version only.
inline constexpr uint32_t kArtifactFormatVersion = 13;

/// Returns the bytes of the file.
std::string encodeArtifact(const Artifact &artifact);

/// Decodes and verifies; throws spmd::Error with one sentence that begins with `name` (the file's name).
Artifact decodeArtifact(std::string_view bytes, const std::string &name);

/// Whether a file with these first bytes claims to be an artifact; 8 bytes are enough.
bool looksLikeArtifact(std::string_view firstBytes);

/// Writes atomically: the file appears complete, under its name, or not at all.
void writeArtifact(const Artifact &artifact, const std::string &path);
Artifact readArtifact(const std::string &path);

/// Returns the hexadecimal SHA-256 of everything that a run executes: the plan without its source locations, the
/// constants and the code. The processes of a job compare it before they run.
std::string fingerprint(const Artifact &artifact);

} // namespace spmd
