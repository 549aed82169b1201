//===- PreludeOperations.cpp - functions of the prelude -------------------===//

#include "tests/programs/generator/Operations.h"

#include <cmath>

namespace spmdc {

using spmd::DType;

namespace {

/// Returns the accuracy of a smooth function: `steepness` times the operand's error, and some rounding errors of
/// numbers of this size.
Accuracy smooth(DType dtype, const Accuracy &in, double bound, double steepness, double size, double roundings) {
  return {.exact = false, .bound = bound, .error = steepness * in.error + roundings * roundoff(dtype) * size};
}

bool makeRelu(ProgramBuilder &b) {
  int x = b.any();
  if (b.dtypeOf(x) == DType::Bool)
    return false;
  Accuracy accuracy = b.of(x);
  accuracy.bits = !spmd::isFloat(b.dtypeOf(x));
  return b.let("relu($0)", {x}, b.dtypeOf(x), b.shapeOf(x), accuracy).has_value();
}

bool makeActivation(ProgramBuilder &b, const char *text) {
  std::optional<int> x = b.anyFloat();
  if (!x)
    return false;
  DType dtype = b.dtypeOf(*x);
  double bound = b.of(*x).bound;
  // gelu computes the cube of its operand in the operand's own type.
  return b.let(text, {*x}, dtype, b.shapeOf(*x), smooth(dtype, b.of(*x), bound, 1.2, 1 + bound * bound, 64))
      .has_value();
}

/// Along one dimension.
bool makeSoftmax(ProgramBuilder &b, bool isLog) {
  std::optional<int> x = b.anyFloat();
  if (!x || b.rankOf(*x) == 0)
    return false;
  int64_t rank = b.rankOf(*x), dim = b.random.chance(50) ? rank - 1 : b.random.integer(0, rank - 1);
  int64_t size = b.shapeOf(*x)[dim];
  if (size == 0)
    return false;
  std::string axis = dim == rank - 1 && b.random.chance(50) ? "" : ", axis=" + b.dimText(dim, rank);
  DType dtype = b.dtypeOf(*x);
  const Accuracy in = b.of(*x);
  if (!isLog)
    return b.let("softmax($0" + axis + ")", {*x}, dtype, b.shapeOf(*x), smooth(dtype, in, 1, 4, 1 + in.bound, 64))
        .has_value();
  double bound = 2 * in.bound + std::log(static_cast<double>(size));
  return b.let("log_softmax($0" + axis + ")", {*x}, dtype, b.shapeOf(*x), smooth(dtype, in, bound, 4, 1 + bound, 64))
      .has_value();
}

/// Over the last dimension. The divisor may be as small as the root of eps.
bool makeNorm(ProgramBuilder &b, bool isLayer) {
  std::optional<int> x = b.anyFloat();
  if (!x || b.rankOf(*x) == 0 || b.of(*x).bound > 8)
    return false;
  DType dtype = b.dtypeOf(*x);
  // Squares of small deviations underflow in f16.
  if (dtype == DType::F16)
    return false;
  Shape last = {b.shapeOf(*x).back()};
  int scale = b.tame(b.matching(last, dtype));
  int bias = b.tame(b.matching(last, dtype));
  const Accuracy in = b.of(*x), s = b.of(scale), o = b.of(bias);
  double size = std::sqrt(static_cast<double>(std::max<int64_t>(last[0], 1)));
  double steepness = 1 / std::sqrt(0.1); // For a row of equal elements.
  double error = s.bound * size * (steepness * 4 * (in.error + 16 * roundoff(dtype) * in.bound)) + size * s.error +
                 64 * roundoff(dtype) * (size * s.bound + o.bound) + o.error;
  Accuracy accuracy{.exact = false, .bound = size * s.bound + (isLayer ? o.bound : 0), .error = error};
  if (isLayer)
    return b.let("layer_norm($0, $1, $2, eps=0.1)", {*x, scale, bias}, dtype, b.shapeOf(*x), accuracy).has_value();
  return b.let("rms_norm($0, $1, eps=0.1)", {*x, scale}, dtype, b.shapeOf(*x), accuracy).has_value();
}

bool makeCrossEntropy(ProgramBuilder &b) {
  std::optional<int> x = b.anyFloat();
  if (!x || b.rankOf(*x) == 0 || b.shapeOf(*x).back() == 0)
    return false;
  Shape rows = b.shapeOf(*x);
  auto classes = static_cast<double>(rows.pop_back_val());
  int labels = b.matching(rows, DType::I32);
  DType dtype = b.dtypeOf(*x);
  const Accuracy in = b.of(*x);
  double bound = 2 * in.bound + std::log(classes);
  return b.let("cross_entropy($0, $1)", {*x, labels}, dtype, rows, smooth(dtype, in, bound, 4, 1 + bound, 64))
      .has_value();
}

/// The dropped elements are known exactly.
bool makeDropout(ProgramBuilder &b) {
  std::optional<int> x = b.anyFloat();
  if (!x)
    return false;
  DType dtype = b.dtypeOf(*x);
  const Accuracy in = b.of(*x);
  std::string rate = b.random.pick({"0.25", "0.5", "0.0", "1.0"});
  return b
      .let("dropout(key(" + std::to_string(b.random.integer(0, 9)) + "), $0, " + rate + ")", {*x}, dtype, b.shapeOf(*x),
           computed(dtype, false, 2 * in.bound, 0, 2 * in.error, 2))
      .has_value();
}

bool makeAttention(ProgramBuilder &b) {
  std::optional<int> found = b.find(
      [&](int v) { return b.isUsable(v) && spmd::isFloat(b.dtypeOf(v)) && b.rankOf(v) >= 2 && b.rankOf(v) < 5; });
  if (!found)
    return false;
  int q = b.tame(*found);
  Shape shape = b.shapeOf(q), keys = shape, values = shape;
  int64_t features = shape.back();
  keys[keys.size() - 2] = values[values.size() - 2] = std::max<int64_t>(b.randomSize(), 1);
  values.back() = shape.back() = b.randomSize();
  Shape scores = keys;
  scores.back() = b.shapeOf(q)[keys.size() - 2];
  if (features == 0 || !b.fits(keys) || !b.fits(values) || !b.fits(shape) || !b.fits(scores))
    return false;
  DType dtype = b.dtypeOf(q);
  int k = b.tame(b.matching(keys, dtype)), v = b.tame(b.matching(values, dtype));
  const Accuracy Q = b.of(q), K = b.of(k), V = b.of(v);
  double root = std::sqrt(static_cast<double>(features)), score = root * Q.bound * K.bound;
  double scoreError = root * (Q.bound * K.error + K.bound * Q.error) + 32 * roundoff(dtype) * (1 + score);
  Accuracy accuracy{
      .exact = false, .bound = V.bound, .error = V.error + V.bound * (4 * scoreError + 128 * roundoff(dtype))};
  // Relative to the largest score: far beyond it the other terms vanish, and errors count in full.
  if (score > 60)
    return false;
  return b
      .let(b.random.chance(40) ? "attention($0, $1, $2, causal=true)" : "attention($0, $1, $2)", {q, k, v}, dtype,
           shape, accuracy)
      .has_value();
}

} // namespace

std::vector<Operation> preludeOperations() {
  std::vector<Operation> operations = {
      {"relu", 3, makeRelu},
      {"softmax", 5, [](ProgramBuilder &b) { return makeSoftmax(b, false); }},
      {"log_softmax", 3, [](ProgramBuilder &b) { return makeSoftmax(b, true); }},
      {"layer_norm", 4, [](ProgramBuilder &b) { return makeNorm(b, true); }},
      {"rms_norm", 3, [](ProgramBuilder &b) { return makeNorm(b, false); }},
      {"cross_entropy", 3, makeCrossEntropy},
      {"attention", 4, makeAttention},
      {"dropout", 2, makeDropout},
  };
  for (const char *text : {"silu($0)", "gelu($0)", "gelu($0, approximate=false)"})
    operations.push_back({text, 1, [text](ProgramBuilder &b) { return makeActivation(b, text); }});
  return operations;
}

} // namespace spmdc
