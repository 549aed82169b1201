//===- Reduce.h - the smallest case that still fails ------------*- C++ -*-===//
//
// Reduces a failing case step by step, as long as it fails in the same way: first by generating it anew with fewer
// operations, smaller sizes and fewer devices, then by removing results, annotations, functions, statements (whose
// results become parameters with the values that they had), axes of the mesh and values of the data.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tests/programs/support/Case.h"

#include <functional>
#include <string>

namespace spmdc {

/// Returns the failure of a case, "" if it passes. Must not crash (runInOwnProcess).
using CaseCheck = std::function<std::string(const Case &)>;

struct ReducedCase {
  Case test;
  std::string failure;
  int tries = 0;
};

/// `options` and `mode` generated `test`, which fails with `failure`. Stops after `maxTries` checks.
ReducedCase reduceCase(const GeneratorOptions &options, const Case &test, const std::string &failure,
                       const CaseCheck &check, int maxTries = 600);

} // namespace spmdc
