//===- LibraryStepVerifier.cpp - checks of one library step ---------------===//

#include "runtime/artifact/LibraryStepVerifier.h"

#include "runtime/support/ArraySize.h"
#include "runtime/support/RootOfUnity.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace spmd {
namespace {

/// The number of elements; -1 if no array has so many. The sizes are not negative.
int64_t countElements(const std::vector<int64_t> &sizes) {
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end())
    return 0;
  int64_t count = 1;
  for (int64_t size : sizes)
    if (__builtin_mul_overflow(count, size, &count))
      return -1;
  return count <= kMaxArrayBytes / 8 ? count : -1;
}

class Verifier {
public:
  Verifier(const LibraryStep &step, const std::vector<BufferInfo> &inputs, const BufferInfo &result)
      : step(step), inputs(inputs), result(result) {}

  std::string run() {
    bool isSort = spmd::isSort(step.function), isWindow = step.function == LibraryFunction::UpdateSlice;
    bool isFourier = spmd::isFourier(step.function);
    size_t sizes = step.sizes.size();
    need(isSort      ? sizes == 3 || sizes == 5
         : isWindow  ? sizes % 2 == 0
         : isFourier ? sizes == 6
                     : sizes == 4,
         "has " + std::to_string(sizes) + " sizes");
    need(inputs.size() == (isSort || isFourier ? 1
                           : isWindow          ? 2 + sizes / 2
                                               : 3),
         "has " + std::to_string(inputs.size()) + " inputs");
    for (int64_t size : step.sizes)
      need(size >= 0, "has a negative size");
    if (problem.empty())
      isSort ? verifySort() : isWindow ? verifyWindow() : isFourier ? verifyFourier() : verifyScatter();
    return problem;
  }

private:
  void need(bool holds, const std::string &what) {
    if (!holds && problem.empty())
      problem = what;
  }

  void check(const BufferInfo &info, DType dtype, const std::vector<int64_t> &shape, const char *which) {
    int64_t elements = countElements(shape);
    need(elements >= 0 && info.dtype == dtype && info.bytes() == elements * byteSize(dtype),
         std::string("has other ") + which + " than its sizes say");
  }
  /// Positions are i32 or i64.
  void checkPositions(const BufferInfo &info, const std::vector<int64_t> &shape, const char *which) {
    check(info, info.dtype == DType::I64 ? DType::I64 : DType::I32, shape, which);
  }

  void verifySort() {
    int64_t o = step.sizes[0], n = step.sizes[1], i = step.sizes[2];
    SortedRange range = getSortedRange(step.sizes);
    need(range.begin <= range.end && range.end <= n, "returns places that its lines do not have");
    check(inputs[0], inputs[0].dtype, {o, n, i}, "an operand");
    std::vector<int64_t> places = {o, range.end - range.begin, i};
    if (returnsSortedValues(step.function))
      return check(result, inputs[0].dtype, places, "a result");
    need(result.dtype == DType::I64 || n <= INT32_MAX, "counts further than an i32");
    checkPositions(result, places, "a result");
  }

  void verifyFourier() {
    int64_t o = step.sizes[0], n = step.sizes[1], i = step.sizes[2], from = step.sizes[3], to = step.sizes[4];
    bool hasParts = (from == 1 || from == 2) && (to == 1 || to == 2) && from + to > 2;
    need(hasParts, "has neither real nor complex numbers");
    need(isFourierLength(n), "transforms " + std::to_string(n) + " elements");
    need(step.sizes[5] > 0, "divides by zero");
    DType dtype = inputs[0].dtype;
    need(dtype == DType::F32 || dtype == DType::F64, "transforms other numbers than f32 and f64");
    if (!problem.empty())
      return;
    check(inputs[0], dtype, {o, to == 1 ? n / 2 + 1 : n, i, from}, "an operand");
    check(result, dtype, {o, from == 1 ? n / 2 + 1 : n, i, to}, "a result");
  }

  void verifyWindow() {
    size_t rank = step.sizes.size() / 2;
    auto middle = step.sizes.begin() + static_cast<int64_t>(rank);
    std::vector<int64_t> shape(step.sizes.begin(), middle), window(middle, step.sizes.end());
    for (size_t d = 0; d < rank; ++d) {
      need(window[d] <= shape[d], "has a window that does not fit");
      checkPositions(inputs[2 + d], {}, "a start");
    }
    check(inputs[0], inputs[0].dtype, shape, "an operand");
    check(inputs[1], inputs[0].dtype, window, "an update");
    check(result, inputs[0].dtype, shape, "a result");
  }

  void verifyScatter() {
    int64_t o = step.sizes[0], n = step.sizes[1], m = step.sizes[2], i = step.sizes[3];
    DType dtype = inputs[0].dtype;
    ScatterKind kind = getScatterKind(step.function);
    need(dtype != DType::Key || kind == ScatterKind::Replace, "computes with random keys");
    need(!isFloat(dtype) || (kind != ScatterKind::And && kind != ScatterKind::Or), "combines bits of floats");
    check(inputs[0], dtype, {o, n, i}, "an operand");
    checkPositions(inputs[1], isAlong(step.function) ? std::vector<int64_t>{o, m, i} : std::vector<int64_t>{m},
                   "indices");
    check(inputs[2], dtype, {o, m, i}, "updates");
    check(result, dtype, {o, n, i}, "a result");
  }

  const LibraryStep &step;
  const std::vector<BufferInfo> &inputs;
  const BufferInfo &result;
  std::string problem;
};

} // namespace

std::string findProblem(const LibraryStep &step, const std::vector<BufferInfo> &inputs, const BufferInfo &result) {
  return Verifier(step, inputs, result).run();
}

std::string findProblem(const MatmulStep &step, const std::vector<BufferInfo> &operands) {
  const LibraryEpilogue &epilogue = step.libraryEpilogue;
  if (step.epilogueKernel < 0 || operands.size() < 2)
    return "has no epilogue";
  const BufferInfo &result = operands.back();
  auto holds = [&](const BufferInfo &buffer, int64_t elements) {
    return elements >= 0 && buffer.dtype == result.dtype && buffer.bytes() == elements * byteSize(buffer.dtype);
  };
  int64_t elements = countElements({step.batch, step.m, step.n});
  if (!holds(result, elements))
    return "writes " + std::to_string(result.bytes()) + " bytes of " + std::to_string(elements) + " elements";
  bool isGradient = epilogue.function == LibraryEpilogue::Function::GeluGradient;
  if (isGradient && (epilogue.array == -1 || epilogue.bias != -1))
    return "has wrong operands";
  if (!std::isfinite(epilogue.factor) || !std::isfinite(epilogue.arrayFactor))
    return "has factors that are not finite";
  for (auto [index, size] : {std::pair(epilogue.array, elements), std::pair(epilogue.bias, step.n)}) {
    if (index == -1)
      continue;
    // The first operand is the product, the last one is the result.
    if (index < 1 || static_cast<size_t>(index) + 1 >= operands.size())
      return "has no input " + std::to_string(index);
    if (!holds(operands[static_cast<size_t>(index)], size))
      return "has an input " + std::to_string(index) + " that is not " + std::to_string(size) + " elements of " +
             std::string(dtypeName(result.dtype));
  }
  return "";
}

} // namespace spmd
