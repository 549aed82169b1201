//===- WindowOperations.cpp - convolutions, pools, steps of optimisers ----===//

#include "tests/programs/generator/Operations.h"

#include <utility>

namespace spmdc {

using spmd::DType;

namespace {

/// Returns how many windows fit, or nullopt.
std::optional<int64_t> countWindows(int64_t size, int64_t window, int64_t stride, bool isSame) {
  if (isSame)
    return (size + stride - 1) / stride;
  return size < window ? std::optional<int64_t>() : (size - window) / stride + 1;
}

/// Returns [batch, positions ..., channels], of numbers, without empty dimensions.
std::optional<int> images(ProgramBuilder &b, size_t positions) {
  return b.find([&](int v) {
    return b.isUsable(v) && b.shapeOf(v).size() == positions + 2 && b.dtypeOf(v) != DType::Bool &&
           countOf(b.shapeOf(v)) > 0;
  });
}

std::string shuffled(ProgramBuilder &b, std::string letters) {
  for (size_t i = letters.size(); i > 1; --i)
    std::swap(letters[i - 1], letters[static_cast<size_t>(b.random.integer(0, static_cast<int64_t>(i) - 1))]);
  return letters;
}

/// Converts a shape from one order of letters to another.
Shape inLayout(const Shape &shape, const std::string &from, const std::string &to) {
  Shape result;
  for (char letter : to)
    result.push_back(shape[from.find(letter)]);
  return result;
}

bool makeConvolution(ProgramBuilder &b, size_t positions) {
  std::optional<int> found = images(b, positions);
  if (!found)
    return false;
  int x = b.tame(*found);
  std::string letters = positions == 1 ? "W" : "HW", array = "N" + letters + "C", kernelLayout = letters + "IO";
  std::string given[] = {array, kernelLayout, array};
  bool isWritten = b.random.chance(40);
  if (isWritten)
    for (std::string &layout : given)
      layout = shuffled(b, layout);
  Shape shape = inLayout(b.shapeOf(x), given[0], array), kernelShape;
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
  // A long window may be many filters of another layout: the layouts are then written.
  isWritten |= positions == 2 && kernelShape[0] > 2 * kernelShape[1];
  DType dtype = b.dtypeOf(x);
  int kernel = b.tame(b.matching(inLayout(kernelShape, kernelLayout, given[1]), dtype));
  shape = inLayout(shape, array, given[2]);
  const Accuracy in = b.of(x), taps = b.of(kernel);
  auto terms = static_cast<double>(depth);
  double bound = terms * in.bound * taps.bound;
  double error = terms * (in.bound * taps.error + taps.bound * in.error + in.error * taps.error) +
                 terms * accumulatorRoundoff(dtype) * bound;
  std::string text = "conv" + std::to_string(positions) + "d($0, $1, strides=" + std::to_string(stride) +
                     (isSame ? "" : ", padding=\"VALID\"");
  if (isWritten)
    text += ", dimension_numbers=(\"" + given[0] + "\", \"" + given[1] + "\", \"" + given[2] + "\")";
  return b
      .let(text + ")", {x, kernel}, dtype, shape,
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
