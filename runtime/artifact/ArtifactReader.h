//===- ArtifactReader.h - the targets of a .spmdx file ----------*- C++ -*-===//
#pragma once

#include "runtime/artifact/Plan.h"

#include <string>
#include <string_view>
#include <vector>

namespace spmd {

/// The programs of one file, one for each target. They have the same entry function, mesh, parameters and results, and
/// different targets. Copies neither constants nor code before `take`, so that a target that is not used costs no
/// memory beside its plan.
class ArtifactReader {
public:
  /// Decodes and verifies all targets. `bytes` must outlive this object. Throws spmd::Error with one sentence that
  /// begins with `name` (the file's name).
  ArtifactReader(std::string_view bytes, const std::string &name);

  /// Returns the targets in the order of the file; there is at least one.
  std::vector<TargetInfo> getTargets() const;
  /// Returns the artifact of a target, without constants and code.
  const Artifact &getProgram(size_t target) const { return programs.at(target).artifact; }
  int64_t getConstantBytes(size_t target) const { return static_cast<int64_t>(programs.at(target).constants.size()); }
  int64_t getCodeBytes(size_t target) const { return static_cast<int64_t>(programs.at(target).code.size()); }

  /// Returns the complete artifact of a target, which `getProgram` then has no longer.
  Artifact take(size_t target);

private:
  struct Program {
    Artifact artifact;
    std::string_view constants, code;
  };
  std::vector<Program> programs;
};

} // namespace spmd
