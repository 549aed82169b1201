//===- ReductionOperations.cpp - reductions and running sums --------------===//

#include "tests/programs/generator/Operations.h"

#include <cmath>

namespace spmdc {

using spmd::DType;

namespace {

/// The reduced dimensions, the text for them, and the remaining shape.
struct Reduced {
  std::string arguments;
  Shape shape;
  int64_t count = 1; ///< Elements in each result.
};

/// No axis, one (also from the end), or a list.
Reduced randomReduction(ProgramBuilder &b, int x, bool mayListAxes = true) {
  const Shape &shape = b.shapeOf(x);
  int64_t rank = b.rankOf(x);
  Shape dims;
  Reduced reduced;
  if (rank > 0 && b.random.chance(75)) {
    if (!mayListAxes || b.random.chance(50)) {
      dims = {b.random.integer(0, rank - 1)};
      reduced.arguments = ", axis=" + b.dimText(dims[0], rank);
    } else {
      dims = b.randomDims(rank, 55);
      reduced.arguments = ", axis=" + listText(dims);
    }
  } else {
    for (int64_t dim = 0; dim < rank; ++dim)
      dims.push_back(dim);
  }
  bool keeps = b.random.chance(25);
  reduced.arguments += keeps ? ", keepdims=true" : "";
  for (int64_t dim = 0; dim < rank; ++dim) {
    bool isGone = llvm::is_contained(dims, dim);
    reduced.count *= isGone ? shape[dim] : 1;
    if (!isGone || keeps)
      reduced.shape.push_back(isGone ? 1 : shape[dim]);
  }
  return reduced;
}

Accuracy sumOf(DType dtype, const Accuracy &in, int64_t count) {
  auto terms = static_cast<double>(std::max<int64_t>(count, 1));
  return summed(dtype, in.exact, terms * in.bound, in.grain, terms, terms * in.error);
}

DType widened(DType dtype) {
  if (dtype != DType::Bool && (spmd::isFloat(dtype) || spmd::byteSize(dtype) >= 4))
    return dtype;
  return spmd::isUnsigned(dtype) ? DType::U32 : DType::I32;
}

bool makeSum(ProgramBuilder &b) {
  int x = b.tame(b.any());
  Reduced r = randomReduction(b, x);
  DType dtype = widened(b.dtypeOf(x));
  return b.let("sum($0" + r.arguments + ")", {x}, dtype, r.shape, sumOf(dtype, b.of(x), r.count)).has_value();
}

bool makeProd(ProgramBuilder &b) {
  int x = b.tame(b.any());
  Reduced r = randomReduction(b, x);
  DType dtype = widened(b.dtypeOf(x));
  Accuracy in = b.of(x);
  if (!spmd::isFloat(dtype))
    return b.let("prod($0" + r.arguments + ")", {x}, dtype, r.shape, computed(dtype, true, INFINITY, 0, 0)).has_value();
  // For numbers from 1 to 2, so that a product of many stays in range.
  auto terms = static_cast<double>(std::max<int64_t>(r.count, 1));
  if (terms > 12)
    return false;
  double bound = std::exp2(terms), error = terms * bound * (in.error + 16 * roundoff(dtype));
  return b
      .let("prod(abs(sin($0)) + 1" + r.arguments + ")", {x}, dtype, r.shape, computed(dtype, false, bound, 0, error, 4))
      .has_value();
}

bool makeExtreme(ProgramBuilder &b, const char *name) {
  int x = b.any();
  Reduced r = randomReduction(b, x);
  if (r.count == 0)
    return false;
  Accuracy accuracy = b.of(x);
  accuracy.bits = !spmd::isFloat(b.dtypeOf(x));
  return b.let(std::string(name) + "($0" + r.arguments + ")", {x}, b.dtypeOf(x), r.shape, accuracy).has_value();
}

bool makeMean(ProgramBuilder &b) {
  int x = b.tame(b.any());
  Reduced r = randomReduction(b, x);
  DType dtype = spmd::isFloat(b.dtypeOf(x)) ? b.dtypeOf(x) : DType::F32;
  Accuracy in = converted(b.of(x), b.dtypeOf(x), dtype);
  double error = in.error + static_cast<double>(r.count) * accumulatorRoundoff(dtype) * in.bound;
  return b.let("mean($0" + r.arguments + ")", {x}, dtype, r.shape, computed(dtype, false, in.bound, 0, error, 4))
      .has_value();
}

bool makeVar(ProgramBuilder &b) {
  int x = b.tame(b.any());
  Reduced r = randomReduction(b, x);
  DType dtype = spmd::isFloat(b.dtypeOf(x)) ? b.dtypeOf(x) : DType::F32;
  Accuracy in = converted(b.of(x), b.dtypeOf(x), dtype);
  double bound = 4 * in.bound * in.bound;
  double error = 8 * in.bound * in.error + 4 * static_cast<double>(r.count) * accumulatorRoundoff(dtype) * bound;
  return b.let("var($0" + r.arguments + ")", {x}, dtype, r.shape, computed(dtype, false, bound, 0, error, 4))
      .has_value();
}

bool makeAnyAll(ProgramBuilder &b, const char *name) {
  std::optional<int> x = b.find([&](int v) { return b.of(v).exact; });
  if (!x)
    return false;
  Reduced r = randomReduction(b, *x);
  return b.let(std::string(name) + "($0" + r.arguments + ")", {*x}, DType::Bool, r.shape, {.bound = 1, .bits = true})
      .has_value();
}

bool makeArgExtreme(ProgramBuilder &b, const char *name) {
  std::optional<int> x = b.find([&](int v) { return b.isUsable(v) && b.of(v).exact; });
  if (!x)
    return false;
  Reduced r = randomReduction(b, *x, /*mayListAxes=*/false);
  if (r.count == 0)
    return false;
  return b
      .let(std::string(name) + "($0" + r.arguments + ")", {*x}, DType::I32, r.shape,
           {.bound = static_cast<double>(r.count), .bits = true})
      .has_value();
}

bool makeLogSumExp(ProgramBuilder &b) {
  std::optional<int> x = b.anyFloat();
  if (!x)
    return false;
  Reduced r = randomReduction(b, *x);
  if (r.count == 0)
    return false;
  DType dtype = b.dtypeOf(*x);
  double bound = b.of(*x).bound + std::log(static_cast<double>(r.count));
  return b
      .let("logsumexp($0" + r.arguments + ")", {*x}, dtype, r.shape,
           computed(dtype, false, bound + 1, 0, 2 * b.of(*x).error + 32 * roundoff(dtype), 4))
      .has_value();
}

/// cumsum, cumprod, cummax: along one dimension, or over all elements if none is named; from either end.
bool makeCumulative(ProgramBuilder &b, const std::string &name) {
  int x = b.tame(b.any());
  int64_t rank = b.rankOf(x);
  DType dtype = b.dtypeOf(x);
  bool isMax = name == "cummax";
  if (dtype == DType::Bool && !isMax)
    dtype = DType::I32;
  if (isMax && rank == 0)
    return false;
  bool hasAxis = rank > 0 && (isMax || b.random.chance(80));
  int64_t dim = hasAxis ? b.random.integer(0, rank - 1) : 0;
  Shape shape = hasAxis ? b.shapeOf(x) : Shape{countOf(b.shapeOf(x))};
  auto terms = static_cast<double>(std::max<int64_t>(shape[dim], 1));
  Accuracy accuracy = b.of(x);
  std::string operand = "$0";
  if (name == "cumsum") {
    accuracy = sumOf(dtype, accuracy, shape[dim]);
  } else if (name == "cumprod" && !spmd::isFloat(dtype)) {
    accuracy = computed(dtype, true, INFINITY, 0, 0);
  } else if (name == "cumprod") {
    if (terms > 12)
      return false;
    operand = "abs(sin($0)) + 1";
    double bound = std::exp2(terms);
    accuracy = computed(dtype, false, bound, 0, terms * bound * (accuracy.error + 16 * roundoff(dtype)), 4);
  } else {
    accuracy.bits = !spmd::isFloat(dtype);
  }
  std::string options = hasAxis ? ", axis=" + b.dimText(dim, rank) : "";
  if (b.random.chance(30))
    options += ", reverse=true";
  return b.let(name + "(" + operand + options + ")", {x}, dtype, shape, accuracy).has_value();
}

} // namespace

std::vector<Operation> reductionOperations() {
  std::vector<Operation> operations = {
      {"sum", 12, makeSum}, {"prod", 3, makeProd},           {"mean", 4, makeMean},
      {"var", 3, makeVar},  {"logsumexp", 3, makeLogSumExp},
  };
  for (const char *name : {"max", "min"})
    operations.push_back({name, 4, [name](ProgramBuilder &b) { return makeExtreme(b, name); }});
  for (const char *name : {"any", "all"})
    operations.push_back({name, 2, [name](ProgramBuilder &b) { return makeAnyAll(b, name); }});
  for (const char *name : {"argmax", "argmin"})
    operations.push_back({name, 2, [name](ProgramBuilder &b) { return makeArgExtreme(b, name); }});
  for (const char *name : {"cumsum", "cumprod", "cummax"})
    operations.push_back({name, 3, [name](ProgramBuilder &b) { return makeCumulative(b, name); }});
  return operations;
}

} // namespace spmdc
