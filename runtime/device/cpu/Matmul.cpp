//===- Matmul.cpp - selects a matrix multiplication -----------------------===//

#include "runtime/device/cpu/Matmul.h"
#include "runtime/device/cpu/BlockedMatmul.h"
#include "runtime/support/Error.h"

namespace spmd {

std::unique_ptr<Matmul> Matmul::create(const MatmulShape &shape, std::shared_ptr<const Dnnl> library, int threads) {
  if (auto matmul = createAmxMatmul(shape, threads))
    return matmul;
  if (library)
    if (auto matmul = createDnnlMatmul(shape, library, threads))
      return matmul;
  if (auto matmul = createOwnMatmul(shape, threads))
    return matmul;
  throw Error("matmul: no product of " + std::string(dtypeName(shape.operand)) + " into " +
              std::string(dtypeName(shape.result)) + "; cast the operands or the result");
}

} // namespace spmd
