//===- CacheFolder.h - a cache of files in a folder -------------*- C++ -*-===//
//
// Files by key, for data that can be computed again. A file appears complete or not at all; several processes may read
// and write at once; beyond a size limit the least recently used files are removed. The contents of the files are
// opaque.
//
// The files are trusted (the compile cache runs their code). So the folder and every file must belong to the user, and
// no other user may have write access.
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
  /// The first write creates the folder. `maxBytes`: the limit of all files together.
  CacheFolder(std::string path, int64_t maxBytes) : path(std::move(path)), maxBytes(maxBytes) {}

  /// Reads the file of a key, and sets its time of last use. Returns nullopt if there is none. Removes a file that
  /// other users could have written, or that exceeds `maxBytes`. Throws spmd::Error, with cause and fix, if the folder
  /// cannot be trusted.
  std::optional<std::string> read(const std::string &key) const;

  /// Writes the file of a key, and removes the least recently used files beyond the limit. Throws spmd::Error on
  /// failure.
  void write(const std::string &key, std::string_view bytes) const;

  void remove(const std::string &key) const;

  /// The path of a key's file. Keys are 64 hexadecimal digits; files with other names are ignored.
  std::string pathOf(const std::string &key) const;

private:
  bool exists() const;
  void make() const;
  void removeOldest() const;

  std::string path;
  int64_t maxBytes;
};

} // namespace spmdc
