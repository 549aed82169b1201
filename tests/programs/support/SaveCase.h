//===- SaveCase.h - a case as files and a command ---------------*- C++ -*-===//
#pragma once

#include "tests/programs/support/Case.h"

#include <string>

namespace spmdc {

/// Writes the program and its arguments (`x0.npy`, ...) into a folder, which it creates, and returns the command that
/// runs them. Throws spmd::Error if a file cannot be written.
std::string saveCase(const Case &test, const std::string &folder);

} // namespace spmdc
