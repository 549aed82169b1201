//===- GradientOperations.cpp - gradients of random functions -------------===//

#include "tests/programs/generator/DifferentiableFunction.h"
#include "tests/programs/generator/Operations.h"

namespace spmdc {

using spmd::DType;

namespace {

/// First derivatives, or second ones of the gradient's sum.
bool makeGradient(ProgramBuilder &b, const std::string &kind) {
  std::optional<int> found = b.anyFloat();
  if (!found)
    return false;
  int x = b.tame(*found);
  DType dtype = b.dtypeOf(x);
  const Accuracy in = b.of(x);
  // Conditions (`p == p`) must not depend on NaNs, and jumps at 0 need exact numbers.
  if ((dtype != DType::F32 && dtype != DType::F64) || !in.exact || in.bound > 4 || b.rankOf(x) > 3)
    return false;
  const Shape shape = b.shapeOf(x);
  DifferentiableFunction f = makeDifferentiable(b.random, {shape.begin(), shape.end()}, b.program.mesh);
  double roundings = 64.0 * (1 + f.steps);
  Accuracy accuracy{.exact = false, .bound = f.slope};
  accuracy.error = roundoff(dtype) * roundings * (f.slope + f.curvature);
  std::string call = kind + "(%F)($0)";
  if (kind == "value_and_grad")
    call += "[1]";
  if (accuracy.error > 0.01 || !b.let(call, {x}, dtype, shape, accuracy))
    return false;
  b.program.statements.back().function = f.text;
  return true;
}

} // namespace

std::vector<Operation> gradientOperations() {
  std::vector<Operation> operations;
  for (const char *kind : {"grad", "value_and_grad"})
    operations.push_back({kind, 5, [kind](ProgramBuilder &b) { return makeGradient(b, kind); }});
  return operations;
}

} // namespace spmdc
