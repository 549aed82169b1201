//===- CompileCache.h - the cache of compiled programs ----------*- C++ -*-===//
//
// Stores the results of Compiler::compile in files, by a hash of all inputs (CompileKey.h), so that a program is
// compiled once for all processes and runs of a user (docs/cache.md). The cache never makes a compile fail: it removes
// a damaged entry, and a folder that cannot be used is a warning, if the user named it.
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

/// The result of a compile without errors.
struct CachedProgram {
  spmd::Artifact artifact;
  std::string warnings; ///< A cache hit prints them again.
};

/// The cache that one compile uses.
class CompileCache {
public:
  /// `isNamed`: the user has named this folder, and gets a warning if it cannot be used.
  CompileCache(CacheFolder folder, bool isNamed) : folder(std::move(folder)), isNamed(isNamed) {}

  /// The cache in `directory` (`--cache-dir`), or else in the folder of the environment. Null if the environment sets
  /// SPMD_NO_CACHE or has no folder, and `directory` is nullopt.
  static std::shared_ptr<CompileCache> open(const std::optional<std::string> &directory,
                                            const spmd::Environment &environment);

  /// Finds a program; nullopt on a miss. Never throws (see `problem`).
  std::optional<CachedProgram> find(const std::string &key);
  /// Stores a program. Never throws (see `problem`).
  void keep(const std::string &key, const spmd::Artifact &artifact, const std::string &warnings);

  /// Why the cache could not be used, and the fix. Empty if there was no problem, or if the user did not name the
  /// folder.
  std::string problem() const { return isNamed ? cause : ""; }
  /// The file of the last hit of `find`; empty after a miss.
  const std::string &foundFile() const { return found; }

private:
  void setProblem(const spmd::Error &error);

  CacheFolder folder;
  bool isNamed;
  std::string cause, found;
};

} // namespace spmdc
