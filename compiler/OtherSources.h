//===- OtherSources.h - texts that a program's locations name ---*- C++ -*-===//
#pragma once

#include "frontend/syntax/Source.h"

#include <map>
#include <memory>
#include <string>

namespace spmdc {

/// The Python files behind an exported program, to show lines of them. Reads each file once. Not thread-safe.
class OtherSources {
public:
  /// Null if the file is not a regular one, cannot be read, or is longer than a source may be.
  const Source *find(const std::string &file);
  /// The line that a location (`f.py:3:4`) names, without its indentation; empty if the file cannot be read.
  std::string_view lineOf(const std::string &location);

private:
  std::map<std::string, std::unique_ptr<Source>> sources;
};

} // namespace spmdc
