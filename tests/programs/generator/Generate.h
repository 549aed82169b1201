//===- Generate.h - a random program for a seed -----------------*- C++ -*-===//
#pragma once

#include "tests/programs/generator/ProgramBuilder.h"

namespace spmdc {

struct GeneratorOptions {
  uint64_t seed = 0;
  /// The number of chosen operations; each may need a few more statements for its operands. A smaller number gives a
  /// prefix of the same program.
  int maxOperations = 10;
  int64_t maxDevices = 16;
  SizeLimits limits;
};

/// Returns the same program for the same options, on every machine. `made`, if given, receives the names of its
/// operations.
Program generateProgram(mlir::MLIRContext &context, const GeneratorOptions &options,
                        std::set<std::string> *made = nullptr);

} // namespace spmdc
