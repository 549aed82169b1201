//===- ArtifactInspection.h - the report of an artifact ---------*- C++ -*-===//
#pragma once

#include "runtime/artifact/ArtifactReader.h"

#include <optional>
#include <string>

namespace spmdc {

/// The report of `spmdc inspect FILE.spmdx`: the targets of the file, and the parameters and results that all of them
/// have. `here` is the target that runs on this machine, if one does.
std::string artifactTable(const spmd::ArtifactReader &file, const std::string &name, std::optional<size_t> here);

/// The same as JSON: `targets`, with `target`, `code_bytes`, `constant_bytes`, `peak_bytes_per_device` and `runs_here`
/// of each, and `mesh` and `functions` as in the report of a program (docs/cost-model.md), without what only a compile
/// knows.
std::string artifactJson(const spmd::ArtifactReader &file, std::optional<size_t> here);

} // namespace spmdc
