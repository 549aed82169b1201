//===- ArtifactHelper.h - portable artifacts made by hand -------*- C++ -*-===//
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace spmdc {

/// Bytes of MLIR's bytecode: a number of one to nine bytes.
std::string number(uint64_t value);
std::string numbers(std::initializer_list<uint64_t> values);

/// A file of bytecode of version 4, which has an operation's attributes in a dictionary.
class Artifact {
public:
  uint64_t string(const std::string &text);
  uint64_t operation(const std::string &dialect, const std::string &name);
  /// Attribute 0 is an unknown location, attribute 1 an empty dictionary.
  uint64_t attribute(const std::string &dialect, const std::string &bytes);
  uint64_t type(const std::string &dialect, const std::string &bytes);

  /// An operation without attributes; `parts` and `rest` are its mask and what it stands for.
  std::string bytesOf(const std::string &dialect, const std::string &name, uint8_t parts = 0,
                      const std::string &rest = "");
  /// The file of a module with these operations.
  std::string str(const std::vector<std::string> &operations, uint64_t valueCount = 0);

  uint64_t version = 4;

private:
  struct Element {
    uint64_t dialect;
    std::string bytes;
  };
  uint64_t dialect(const std::string &name);

  std::vector<std::string> strings;
  std::vector<uint64_t> dialects;
  std::vector<std::pair<uint64_t, uint64_t>> operations;
  std::vector<Element> attributes{{dialect("builtin"), number(15)}, {dialect("builtin"), numbers({1, 0})}}, types;
};

} // namespace spmdc
