//===- ArithmeticOperations.cpp - operators of two values -----------------===//

#include "tests/programs/generator/Operations.h"

#include <cmath>

namespace spmdc {

using spmd::DType;

namespace {

/// Two operands that broadcast, and the element type that they are promoted to.
struct Pair {
  int x = 0, y = 0;
  DType dtype = DType::F32;
  Shape shape;
  Accuracy left, right;
  bool isExact() const { return left.exact && right.exact; }
  int grain() const { return std::max(left.grain, right.grain); }
  double error() const { return left.error + right.error; }
};

Pair join(ProgramBuilder &b, int x, int y) {
  Pair pair{x, y, promoted(b.dtypeOf(x), b.dtypeOf(y)), *broadcastShapes(b.shapeOf(x), b.shapeOf(y)), {}, {}};
  pair.left = converted(b.of(x), b.dtypeOf(x), pair.dtype);
  pair.right = converted(b.of(y), b.dtypeOf(y), pair.dtype);
  return pair;
}

Pair randomPair(ProgramBuilder &b) {
  int x = b.tame(b.any()), y = b.tame(b.broadcastable(x, /*mayDiffer=*/b.random.chance(30)));
  return b.random.chance(50) ? join(b, x, y) : join(b, y, x);
}

bool letPair(ProgramBuilder &b, const Pair &pair, const char *text, Accuracy accuracy) {
  return b.let(text, {pair.x, pair.y}, pair.dtype, pair.shape, accuracy).has_value();
}

bool makeAdd(ProgramBuilder &b) {
  Pair p = randomPair(b);
  return letPair(b, p, "$0 + $1", computed(p.dtype, p.isExact(), p.left.bound + p.right.bound, p.grain(), p.error()));
}

bool makeSubtract(ProgramBuilder &b) {
  Pair p = randomPair(b);
  if (p.dtype == DType::Bool)
    return false;
  double bound = spmd::isUnsigned(p.dtype) ? INFINITY : p.left.bound + p.right.bound;
  return letPair(b, p, "$0 - $1", computed(p.dtype, p.isExact(), bound, p.grain(), p.error()));
}

bool makeMultiply(ProgramBuilder &b) {
  Pair p = randomPair(b);
  double error = p.left.bound * p.right.error + p.right.bound * p.left.error + p.left.error * p.right.error;
  return letPair(b, p, "$0 * $1",
                 computed(p.dtype, p.isExact(), p.left.bound * p.right.bound, p.left.grain + p.right.grain, error));
}

/// Divides by a number, by a value away from zero, or, for exact operands only, by any value.
bool makeDivide(ProgramBuilder &b) {
  int x = b.tame(b.any());
  DType dtype = spmd::isFloat(b.dtypeOf(x)) ? b.dtypeOf(x) : DType::F32;
  Accuracy in = converted(b.of(x), b.dtypeOf(x), dtype);
  if (b.random.chance(40)) {
    // A float that is a literal alone is weak: it would take the type of the other operand.
    const char *quotient = spmd::isFloat(b.dtypeOf(x)) ? "$0 / -5.5" : "cast($0 / -5.5, f32)";
    const char *text = b.random.pick({"$0 / 3", quotient, "$0 / 2"});
    return b.let(text, {x}, dtype, b.shapeOf(x), computed(dtype, false, in.bound, 0, in.error)).has_value();
  }
  Pair p = join(b, x, b.tame(b.broadcastable(x, true)));
  if (!spmd::isFloat(p.dtype)) {
    p.left = converted(p.left, p.dtype, DType::F32);
    p.right = converted(p.right, p.dtype, DType::F32);
    p.dtype = DType::F32;
  }
  if (b.random.chance(50)) {
    // The smallest divisor that is not zero is 2^-grain.
    if (!p.isExact() || p.right.grain > 1)
      return false;
    return letPair(b, p, "$0 / $1", computed(p.dtype, false, 2 * p.left.bound, 0, 0));
  }
  // A bool plus 1 is an integer; a u8 plus 1 may wrap to zero.
  if (!spmd::isFloat(b.dtypeOf(p.y)))
    return false;
  double error = p.left.error + p.left.bound * p.right.error;
  return letPair(b, p, "$0 / (abs($1) + 1)", computed(p.dtype, false, p.left.bound, 0, error, 2));
}

/// `%` and floor_divide, which jump.
bool makeRemainder(ProgramBuilder &b, bool isQuotient) {
  Pair p = randomPair(b);
  if (p.dtype == DType::Bool || !p.isExact())
    return false;
  if (!spmd::isFloat(p.dtype))
    return letPair(b, p, isQuotient ? "floor_divide($0, $1)" : "$0 % $1", computed(p.dtype, true, INFINITY, 0, 0));
  if (p.right.grain > 1 || std::ldexp(p.left.bound + p.right.bound, p.grain() + 1) > 1.0 / roundoff(p.dtype))
    return false;
  if (isQuotient)
    return letPair(b, p, "floor_divide($0, $1)", {.bound = 2 * p.left.bound + 1});
  return letPair(b, p, "$0 % $1", {.bound = p.right.bound, .grain = p.grain()});
}

bool makePower(ProgramBuilder &b) {
  int x = b.tame(b.any());
  DType dtype = b.dtypeOf(x);
  const Accuracy &in = b.of(x);
  if (b.random.chance(50) && dtype != DType::Bool) { // Repeated multiplication.
    int64_t exponent = b.random.integer(0, 3);
    double bound = std::pow(std::max(in.bound, 1.0), exponent),
           error = 3 * std::max(in.bound, 1.0) * std::max(in.bound, 1.0) * in.error;
    return b
        .let("$0 ** " + std::to_string(exponent), {x}, dtype, b.shapeOf(x),
             computed(dtype, in.exact, bound, in.grain * static_cast<int>(exponent), error, 3))
        .has_value();
  }
  if (!spmd::isFloat(dtype)) {
    Pair p = join(b, x, b.broadcastable(x, false));
    if (p.dtype == DType::Bool)
      p.dtype = DType::I32;
    return letPair(b, p, "$0 ** $1", computed(p.dtype, true, INFINITY, 0, 0));
  }
  // For numbers from 1 to 2.
  int y = b.tame(b.broadcastable(x, false));
  if (b.of(y).bound > 8)
    return false;
  Pair p = join(b, x, y);
  double bound = std::exp2(p.right.bound), error = bound * p.right.bound * p.left.error + bound * p.right.error;
  const char *text = b.random.chance(70) ? "(abs(sin($0)) + 1) ** $1" : "pow(abs(sin($0)) + 1, $1)";
  return letPair(b, p, text, computed(p.dtype, false, bound, 0, error, 4 * std::max(p.right.bound, 1.0)));
}

/// Away from the line where the angle jumps, or on it with zeros of known sign.
bool makeAtan2(ProgramBuilder &b) {
  int y = b.tame(b.any()), x = b.tame(b.broadcastable(y, false));
  Pair p = join(b, y, x);
  if (!spmd::isFloat(p.dtype)) {
    if (p.left.bound > 16 || p.right.bound > 16)
      return false;
    p.dtype = DType::F32;
    return letPair(b, p, "atan2($0, $1)", {.exact = false, .bound = 3.2, .error = 64 * roundoff(DType::F32)});
  }
  double error = p.error() + 64 * roundoff(p.dtype);
  if (p.left.bits && p.right.bits)
    return letPair(b, p, "atan2($0, $1)", {.exact = false, .bound = 3.2, .error = error});
  return letPair(b, p, "atan2($0, abs($1) + 1)", {.exact = false, .bound = 1.6, .error = error});
}

bool makeExtreme(ProgramBuilder &b, const char *text) {
  Pair p = randomPair(b);
  Accuracy accuracy = eitherOf(p.left, p.right);
  accuracy.bits = !spmd::isFloat(p.dtype);
  return letPair(b, p, text, accuracy);
}

/// For integers; logical operations also for bools.
bool makeBitwise(ProgramBuilder &b, const char *text, bool ofBools) {
  std::optional<int> x =
      b.find([&](int v) { return !spmd::isFloat(b.dtypeOf(v)) && (ofBools || b.dtypeOf(v) != DType::Bool); });
  if (!x)
    return false;
  Pair p = join(b, *x, b.broadcastable(*x, false));
  return letPair(b, p, text, computed(p.dtype, true, INFINITY, 0, 0));
}

bool makeLogical(ProgramBuilder &b, const char *text) {
  std::optional<int> x = b.find([&](int v) { return b.isUsable(v) && b.of(v).exact; });
  if (!x)
    return false;
  Pair p = join(b, *x, b.broadcastable(*x, true, /*mustBeExact=*/true));
  p.dtype = DType::Bool;
  return letPair(b, p, text, {.bound = 1, .bits = true});
}

bool makeComparison(ProgramBuilder &b) {
  std::optional<int> x = b.find([&](int v) { return b.isUsable(v) && b.of(v).exact; });
  if (!x)
    return false;
  Pair p = join(b, *x, b.broadcastable(*x, b.random.chance(30), /*mustBeExact=*/true));
  if (!p.isExact())
    return false;
  p.dtype = DType::Bool;
  const char *text = b.random.pick({"$0 == $1", "$0 != $1", "$0 < $1", "$0 <= $1", "$0 > $1", "$0 >= $1"});
  return letPair(b, p, text, {.bound = 1, .bits = true});
}

} // namespace

std::vector<Operation> arithmeticOperations() {
  std::vector<Operation> operations = {
      {"+", 14, makeAdd},
      {"-", 10, makeSubtract},
      {"*", 12, makeMultiply},
      {"/", 8, makeDivide},
      {"**", 6, makePower},
      {"atan2", 3, makeAtan2},
      {"%", 3, [](ProgramBuilder &b) { return makeRemainder(b, false); }},
      {"floor_divide", 3, [](ProgramBuilder &b) { return makeRemainder(b, true); }},
      {"comparison", 12, makeComparison},
  };
  for (const char *text : {"maximum($0, $1)", "minimum($0, $1)", "max($0, $1)", "min($0, $1)"})
    operations.push_back({text, 2, [text](ProgramBuilder &b) { return makeExtreme(b, text); }});
  for (const char *text : {"$0 & $1", "$0 | $1", "$0 ^ $1"})
    operations.push_back({text, 3, [text](ProgramBuilder &b) { return makeBitwise(b, text, true); }});
  for (const char *text : {"$0 << $1", "$0 >> $1"})
    operations.push_back({text, 3, [text](ProgramBuilder &b) { return makeBitwise(b, text, false); }});
  for (const char *text : {"$0 && $1", "$0 || $1"})
    operations.push_back({text, 2, [text](ProgramBuilder &b) { return makeLogical(b, text); }});
  return operations;
}

} // namespace spmdc
