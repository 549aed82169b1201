//===- ArtifactChoice.h - the program of a file for a run -------*- C++ -*-===//
#pragma once

#include "runtime/runner/RunOptions.h"

#include <memory>
#include <string>

namespace spmd {

/// Reads a .spmdx file and chooses among its targets: by `--platform` or SPMD_PLATFORM, and by the GPUs of this machine
/// that the run can use (`--local-device-ids`, or the first ones, as many as the mesh has devices). A file with one
/// target has no choice: the devices follow it (JobSession.cpp). Warns if the CPU is chosen because no target runs on
/// the GPUs; with `--verbose` prints the choice. `command` is the prefix of messages. Throws spmd::Error if the file
/// cannot be read or no target runs here.
std::shared_ptr<const Artifact> loadArtifact(const std::string &path, const RunOptions &options,
                                             const std::string &command);

} // namespace spmd
