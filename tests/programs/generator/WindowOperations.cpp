//===- WindowOperations.cpp - convolutions, pools, steps of optimisers ----===//

#include "tests/programs/generator/Operations.h"

namespace spmdc {

using spmd::DType;

namespace {

/// How many windows fit, or none.
std::optional<int64_t> countWindows(int64_t size, int64_t window, int64_t stride, bool isSame) {
  if (isSame)
    return (size + stride - 1) / stride;
  return size < window ? std::optional<int64_t>() : (size - window) / stride + 1;
}

/// [batch, positions ..., channels], of numbers, without empty dimensions.
std::optional<int> images(ProgramBuilder &b, size_t positions) {
  return b.find([&](int v) {
    return b.isUsable(v) && b.shapeOf(v).size() == positions + 2 && b.dtypeOf(v) != DType::Bool &&
           countOf(b.shapeOf(v)) > 0;
  });
}

bool makeConvolution(ProgramBuilder &b, size_t positions) {
  std::optional<int> found = images(b, positions);
  if (!found)
    return false;
  int x = b.tame(*found);
  Shape shape = b.shapeOf(x), kernelShape;
  int64_t stride = b.random.pick({1, 1, 2, 3}), depth = shape.back();
  bool isSame = b.random.chance(60);
  for (size_t d = 1; d <= positions; ++d) {
    kernelShape.push_back(b.random.integer(1, 3));
    std::optional<int64_t> count = countWindows(shape[d], kernelShape.back(), stride, isSame);
    if (!count)
      return false;
    shape[d] = *count;
    depth *= kernelShape.back();
  }
  kernelShape.push_back(shape.back());
  kernelShape.push_back(b.random.integer(1, 4));
  shape.back() = kernelShape.back();
  if (!b.fits(kernelShape) || !b.fits(shape))
    return false;
  DType dtype = b.dtypeOf(x);
  int kernel = b.tame(b.matching(kernelShape, dtype));
  const Accuracy in = b.of(x), taps = b.of(kernel);
  auto terms = static_cast<double>(depth);
  double bound = terms * in.bound * taps.bound;
  double error = terms * (in.bound * taps.error + taps.bound * in.error + in.error * taps.error) +
                 terms * accumulatorRoundoff(dtype) * bound;
  std::string text = "conv" + std::to_string(positions) + "d($0, $1, strides=" + std::to_string(stride) +
                     (isSame ? ")" : ", padding=\"VALID\")");
  return b
      .let(text, {x, kernel}, dtype, shape,
           computed(dtype, in.exact && taps.exact, bound, in.grain + taps.grain, error, 4))
      .has_value();
}

bool makePool(ProgramBuilder &b, bool isMax) {
  auto positions = static_cast<size_t>(b.random.integer(1, 2));
  std::optional<int> found = images(b, positions);
  if (!found)
    return false;
  int x = b.tame(*found);
  Shape shape = b.shapeOf(x);
  bool isLong = b.random.chance(20);
  int64_t window = isLong ? b.random.integer(13, 40) : b.random.integer(1, 3), stride = b.random.integer(1, 3);
  int64_t count = 1;
  bool isSame = isLong || b.random.chance(50);
  for (size_t d = 1; d <= positions; ++d) {
    std::optional<int64_t> windows = countWindows(shape[d], window, stride, isSame);
    if (!windows)
      return false;
    shape[d] = *windows;
    count *= window;
  }
  DType dtype = b.dtypeOf(x);
  Accuracy accuracy = b.of(x);
  accuracy.bits &= !spmd::isFloat(dtype);
  if (!isMax) {
    DType result = spmd::isFloat(dtype) ? dtype : DType::F32;
    accuracy = converted(accuracy, dtype, result);
    dtype = result;
    accuracy = computed(dtype, false, accuracy.bound, 0, accuracy.error, static_cast<double>(count));
  }
  std::string text = std::string(isMax ? "max" : "avg") + "_pool($0, " + std::to_string(window) + ", " +
                     std::to_string(stride) + (isSame ? ", \"SAME\")" : ")");
  return b.let(text, {x}, dtype, shape, accuracy).has_value();
}

} // namespace

std::vector<Operation> windowOperations() {
  return {
      {"conv1d", 3, [](ProgramBuilder &b) { return makeConvolution(b, 1); }},
      {"conv2d", 3, [](ProgramBuilder &b) { return makeConvolution(b, 2); }},
      {"max_pool", 3, [](ProgramBuilder &b) { return makePool(b, true); }},
      {"avg_pool", 3, [](ProgramBuilder &b) { return makePool(b, false); }},
  };
}

} // namespace spmdc
