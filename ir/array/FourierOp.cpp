//===- FourierOp.cpp - the discrete Fourier transform ---------------------===//

#include "ir/array/FourierOp.h"

#include "ir/array/ScalarEvaluation.h"
#include "ir/array/Verification.h"

#include "runtime/support/RootOfUnity.h"

#include <cmath>
#include <complex>

using namespace mlir;

#define GET_OP_CLASSES
#include "ir/array/FourierOp.cpp.inc"

namespace spmdc {

LogicalResult FftOp::verify() {
  ArrayType operand = getOperand().getType(), result = getType();
  auto dim = static_cast<int64_t>(getDim()), length = static_cast<int64_t>(getLength());
  auto fail = [&] { return emitOpError() << operand.withoutSharding().str() << " "; };
  if (!operand.getElementType().isF32() && !operand.getElementType().isF64())
    return emitOpError() << "requires f32 or f64, got " << operand.withoutSharding().str();
  if (failed(verifyDims(*this, {dim}, operand.getRank() - 1, "dimension")))
    return failure();
  if (!spmd::isFourierLength(length))
    return emitOpError() << "requires a length whose primes are at most " << spmd::kMaxFourierPrime << ", got "
                         << length;
  if (static_cast<int64_t>(getDivisor()) < 1)
    return emitOpError() << "requires a positive divisor, got " << static_cast<int64_t>(getDivisor());
  if (result.getRank() != operand.getRank())
    return emitOpError() << "keeps the number of dimensions, got " << operand.withoutSharding().str() << " and "
                         << result.withoutSharding().str();
  int64_t from = getOperandParts(), to = getResultParts();
  if (from < 1 || from > 2 || to < 1 || to > 2 || from + to < 3)
    return emitOpError() << "requires two parts in the last dimension, on one side also one, got " << from << " and "
                         << to;
  if (from + to == 3 && getInverse() != (to == 1))
    return fail() << (getInverse() ? "is real: its transform is not inverse"
                                   : "has a real result: its transform is inverse");
  int64_t inputs = to == 1 ? length / 2 + 1 : length;
  if (operand.getDimSize(dim) != inputs)
    return fail() << "needs " << inputs << " elements in dimension " << dim;
  SmallVector<int64_t> shape(operand.getShape());
  shape[dim] = from == 1 ? length / 2 + 1 : length;
  shape.back() = to;
  return verifyResult(*this, shape, operand.getElementType());
}

double FftOp::countFlops() {
  auto length = static_cast<double>(getLength());
  bool isReal = getOperandParts() + getResultParts() == 3;
  ArrayType full = isReal && getOperandParts() == 2 ? getType() : getOperand().getType();
  double numbers = static_cast<double>(full.getNumElements()) / (isReal ? 1 : 2);
  return (isReal ? 2.5 : 5.0) * numbers * std::log2(length);
}

ShardingRule FftOp::getShardingRule() {
  ShardingRule rule;
  ValueFactors operand, result;
  for (int64_t d = 0, rank = getType().getRank(); d < rank; ++d) {
    bool passes = d != static_cast<int64_t>(getDim()) && d + 1 != rank;
    FactorKind kind = passes ? FactorKind::PassThrough : FactorKind::NeedReplication;
    operand.push_back({rule.addFactor(getOperand().getType().getDimSize(d), kind)});
    result.push_back(passes ? operand.back() : DimFactors{rule.addFactor(getType().getDimSize(d), kind)});
  }
  rule.operands = {operand};
  rule.results = {result};
  return rule;
}

/// By definition, in double precision, with angles reduced as integers.
Tensor FftOp::evaluate(ArrayRef<Tensor> operands) {
  const Tensor &x = operands[0];
  auto dim = static_cast<size_t>(getDim());
  auto length = static_cast<int64_t>(getLength());
  std::vector<std::complex<double>> roots;
  for (int64_t j = 0; j < length; ++j)
    roots.push_back(spmd::rootOfUnity(getInverse() ? j : -j, length));
  auto partOf = [&](SmallVector<int64_t> at, int64_t part) {
    at.back() = part;
    return x.at(at).f;
  };
  auto numberAt = [&](ArrayRef<int64_t> index, int64_t j) {
    SmallVector<int64_t> at(index);
    bool isConjugate = j >= x.shape[dim]; // Of frequencies that are not there.
    at[dim] = isConjugate ? length - j : j;
    double re = partOf(at, 0), im = x.shape.back() == 2 ? partOf(at, 1) : 0;
    bool isReal = getResultParts() == 1 && 2 * at[dim] % length == 0;
    return std::complex<double>(re, isReal ? 0 : isConjugate ? -im : im);
  };
  Type type = getType().getElementType();
  Tensor result(getType().getShape(), type);
  if (result.elements.empty())
    return result;
  size_t position = 0;
  SmallVector<int64_t> index(result.shape.size());
  do {
    std::complex<double> sum = 0;
    for (int64_t j = 0; j < length; ++j)
      sum += numberAt(index, j) * roots[static_cast<size_t>(j * index[dim] % length)];
    double part = index.back() == 0 ? sum.real() : sum.imag();
    result.elements[position++] = roundTo(Scalar::ofFloat(part / static_cast<double>(getDivisor())), type);
  } while (nextIndex(index, result.shape));
  return result;
}

} // namespace spmdc
