//===- TemporaryFolder.h - temporary files of one test ----------*- C++ -*-===//
#pragma once

#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <string>

namespace spmd::test {

/// A folder that the destructor removes.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "spmd-test-XXXXXX";
    if (!mkdtemp(pattern.data()))
      throw std::runtime_error("cannot create a folder like " + pattern);
    path = pattern;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  std::string operator/(const std::string &name) const { return path / name; }
  std::string str() const { return path; }
  size_t fileCount() const { return std::distance(std::filesystem::directory_iterator(path), {}); }

private:
  std::filesystem::path path;
};

} // namespace spmd::test
