//===- OptimiserOperations.cpp - steps of optimisers ----------------------===//
//
// On arrays, and on structs of two of them.
//
//===----------------------------------------------------------------------===//

#include "tests/programs/generator/Operations.h"

#include <algorithm>

namespace spmdc {

using spmd::DType;

namespace {

bool makeStep(ProgramBuilder &b, bool hasVelocity) {
  std::optional<int> p = b.anyFloat();
  if (!p)
    return false;
  DType dtype = b.dtypeOf(*p);
  const Shape shape = b.shapeOf(*p);
  int g = b.tame(b.matching(shape, dtype));
  const Accuracy x = b.of(*p), y = b.of(g);
  if (!hasVelocity)
    return b
        .let("sgd($0, $1, lr=0.5)", {*p, g}, dtype, shape,
             computed(dtype, false, x.bound + y.bound, 0, x.error + y.error, 2))
        .has_value();
  int v = b.tame(b.matching(shape, dtype));
  const Accuracy z = b.of(v);
  return b.letAll("momentum($0, $1, $2, lr=0.5)", {*p, v, g}, dtype, {shape, shape},
                  computed(dtype, false, x.bound + y.bound + z.bound, 0, x.error + y.error + z.error, 4));
}

/// Returns whether small relative errors stay small through squares, roots and quotients.
bool isTractable(ProgramBuilder &b, int variable) {
  DType dtype = b.dtypeOf(variable);
  return (dtype == DType::F32 || dtype == DType::F64) && b.of(variable).exact && b.of(variable).bound <= 16;
}

/// Returns a float with exact elements.
std::optional<int> tractable(ProgramBuilder &b) {
  std::optional<int> found = b.anyFloat();
  return found && isTractable(b, *found) ? found : std::nullopt;
}

/// Decays that are powers of two keep exact values nearly exact, and eps keeps quotients small.
bool makeAdam(ProgramBuilder &b) {
  std::optional<int> p = tractable(b);
  if (!p)
    return false;
  DType dtype = b.dtypeOf(*p);
  const Shape shape = b.shapeOf(*p);
  int m = b.matching(shape, dtype, true), v = b.matching(shape, dtype, true), g = b.matching(shape, dtype, true);
  if (!isTractable(b, m) || !isTractable(b, v) || !isTractable(b, g))
    return false;
  double P = b.of(*p).bound, M = std::max(b.of(m).bound, b.of(g).bound);
  double V = std::max(b.of(v).bound, b.of(g).bound * b.of(g).bound);
  // A step is at most lr / eps * 2 M: the unbiased mean is at most twice the mean.
  Accuracy accuracy{.exact = false, .bound = std::max(P + 4 * M, V)};
  accuracy.error = 256 * roundoff(dtype) * (1 + P + 16 * M + V);
  std::string step = std::to_string(b.random.integer(0, 3));
  std::string rest = ", " + step + ", lr=0.5, b1=0.5, b2=0.75, eps=0.25)";
  if (b.random.chance(50))
    return b.letAll("adam($0, $1, abs($2), $3" + rest, {*p, m, v, g}, dtype, {shape, shape, shape}, accuracy);
  // Beside another leaf with other elements.
  std::string type = typeText(dtype, shape);
  if (!b.letAll("%F($0, $1, abs($2), $3)", {*p, m, v, g}, dtype, {shape, shape, shape}, accuracy))
    return false;
  b.program.statements.back().function =
      "struct %F_pair { a: " + type + ", b: " + type + " }\n" + "fn %F(p, m, v, g) {\n" +
      "  let (p, m, v) = adam(%F_pair { a: p, b: g }, %F_pair { a: m, b: p }, %F_pair { a: v, b: v }, "
      "%F_pair { a: g, b: m }" +
      rest + ";\n  return (p.a, m.a, v.a);\n}\n";
  return true;
}

/// For one array, or for two of any shapes.
bool makeNormed(ProgramBuilder &b, bool clips) {
  std::optional<int> x = tractable(b);
  if (!x)
    return false;
  DType dtype = b.dtypeOf(*x);
  const Shape shape = b.shapeOf(*x);
  double bound = b.of(*x).bound;
  auto count = static_cast<double>(countOf(shape));
  if (!clips) {
    double norm = bound * count;
    return b
        .let("global_norm($0)", {*x}, dtype, {},
             {.exact = false, .bound = norm, .error = 64 * count * roundoff(dtype) * norm})
        .has_value();
  }
  std::string limit = b.random.pick({"0.5", "1.0", "4.0", "1000.0"});
  if (b.random.chance(50)) {
    Accuracy accuracy{.exact = false, .bound = bound, .error = 64 * (1 + count) * roundoff(dtype) * bound};
    return b.let("clip_by_global_norm($0, " + limit + ")", {*x}, dtype, shape, accuracy).has_value();
  }
  int y = b.matching(b.randomShape(), dtype, true);
  if (!isTractable(b, y))
    return false;
  bound = std::max(bound, b.of(y).bound);
  count += static_cast<double>(countOf(b.shapeOf(y)));
  Accuracy accuracy{.exact = false, .bound = bound, .error = 64 * (1 + count) * roundoff(dtype) * bound};
  if (!b.letAll("%F($0, $1)", {*x, y}, dtype, {shape, b.shapeOf(y)}, accuracy))
    return false;
  b.program.statements.back().function =
      "struct %F_pair { a: " + typeText(dtype, shape) + ", b: " + typeText(dtype, b.shapeOf(y)) + " }\n" +
      "fn %F(x, y) {\n  let g = clip_by_global_norm(%F_pair { a: x, b: y }, " + limit + ");\n  return (g.a, g.b);\n}\n";
  return true;
}

} // namespace

std::vector<Operation> optimiserOperations() {
  return {
      {"sgd", 1, [](ProgramBuilder &b) { return makeStep(b, false); }},
      {"momentum", 1, [](ProgramBuilder &b) { return makeStep(b, true); }},
      {"adam", 3, makeAdam},
      {"global_norm", 2, [](ProgramBuilder &b) { return makeNormed(b, false); }},
      {"clip_by_global_norm", 3, [](ProgramBuilder &b) { return makeNormed(b, true); }},
  };
}

} // namespace spmdc
