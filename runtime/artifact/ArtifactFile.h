//===- ArtifactFile.h - reading and writing .spmdx --------------*- C++ -*-===//
//
// The container of docs/artifact.md: a fixed header with the SHA-256 of all other bytes, a table of sections, and for
// each target the sections `plan` (JSON), `constants` and `code` (binary), each at a multiple of 64 bytes.
//
// Equal artifacts give equal bytes. A file is untrusted input: its sizes are checked against the size of the file
// before anything is allocated, and readArtifact returns only artifacts that the plan verifier accepts. It does not
// check whether this machine can run the code: the executor does (runtime/exec/TargetChoice.h chooses).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/artifact/Plan.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace spmd {

class ArtifactReader;

/// Incremented with every incompatible change of the plan; spmdc reads this version only.
inline constexpr uint32_t kArtifactFormatVersion = 17;

/// The largest number of targets of a file: more than there are architectures of one vendor in use.
inline constexpr size_t kMaxTargets = 32;

/// Returns the bytes of a file with one target.
std::string encodeArtifact(const Artifact &artifact);

/// Returns the bytes of a file with a target for each artifact, in this order; equal constants, and equal code, are
/// stored once. Throws spmd::Error if two artifacts have the same target, or differ in what callers see
/// (TargetAgreement.h).
std::string encodeArtifacts(const std::vector<Artifact> &artifacts);

/// Returns the index of the target to load, for files with one target, too. Throws spmd::Error if none fits; `name` is
/// the file's name for messages.
using TargetChooser = std::function<size_t(const ArtifactReader &file, const std::string &name)>;

/// Decodes and verifies all targets, and returns the artifact of the one that `choose` selects; without it, the file
/// must have one target. Throws spmd::Error with one sentence that begins with `name` (the file's name).
Artifact decodeArtifact(std::string_view bytes, const std::string &name, const TargetChooser &choose = nullptr);

/// Whether a file with these first bytes claims to be an artifact; 8 bytes are enough.
bool looksLikeArtifact(std::string_view firstBytes);

/// Writes atomically: the file appears complete, under its name, or not at all.
void writeArtifact(const Artifact &artifact, const std::string &path);
/// Reads and decodes a file, as decodeArtifact.
Artifact readArtifact(const std::string &path, const TargetChooser &choose = nullptr);

/// Returns the hexadecimal SHA-256 of everything that a run executes: the plan without its source locations, the
/// constants and the code. The processes of a job compare it before they run.
std::string fingerprint(const Artifact &artifact);

} // namespace spmd
