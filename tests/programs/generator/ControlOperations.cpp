//===- ControlOperations.cpp - loops and branches -------------------------===//
//
// Two arrays of one type go through a loop whose body moves and selects elements: what comes out is known as well as
// what went in, however often it goes around, and any carry may take the place of any other.
//
//===----------------------------------------------------------------------===//

#include "tests/programs/generator/Operations.h"

#include "llvm/ADT/STLExtras.h"

namespace spmdc {

namespace {

struct Pair {
  int x, y;
  bool selects = false; ///< Some expression takes the larger or smaller one.
};

std::optional<Pair> anyPair(ProgramBuilder &b) {
  int x = b.any();
  return Pair{x, b.matching(b.shapeOf(x), b.dtypeOf(x))};
}

/// An expression of `p` and `q`, of their type.
std::string expressionOf(ProgramBuilder &b, Pair &pair) {
  const char *names[] = {"p", "q"};
  std::string p = names[b.random.integer(0, 1)], q = names[b.random.integer(0, 1)];
  int64_t rank = b.rankOf(pair.x);
  bool isEmpty = countOf(b.shapeOf(pair.x)) == 0;
  if (b.random.chance(30))
    return p;
  if (rank > 0 && b.random.chance(40)) {
    int64_t dim = b.random.integer(0, rank - 1);
    std::string axis = "axis=" + b.dimText(dim, rank);
    if (b.random.chance(50) || isEmpty)
      return "flip(" + p + ", " + axis + ")";
    return "roll(" + p + ", " + std::to_string(b.random.integer(-2, 2)) + ", " + axis + ")";
  }
  // A transpose of a square meets its sharding the other way round.
  if (rank == 2 && b.shapeOf(pair.x)[0] == b.shapeOf(pair.x)[1] && b.random.chance(40))
    return p + ".T";
  if (b.dtypeOf(pair.x) == spmd::DType::Bool)
    return p + (b.random.chance(50) ? " && " : " || ") + q;
  pair.selects = true;
  return (b.random.chance(50) ? "maximum(" : "minimum(") + p + ", " + q + ")";
}

std::string bothOf(ProgramBuilder &b, Pair &pair) {
  std::string first = expressionOf(b, pair);
  return "(" + first + ", " + expressionOf(b, pair) + ")";
}

/// What is known of both.
Accuracy accuracyOf(ProgramBuilder &b, const Pair &pair) {
  Accuracy x = b.of(pair.x), y = b.of(pair.y);
  x.exact &= y.exact;
  x.bits &= y.bits && !(pair.selects && spmd::isFloat(b.dtypeOf(pair.x))); // zeros of both signs
  x.bound = std::max(x.bound, y.bound);
  x.error = std::max(x.error, y.error);
  return x;
}

bool letPair(ProgramBuilder &b, const std::string &text, const Pair &pair) {
  const Shape shape = b.shapeOf(pair.x);
  return b.letAll(text, {pair.x, pair.y}, b.dtypeOf(pair.x), {shape, shape}, accuracyOf(b, pair));
}

bool makeFor(ProgramBuilder &b) {
  std::optional<Pair> pair = anyPair(b);
  if (!pair)
    return false;
  int64_t low = b.random.integer(-2, 2), high = low + b.random.integer(0, 4);
  std::string body = bothOf(b, *pair);
  if (b.random.chance(40))
    body = "if k % 2 == 0 { " + body + " } else { " + bothOf(b, *pair) + " }";
  else if (b.random.chance(40))
    body = "for l in 0.." + std::to_string(b.random.integer(1, 3)) + " carry (p = p, q = q) { yield " + body + "; }";
  return letPair(b,
                 "for k in " + std::to_string(low) + ".." + std::to_string(high) + " carry (p = $0, q = $1) { yield " +
                     body + "; }",
                 *pair);
}

bool makeWhile(ProgramBuilder &b) {
  std::optional<Pair> pair = anyPair(b);
  if (!pair)
    return false;
  std::string trips = std::to_string(b.random.integer(0, 4));
  std::string body = bothOf(b, *pair);
  return letPair(
      b, "(while n < " + trips + " carry (n = 0, r = ($0, $1)) { let (p, q) = r; yield (n + 1, " + body + "); })[1]",
      *pair);
}

/// A condition that is not known well enough would choose differently at each station.
bool makeIf(ProgramBuilder &b) {
  std::optional<Pair> pair = anyPair(b);
  if (!pair || !b.of(pair->x).exact || !b.of(pair->y).exact)
    return false;
  std::string condition = b.random.chance(50) ? "any($0 != $1)" : "sum($0 == $1) > 1";
  std::string thenArm = bothOf(b, *pair), elseArm = bothOf(b, *pair);
  return letPair(b,
                 "if " + condition + " { let p = $0; let q = $1; " + thenArm + " } else { let p = $1; let q = $0; " +
                     elseArm + " }",
                 *pair);
}

} // namespace

std::vector<Operation> controlOperations() {
  return {
      {"for", 3, makeFor},
      {"while", 2, makeWhile},
      {"if", 2, makeIf},
  };
}

} // namespace spmdc
