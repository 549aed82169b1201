//===- ElementwiseOperations.cpp - functions of one value -----------------===//

#include "tests/programs/generator/Operations.h"

#include <cmath>

namespace spmdc {

using spmd::DType;

namespace {

/// A function of real numbers that are at most 16.
struct RealFunction {
  const char *name;
  const char *text;
  double (*bound)(double b);     ///< The bound of the result, from that of the operand.
  double (*steepness)(double b); ///< The largest factor by which an error of the operand grows.
  double limit = 16;             ///< Operands beyond this are not used.
  /// The function is infinitely steep somewhere, or has a limited domain: exact operands only.
  bool needsExact = false;
  double ulps = 16;
};

double one(double) { return 1; }
double grows(double b) { return std::exp(b); }
double grows2(double b) { return std::exp2(b); }
double same(double b) { return b + 1; }
template <int numerator, int denominator = 1> double constantly(double) {
  return static_cast<double>(numerator) / denominator;
}

const RealFunction realFunctions[] = {
    {"sin", "sin($0)", one, one},
    {"cos", "cos($0)", one, one},
    {"tanh", "tanh($0)", one, one},
    {"erf", "erf($0)", one, constantly<6, 5>},
    {"atan", "atan($0)", constantly<8, 5>, one},
    {"sigmoid", "sigmoid($0)", one, constantly<1, 4>},
    {"exp", "exp($0)", grows, grows, 4},
    {"exp2", "exp2($0)", grows2, grows2, 4},
    {"expm1", "expm1($0)", grows, grows, 4},
    {"sinh", "sinh($0)", grows, grows, 4},
    {"cosh", "cosh($0)", grows, grows, 4},
    // With operands away from the points where these are steep or end.
    {"tan", "tan(0.9 * tanh($0))", constantly<13, 10>, constantly<5, 2>, 16, false, 48},
    {"asin", "asin(0.9 * tanh($0))", constantly<6, 5>, constantly<5, 2>, 16, false, 48},
    {"acos", "acos(0.9 * tanh($0))", constantly<3>, constantly<5, 2>, 16, false, 48},
    {"erf_inv", "erf_inv(0.9 * tanh($0))", constantly<6, 5>, constantly<7, 2>, 16, false, 64},
    {"log", "log(abs($0) + 1)", same, one, 16, false, 32},
    {"log2", "log2(abs($0) + 1)", same, constantly<3, 2>, 16, false, 32},
    {"log1p", "log1p(abs($0))", same, one},
    {"sqrt", "sqrt(abs($0) + 1)", same, constantly<1, 2>, 16, false, 32},
    {"rsqrt", "rsqrt(abs($0) + 1)", one, constantly<1, 2>, 16, false, 32},
    {"cbrt", "cbrt(abs($0) + 1)", same, constantly<1, 2>, 16, false, 32},
    // With zeros and negative numbers, which give infinities and NaNs.
    {"tan of anything", "tan($0)", constantly<300>, one, 16, true},
    {"asin of anything", "asin($0)", constantly<8, 5>, one, 16, true},
    {"acos of anything", "acos($0)", constantly<16, 5>, one, 16, true},
    {"erf_inv of anything", "erf_inv($0)", one, one, 16, true, 64},
    {"log of anything", "log($0)", constantly<3>, one, 16, true},
    {"log2 of anything", "log2($0)", constantly<4>, one, 16, true},
    {"log1p of anything", "log1p($0)", constantly<3>, one, 16, true},
    {"sqrt of anything", "sqrt($0)", constantly<4>, one, 16, true},
    {"rsqrt of anything", "rsqrt($0)", constantly<3, 2>, one, 16, true},
    {"cbrt of anything", "cbrt($0)", constantly<3>, one, 16, true},
};

bool makeRealFunction(ProgramBuilder &b, const RealFunction &function) {
  int x = b.tame(b.any());
  DType dtype = spmd::isFloat(b.dtypeOf(x)) ? b.dtypeOf(x) : DType::F32;
  Accuracy in = converted(b.of(x), b.dtypeOf(x), dtype);
  // Multiples of one half stay away from the poles.
  if (in.bound > function.limit || (function.needsExact && (!in.exact || in.grain > 1)))
    return false;
  double bound = function.bound(in.bound);
  Accuracy out{.exact = false,
               .bound = bound,
               .error =
                   function.steepness(in.bound) * in.error + function.ulps * roundoff(dtype) * std::max(bound, 1.0)};
  // A bool with a literal is a weak integer, and a function of it a weak float.
  std::string text = function.text;
  if (b.dtypeOf(x) == DType::Bool)
    text = "cast(" + text + ", f32)";
  return b.let(text, {x}, dtype, b.shapeOf(x), out).has_value();
}

bool makeNegate(ProgramBuilder &b) {
  int x = b.any();
  if (b.dtypeOf(x) == DType::Bool)
    return false;
  Accuracy accuracy = b.of(x);
  if (!spmd::isFloat(b.dtypeOf(x)))
    accuracy = computed(b.dtypeOf(x), true, spmd::isUnsigned(b.dtypeOf(x)) ? INFINITY : accuracy.bound, 0, 0);
  return b.let("-$0", {x}, b.dtypeOf(x), b.shapeOf(x), accuracy).has_value();
}

bool makeAbs(ProgramBuilder &b) {
  int x = b.any();
  return b.let("abs($0)", {x}, b.dtypeOf(x), b.shapeOf(x), b.of(x)).has_value();
}

/// The same value, without derivatives.
bool makeStopGradient(ProgramBuilder &b) {
  int x = b.any();
  return b.let("stop_gradient($0)", {x}, b.dtypeOf(x), b.shapeOf(x), b.of(x)).has_value();
}

bool makeSign(ProgramBuilder &b) {
  int x = b.any();
  if (!b.of(x).exact || b.dtypeOf(x) == DType::Bool)
    return false;
  return b.let("sign($0)", {x}, b.dtypeOf(x), b.shapeOf(x), {.bound = 1, .bits = !spmd::isFloat(b.dtypeOf(x))})
      .has_value();
}

bool makeRounding(ProgramBuilder &b, const char *text) {
  int x = b.any();
  Accuracy accuracy = b.of(x);
  if (!accuracy.exact)
    return false;
  if (spmd::isFloat(b.dtypeOf(x)))
    accuracy = {.bound = std::ceil(accuracy.bound)};
  return b.let(text, {x}, b.dtypeOf(x), b.shapeOf(x), accuracy).has_value();
}

bool makePredicate(ProgramBuilder &b, const char *text) {
  int x = b.any();
  return b.let(text, {x}, DType::Bool, b.shapeOf(x), {.bound = 1, .bits = true}).has_value();
}

/// `!`: for bools, and for numbers whether they are zero.
bool makeNot(ProgramBuilder &b) {
  std::optional<int> x = b.find([&](int v) { return b.isUsable(v) && b.of(v).exact; });
  return x && b.let("!$0", {*x}, DType::Bool, b.shapeOf(*x), {.bound = 1, .bits = true});
}

bool makeCast(ProgramBuilder &b) {
  int x = b.any();
  DType from = b.dtypeOf(x), to = b.randomDType();
  if (!spmd::isFloat(to) && !b.of(x).exact)
    to = b.randomFloat();
  // Conversion truncates fractions towards zero.
  Accuracy accuracy = converted(b.of(x), from, to);
  return b.let("cast($0, " + std::string(spmd::dtypeName(to)) + ")", {x}, to, b.shapeOf(x), accuracy).has_value();
}

bool makeBitcast(ProgramBuilder &b) {
  std::optional<int> x = b.find([&](int v) { return b.of(v).bits && b.dtypeOf(v) != DType::Bool; });
  if (!x)
    return false;
  DType from = b.dtypeOf(*x), to = from;
  switch (spmd::byteSize(from)) {
  case 1:
    to = from == DType::I8 ? DType::U8 : DType::I8;
    break;
  case 2:
    to = b.random.pick({DType::F16, DType::BF16, DType::I16, DType::U16});
    break;
  case 4:
    to = b.random.pick({DType::F32, DType::I32, DType::U32});
    break;
  default:
    to = b.random.pick({DType::F64, DType::I64, DType::U64});
    break;
  }
  // Any bits may be any float, so the result is only moved afterwards.
  Accuracy accuracy{.bound = spmd::isFloat(to) ? INFINITY : integerBound(to), .bits = !spmd::isFloat(to)};
  return b.let("bitcast($0, " + std::string(spmd::dtypeName(to)) + ")", {*x}, to, b.shapeOf(*x), accuracy).has_value();
}

} // namespace

std::vector<Operation> elementwiseOperations() {
  std::vector<Operation> operations = {
      {"negate", 5, makeNegate},   {"abs", 4, makeAbs},
      {"sign", 4, makeSign},       {"stop_gradient", 2, makeStopGradient},
      {"not", 4, makeNot},         {"cast", 12, makeCast},
      {"bitcast", 4, makeBitcast},
  };
  for (const RealFunction &function : realFunctions)
    operations.push_back({function.name, 2, [&function](ProgramBuilder &b) { return makeRealFunction(b, function); }});
  for (const char *text : {"floor($0)", "ceil($0)", "round($0)"})
    operations.push_back(
        {std::string(text).substr(0, 5), 2, [text](ProgramBuilder &b) { return makeRounding(b, text); }});
  for (const char *text : {"is_finite($0)", "is_nan($0)"})
    operations.push_back({text, 2, [text](ProgramBuilder &b) { return makePredicate(b, text); }});
  return operations;
}

} // namespace spmdc
