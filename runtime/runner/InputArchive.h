//===- InputArchive.h - an archive of arguments -----------------*- C++ -*-===//
//
// The file of `--input p=FILE.npz` or `.safetensors`: its arrays are the parameters `p.NAME`.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/io/ArraySource.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace spmd {

class InputArchive {
public:
  /// Opens the archive. `name` is that of the parameter or struct that is read from it.
  InputArchive(const std::string &path, std::string name);

  const std::string &getName() const { return name; }

  /// Opens the array of a parameter. A front end writes other characters of a name than letters and digits as `_`, so
  /// the key `block-0.w` of p['block-0.w'] is that of the parameter `p.block_0.w`, unless another key has this name.
  ArraySource open(const std::string &key);

  /// Returns the names of the arrays that are not read and are not those of one of these parameters, which another
  /// --input may give.
  std::vector<std::string> listUnread(const std::vector<ValueInfo> &params) const;

private:
  std::unique_ptr<ArrayArchive> archive;
  std::string name;
  std::map<std::string, std::string> arrays; ///< The array that was read for each key.
};

} // namespace spmd
