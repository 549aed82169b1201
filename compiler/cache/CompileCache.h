//===- CompileCache.h - programs that were compiled before ------*- C++ -*-===//
//
// Keeps what Compiler::compile made, in files by the hash of all that it was made of (CompileKey.h), so that the same
// program is compiled once for all processes and runs of a user (docs/cache.md). A cache never makes a compile fail: a
// damaged entry is removed, and a folder that cannot be used is a warning where a person named it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/cache/CacheFolder.h"
#include "runtime/artifact/Plan.h"
#include "runtime/support/Env.h"
#include "runtime/support/Error.h"

#include <memory>
#include <optional>
#include <string>

namespace spmdc {

/// What a compile gives that has no errors.
struct KeptProgram {
  spmd::Artifact artifact;
  std::string warnings; ///< Shown again each time: the program is as it was.
};

class CompileCache {
public:
  /// `isNamed`: a person has asked for this folder, and is told where it cannot be used.
  CompileCache(CacheFolder folder, bool isNamed) : folder(std::move(folder)), isNamed(isNamed) {}

  /// The cache that `--cache-dir` names, else the environment; null where that says SPMD_NO_CACHE, or no folder.
  static std::shared_ptr<CompileCache> open(const std::optional<std::string> &directory,
                                            const spmd::Environment &environment);

  std::optional<KeptProgram> find(const std::string &key);
  void keep(const std::string &key, const spmd::Artifact &artifact, const std::string &warnings);

  /// Why nothing was kept or found, and what to do. Empty: nothing is wrong, or nobody named the folder.
  std::string problem() const { return isNamed ? cause : ""; }
  /// The file that the last `find` took a program from; empty: there was none.
  const std::string &foundFile() const { return found; }

private:
  void setProblem(const spmd::Error &error);

  CacheFolder folder;
  bool isNamed;
  std::string cause, found;
};

} // namespace spmdc
