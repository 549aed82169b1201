//===- MultiplyHalves.cu - matrix products of 16-bit floats ---------------===//
//
// For machines without cuBLASLt, on the matrix units of sm_80 and newer (MatrixTiles.h). Sums are in f32, and rounded
// once.
//
// Compiled once for each pair of types: SPMD_BF16 (or f16), SPMD_OUT.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/kernels/Element.h"
#include "runtime/device/cuda/kernels/MatrixTiles.h"

namespace spmd::cuda {
namespace {

template <bool isBf16, typename Out> struct HalfUnits {
  using Element = uint16_t;
  using Sum = float;
  using Stored = typename Out::Stored;
  typedef Stored Two __attribute__((ext_vector_type(2)));

  static SPMD_DEVICE void multiply(const uint32_t (&left)[4], uint32_t right0, uint32_t right1, float (&sums)[4]) {
    multiplyMatrices<isBf16>(left, right0, right1, sums);
  }
  static SPMD_DEVICE Two finish(float first, float second) {
    if constexpr (sizeof(Stored) == sizeof(Element))
      return std::bit_cast<Two>(packHalves<isBf16>(first, second));
    else
      return Two{first, second};
  }
};
using Units = HalfUnits<SPMD_BF16, SPMD_OUT>;

} // namespace

SPMD_MULTIPLY_TILES(halves, Units)

} // namespace spmd::cuda
