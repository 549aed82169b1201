//===- CheckpointTestSupport.h - folders and damage -------------*- C++ -*-===//
#pragma once

#include "tests/support/Messages.h"
#include "tests/support/TemporaryFolder.h"

#include <fstream>
#include <iterator>
#include <string>

namespace spmd::testing_checkpoint {

using test::messageOf;
using test::TemporaryFolder;

inline std::string readAll(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void writeAll(const std::string &path, const std::string &text) {
  std::ofstream(path, std::ios::binary) << text;
}

} // namespace spmd::testing_checkpoint
