//===- BlockedMatmul.h - rows x panels, whoever multiplies ------*- C++ -*-===//
//
// The loop over blocks that all ways of multiplying share: pack the right side panel by panel, multiply block by
// block, call back when a block of rows is complete.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cpu/Matmul.h"

namespace spmd {

class BlockedMatmul : public Matmul {
public:
  int64_t getScratchBytes() const override;
  void run(ParallelFor &parallelFor, const void *lhs, const void *rhs, void *result, void *scratch,
           RowsDone rowsDone) override;

protected:
  struct Blocking {
    int64_t rowBlock = 1, panelColumns = 1;
    int64_t packedPanelBytes = 0;   ///< 0: the right side is read where it lies.
    int64_t threadScratchBytes = 0; ///< For multiplyBlock.
  };
  BlockedMatmul(const MatmulShape &shape, int threads) : shape(shape), threads(threads) {}
  void setBlocking(const Blocking &newBlocking);

  /// Packs one panel of one batch element.
  virtual void packPanel(const char *rhs, int64_t panel, char *packed, int thread) = 0;
  /// Rows [row, row + rows) x one panel. `rhs` is the batch element's whole right side, `packed` the packed panel.
  virtual void multiplyBlock(const char *lhs, const char *rhs, const char *packed, char *result, int64_t row,
                             int64_t rows, int64_t panel, int thread, char *threadScratch) = 0;
  /// Throws what went wrong in the blocks, if anything did.
  virtual void checkErrors() {}

  const MatmulShape shape;
  const int threads;
  Blocking blocking;
  int64_t rowBlocks = 1, panels = 1;

private:
  bool isBatchParallel() const;
  void runElement(const ParallelFor &parallelFor, int64_t element, const char *lhs, const char *rhs, char *result,
                  char *packed, char *threadScratch, int thread, RowsDone rowsDone);
};

/// Our own kernels (Gemm.h); null where they do not know these element types.
std::unique_ptr<Matmul> createOwnMatmul(const MatmulShape &shape, int threads);
/// oneDNN; null where it has no fast implementation of this shape and these types.
std::unique_ptr<Matmul> createDnnlMatmul(const MatmulShape &shape, std::shared_ptr<const Dnnl> library, int threads);

} // namespace spmd
