//===- MultiplyBytes.cu - matrix products of 8-bit integers ---------------===//
//
// On the matrix units of sm_80 and newer (MatrixTiles.h). Sums have 32 bits and wrap, like those of Multiply.cu; for
// bools, any true product makes the result true.
//
// Compiled once for each pair of types: SPMD_SIGNED, SPMD_OUT, SPMD_LOGICAL for bools.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/kernels/Element.h"
#include "runtime/device/cuda/kernels/MatrixTiles.h"

namespace spmd::cuda {
namespace {

struct ByteUnits {
  using Element = uint8_t;
  using Sum = uint32_t;
  using Stored = SPMD_OUT::Stored;
  typedef Stored Two __attribute__((ext_vector_type(2)));

  static SPMD_DEVICE void multiply(const uint32_t (&left)[4], uint32_t right0, uint32_t right1, uint32_t (&sums)[4]) {
    multiplyBytes<SPMD_SIGNED>(left, right0, right1, sums);
  }
  static SPMD_DEVICE Stored finish(uint32_t sum) { return static_cast<Stored>(SPMD_LOGICAL ? sum != 0 : sum); }
  static SPMD_DEVICE Two finish(uint32_t first, uint32_t second) { return Two{finish(first), finish(second)}; }
};

} // namespace

SPMD_MULTIPLY_TILES(bytes, ByteUnits)

} // namespace spmd::cuda
