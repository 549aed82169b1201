//===- Product.cpp - matrix products by our own kernels -------------------===//

#include "runtime/device/cuda/Product.h"

#include "runtime/support/Error.h"

#include <algorithm>

namespace spmd::cuda {
namespace {

/// Least number of blocks for the larger tile: half of a large GPU's multiprocessors, because one block computes a tile
/// of four times the size in less than twice the time.
constexpr int64_t kLeastTiles = 66;

/// Matrix units multiply 16-bit floats from sm_80 on.
constexpr int kLeastCapability = 80;
/// Elements of 16 bits in 16 bytes, which one copy to shared memory has.
constexpr int64_t kChunk = 8;

/// The type with whose bits the kernels of a type compute: unsigned integers that are as wide as their sums are
/// multiplied as signed ones.
std::string nameElement(DType dtype) {
  std::string name(dtypeName(dtype));
  if (isUnsigned(dtype) && byteSize(dtype) >= 4)
    name[0] = 'i';
  return name;
}

/// Returns the end of the module's name in kernels/Kernels.cmake, or an empty text: supported are the pairs of
/// runtime/device/cpu/Gemm.cpp.
std::string nameTypes(DType operand, DType result) {
  bool isHalf = operand == DType::BF16 || operand == DType::F16;
  bool isNarrow = isInteger(operand) && byteSize(operand) < 4;
  bool isWidened = (isHalf && result == DType::F32) || (isNarrow && result == DType::I32) ||
                   (isNarrow && isUnsigned(operand) && result == DType::U32);
  if (operand == DType::Key || (operand != result && !isWidened))
    return "";
  return "_" + nameElement(operand) + "_" + nameElement(result);
}

} // namespace

Product::Product(const MatmulShape &shape, int capability)
    : shape(shape), hasFewRows(std::min(shape.m, shape.n) <= kFewRows) {
  std::string types = nameTypes(shape.operand, shape.result);
  if (types.empty())
    throw Error("matmul: no product of " + std::string(dtypeName(shape.operand)) + " into " +
                std::string(dtypeName(shape.result)) + "; cast the operands or the result");
  bool isHalf = shape.operand == DType::BF16 || shape.operand == DType::F16;
  hasHalves = isHalf && !hasFewRows && capability >= kLeastCapability;
  module = (hasHalves ? "MultiplyHalves" : "Multiply") + types;
  isAligned = (shape.transposeLhs ? shape.m : shape.k) % kChunk == 0 &&
              (shape.transposeRhs ? shape.k : shape.n) % kChunk == 0 && shape.n % 2 == 0;
  bool hasLarge = hasHalves ? isAligned : byteSize(shape.operand) <= 4;
  int64_t tiles = shape.batch * (shape.m / kLargeTile) * (shape.n / kLargeTile);
  if (hasLarge && tiles >= kLeastTiles)
    tile = kLargeTile;
}

std::string Product::nameKernel() const {
  if (!hasHalves)
    return "spmd_multiply_" + (hasFewRows ? "few" : std::to_string(tile));
  return std::string("spmd_multiply_halves_") + (shape.transposeLhs ? "t" : "n") + (shape.transposeRhs ? "t" : "n") +
         (isAligned ? "_aligned_" : "_") + std::to_string(tile);
}

int64_t Product::countTiles(int64_t size) const { return (size + tile - 1) / tile; }

void Product::prepare(const LibraryKernels &kernels) const { kernels.find(module, nameKernel()); }

void Product::runFewRows(const LibraryLauncher &launcher, DevicePointer lhs, DevicePointer rhs,
                         DevicePointer result) const {
  // As in the kernel: if rows or columns of the larger side are contiguous, each lane takes one of them.
  bool isLhsFew = shape.m <= shape.n, isContiguousAcross = isLhsFew ? !shape.transposeRhs : shape.transposeLhs;
  int64_t places = isContiguousAcross ? 32 : 8, many = std::max(shape.m, shape.n);
  int64_t parts = std::min(shape.m, shape.n) > 0 ? (many + places - 1) / places : 0;
  launcher.launchOver(shape.batch * parts, 1, module, nameKernel(), lhs, rhs, result, shape.batch, shape.m, shape.n,
                      shape.k, shape.transposeLhs, shape.transposeRhs, places);
}

void Product::run(const LibraryLauncher &launcher, DevicePointer lhs, DevicePointer rhs, DevicePointer result) const {
  if (hasFewRows)
    return runFewRows(launcher, lhs, rhs, result);
  int64_t tiles = shape.batch * countTiles(shape.m) * countTiles(shape.n);
  if (hasHalves)
    return launcher.launchOver(tiles, 1, module, nameKernel(), lhs, rhs, result, shape.batch, shape.m, shape.n,
                               shape.k);
  launcher.launchOver(tiles, 1, module, nameKernel(), lhs, rhs, result, shape.batch, shape.m, shape.n, shape.k,
                      shape.transposeLhs, shape.transposeRhs);
}

} // namespace spmd::cuda
