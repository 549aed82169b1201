//===- ReferenceCheck.h - compiled programs against the evaluators -*- C++ -*-===//
#pragma once

#include "tests/passes/support/PlannedProgram.h"
#include "tests/passes/support/Tensors.h"

#include <string>
#include <vector>

namespace spmdc {

/// How near a result has to come.
struct Tolerance {
  double ulps = 0;     ///< Units of the last place; or
  double absolute = 0; ///< where sums cancel, this much.
};

struct ProgramCheck {
  InputKind inputs = InputKind::Ordinary;
  unsigned seed = 17;
  /// By result; the last one counts for the others.
  std::vector<Tolerance> tolerances = {{}};
  /// What stands in messages, by result.
  std::vector<std::string> names = {};
};

/// Compiles @main, without shardings, and compares it with the global evaluator, in all ways of running it.
void checkProgram(const std::string &text, const ProgramCheck &options, const MakeProgram &make);

/// Compiles a partitioned program of a mesh and compares each of its kernels, on every device, with the evaluator of
/// process grids: with outputs in memory of their own, and once more over every input that the backend says they may be
/// written over. Collectives do not matter. Returns how many such pairs there were.
int checkKernels(const std::string &text, const ProgramCheck &options, const MakeProgram &make);

} // namespace spmdc
