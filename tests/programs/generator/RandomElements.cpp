//===- RandomElements.cpp - the values of parameters ----------------------===//

#include "ir/spmd/SpmdTypes.h"
#include "tests/programs/generator/ProgramBuilder.h"

#include <algorithm>
#include <cmath>

namespace spmdc {

/// Returns small integers, or integers of the full range; floats that are exact (small integers, halves, sometimes with
/// infinities, NaNs and negative zeros) or any in [-1, 1].
std::vector<Scalar> ProgramBuilder::randomElements(llvm::ArrayRef<int64_t> shape, spmd::DType dtype,
                                                   Accuracy &accuracy) {
  mlir::Type type = getElementType(&context, dtype);
  bool isFloat = spmd::isFloat(dtype), isExact = !isFloat || random.chance(50);
  bool hasEdges = isFloat && isExact && random.chance(8), hasNaN = hasEdges && random.chance(50);
  bool isWide = !isFloat && random.chance(25), hasHalves = isFloat && random.chance(40);
  std::vector<Scalar> elements(static_cast<size_t>(countOf(shape)));
  for (Scalar &element : elements) {
    if (!isFloat)
      element = Scalar::ofInt(isWide ? static_cast<int64_t>(random.next()) : random.integer(-9, 9));
    else if (!isExact)
      element = Scalar::ofFloat(2 * random.real() - 1);
    else if (hasEdges && random.chance(10))
      element = Scalar::ofFloat(random.pick({double(INFINITY), double(-INFINITY), hasNaN ? double(NAN) : 0.0, -0.0}));
    else
      element = Scalar::ofFloat(static_cast<double>(random.integer(-8, 8)) / (hasHalves ? 2 : 1));
    element = roundTo(element, type);
  }
  if (isFloat)
    accuracy = {.exact = isExact,
                .bound = isExact ? 8.0 : 1.0,
                .grain = isExact && hasHalves ? 1 : 0,
                .bits = isExact && !hasNaN};
  else
    accuracy = {.bound = isWide || spmd::isUnsigned(dtype) ? integerBound(dtype) : std::min(9.0, integerBound(dtype)),
                .bits = true};
  return elements;
}

} // namespace spmdc
