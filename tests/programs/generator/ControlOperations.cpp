//===- ControlOperations.cpp - loops and branches -------------------------===//
//
// Two arrays of one type are carried by a loop whose body moves and selects elements: the results are as accurate as
// the initial values, for any trip count, and any carry may replace any other.
//
//===----------------------------------------------------------------------===//

#include "tests/programs/generator/Operations.h"

#include "llvm/ADT/STLExtras.h"

namespace spmdc {

namespace {

struct Pair {
  int x, y;
  bool selects = false; ///< Some expression takes the maximum or minimum.
};

std::optional<Pair> anyPair(ProgramBuilder &b) {
  int x = b.any();
  return Pair{x, b.matching(b.shapeOf(x), b.dtypeOf(x))};
}

/// Returns an expression of `p` and `q`, of their type.
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
  // A transposed square has the dimensions of its sharding swapped.
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

/// Returns the accuracy that holds for both.
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
  std::string iterations = std::to_string(b.random.integer(0, 4));
  std::string body = bothOf(b, *pair);
  return letPair(b,
                 "(while n < " + iterations + " carry (n = 0, r = ($0, $1)) { let (p, q) = r; yield (n + 1, " + body +
                     "); })[1]",
                 *pair);
}

/// A loop that reads the rows of an array one by one: it carries a row, and sometimes an array of rows that it writes,
/// or the array that it reads.
bool makeRows(ProgramBuilder &b) {
  std::optional<int> x = b.find([&](int v) { return b.isUsable(v) && b.rankOf(v) > 0 && b.shapeOf(v)[0] > 0; });
  if (!x)
    return false;
  const Shape shape = b.shapeOf(*x), row(shape.begin() + 1, shape.end());
  const spmd::DType dtype = b.dtypeOf(*x);
  const bool isBool = dtype == spmd::DType::Bool;
  std::string rows = std::to_string(shape[0]), window = "1";
  for (int64_t size : row)
    window += ", " + std::to_string(size);
  std::string index = "k", start = "k";
  switch (b.random.integer(0, 4)) {
  case 0:
    index = rows + " - 1 - k";
    break;
  case 1:
    index = "(k * 3 + 1) % " + rows;
    break;
  case 2: // The last indices are out of bounds.
    start = "k + 1";
    break;
  default:
    break;
  }
  for (size_t dim = 0; dim < row.size(); ++dim)
    start += ", 0";
  auto update = [&](const std::string &rowsOf, const std::string &by) {
    return "update(" + rowsOf + ", reshape(" + by + ", [" + window + "]), start=[" + start + "])";
  };
  auto join = [&](const std::string &one, const std::string &other) {
    return isBool ? one + " && " + other : "maximum(" + one + ", " + other + ")";
  };
  // All rows, or some; for indices out of bounds the first and last row count.
  std::string iterations = b.random.chance(60) ? rows : std::to_string(b.random.integer(0, shape[0]));
  Pair pair{*x, *x, /*selects=*/!isBool};
  if (b.random.chance(25))
    return b
        .let("for k in 0.." + iterations + " carry (p = $0) { yield " +
                 update("p", join("p[" + index + "]", "p[k - 1]")) + "; }",
             {*x}, dtype, shape, accuracyOf(b, pair))
        .has_value();
  pair.y = b.matching(row, dtype);
  std::string next = join("p", "$0[" + index + "]");
  if (b.random.chance(30))
    return b.letAll("for k in 0.." + iterations + " carry (p = $1, q = $0) { let p = " + next + "; yield (p, " +
                        update("q", "p") + "); }",
                    {pair.x, pair.y}, dtype, {row, shape}, accuracyOf(b, pair));
  std::string loop = "for k in 0.." + iterations + " carry (p = $1) { yield " + next + "; }";
  if (b.random.chance(30))
    loop = "(while k < " + iterations + " carry (k = 0, p = $1) { yield (k + 1, " + next + "); })[1]";
  return b.let(loop, {pair.x, pair.y}, dtype, row, accuracyOf(b, pair)).has_value();
}

/// A condition on inexact values could choose differently at each stage, so it uses exact values only.
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
      {"rows", 4, makeRows},
      {"if", 2, makeIf},
  };
}

} // namespace spmdc
