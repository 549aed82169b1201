//===- CacheFolder.h - a folder of files that may be lost -------*- C++ -*-===//
//
// Files by key, for what can be made again: each appears complete or not at all, several processes may read and write
// at once, and those that were not used for longest go where there are too many. It does not know what the files hold.
//
// What lies here is trusted as the user's own (the compile cache runs it), so the folder and every file must belong to
// the user, and nobody else may be able to write them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace spmdc {

class CacheFolder {
public:
  /// The folder is made when the first file is written. `maxBytes`: of all files together.
  CacheFolder(std::string path, int64_t maxBytes) : path(std::move(path)), maxBytes(maxBytes) {}

  /// What was written under the key, which counts as used now. Nothing where there is no such file; one that others
  /// could have written, or that is larger than all may be, is removed. Throws spmd::Error, with cause and remedy, for
  /// a folder that cannot be trusted.
  std::optional<std::string> read(const std::string &key) const;

  /// Keeps the bytes under the key, and removes what has become too much. Throws spmd::Error where that is not
  /// possible.
  void write(const std::string &key, std::string_view bytes) const;

  void remove(const std::string &key) const;

  /// Where the file of a key is. Keys are 64 hexadecimal digits; files of other names are left alone.
  std::string pathOf(const std::string &key) const;

private:
  bool exists() const;
  void make() const;
  void removeOldest() const;

  std::string path;
  int64_t maxBytes;
};

} // namespace spmdc
