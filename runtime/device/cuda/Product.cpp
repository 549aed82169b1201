//===- Product.cpp - matrix products by our own kernels -------------------===//

#include "runtime/device/cuda/Product.h"

#include "runtime/support/Error.h"

#include <algorithm>

namespace spmd::cuda {
namespace {

/// Least number of blocks for the larger tile: half of a large GPU's multiprocessors, because one block computes a tile
/// of four times the size in less than twice the time.
constexpr int64_t kLeastTiles = 66;

/// Matrix units multiply 16-bit floats and bytes from sm_80 on.
constexpr int kLeastCapability = 80;
/// Bytes of one copy to shared memory.
constexpr int64_t kChunkBytes = 16;
/// Bytes that one thread transposes together.
constexpr int64_t kSquare = 4;

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

/// Whether the lines of a side are in aligned chunks. `isAcross`: a line has one step of k and all `places`.
bool isAlignedSide(DType dtype, bool isAcross, int64_t places, int64_t depth) {
  if (isAcross && byteSize(dtype) == 1)
    return places % kSquare == 0;
  return (isAcross ? places : depth) * byteSize(dtype) % kChunkBytes == 0;
}

} // namespace

Product::Product(const MatmulShape &shape, int capability)
    : shape(shape), hasFewRows(std::min(shape.m, shape.n) <= kFewRows) {
  std::string types = nameTypes(shape.operand, shape.result);
  if (types.empty())
    throw Error("matmul: no product of " + std::string(dtypeName(shape.operand)) + " into " +
                std::string(dtypeName(shape.result)) + "; cast the operands or the result");
  if (!hasFewRows && capability >= kLeastCapability) {
    if (shape.operand == DType::BF16 || shape.operand == DType::F16)
      unit = "halves";
    else if (byteSize(shape.operand) == 1)
      unit = "bytes";
  }
  module = (unit.empty() ? "Multiply" : unit == "halves" ? "MultiplyHalves" : "MultiplyBytes") + types;
  isAligned = isAlignedSide(shape.operand, shape.transposeLhs, shape.m, shape.k) &&
              isAlignedSide(shape.operand, !shape.transposeRhs, shape.n, shape.k) && shape.n % 2 == 0;
  bool hasLarge = unit.empty() ? byteSize(shape.operand) <= 4 : isAligned;
  int64_t tiles = shape.batch * (shape.m / kLargeTile) * (shape.n / kLargeTile);
  if (hasLarge && tiles >= kLeastTiles)
    tile = kLargeTile;
}

std::string Product::nameKernel() const {
  if (unit.empty())
    return "spmd_multiply_" + (hasFewRows ? "few" : std::to_string(tile));
  return "spmd_multiply_" + unit + "_" + (shape.transposeLhs ? "t" : "n") + (shape.transposeRhs ? "t" : "n") +
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
  if (!unit.empty())
    return launcher.launchOver(tiles, 1, module, nameKernel(), lhs, rhs, result, shape.batch, shape.m, shape.n,
                               shape.k);
  launcher.launchOver(tiles, 1, module, nameKernel(), lhs, rhs, result, shape.batch, shape.m, shape.n, shape.k,
                      shape.transposeLhs, shape.transposeRhs);
}

} // namespace spmd::cuda
