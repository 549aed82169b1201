//===- ReferenceCheck.h - compiled programs against the evaluators -*- C++ -*-===//
#pragma once

#include "tests/passes/support/PlannedProgram.h"
#include "tests/passes/support/Tensors.h"

#include <string>
#include <vector>

namespace spmdc {

/// The allowed distance of a result from the reference.
struct Tolerance {
  double ulps = 0;     ///< Units in the last place; or
  double absolute = 0; ///< this absolute difference, for sums that cancel.
};

struct ProgramCheck {
  InputKind inputs = InputKind::Ordinary;
  unsigned seed = 17;
  /// By result; the last one counts for the others.
  std::vector<Tolerance> tolerances = {{}};
  /// Names in messages, by result.
  std::vector<std::string> names = {};
};

/// Compiles @main, without shardings, and compares it with the global evaluator, in all ways of running it.
void checkProgram(const std::string &text, const ProgramCheck &options, const MakeProgram &make);

/// Compiles a partitioned program of a mesh and compares each of its kernels, on every device, with the evaluator of
/// process grids: with outputs in separate memory, and again over every input that the backend allows them to
/// overwrite. Collectives are ignored. Returns the number of such pairs.
int checkKernels(const std::string &text, const ProgramCheck &options, const MakeProgram &make);

} // namespace spmdc
