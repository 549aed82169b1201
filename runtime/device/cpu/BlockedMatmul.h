//===- BlockedMatmul.h - loop over rows x panels ----------------*- C++ -*-===//
//
// The loop over blocks that several matrix multiplications share: pack the right side panel by panel, multiply block by
// block, call back when a block of rows is complete.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cpu/CpuIsa.h"
#include "runtime/device/cpu/Matmul.h"

namespace spmd {

struct GemmKernel;

class BlockedMatmul : public Matmul {
public:
  int64_t getScratchBytes() const override;
  void run(ParallelFor &parallelFor, const void *lhs, const void *rhs, void *result, void *scratch,
           RowsDone rowsDone) override;

protected:
  struct Blocking {
    int64_t rowBlock = 1, panelColumns = 1;
    int64_t packedPanelBytes = 0;   ///< 0: the right side is read in place.
    int64_t threadScratchBytes = 0; ///< Scratch memory for multiplyBlock.
  };
  BlockedMatmul(const MatmulShape &shape, int threads) : shape(shape), threads(threads) {}
  void setBlocking(const Blocking &newBlocking);

  /// The first element of a product of the batch, from that of the operand's array.
  virtual int64_t startOfLhs(int64_t element) const { return element * shape.m * shape.k; }
  virtual int64_t startOfRhs(int64_t element) const { return element * shape.k * shape.n; }
  /// Around a thread's blocks.
  virtual void enterThread() {}
  virtual void leaveThread() {}
  /// Packs one panel of one batch element.
  virtual void packPanel(const char *rhs, int64_t panel, char *packed, int thread) = 0;
  /// Multiplies rows [row, row + rows) with one panel. `rhs` is the full right side of the batch element, `packed` the
  /// packed panel.
  virtual void multiplyBlock(const char *lhs, const char *rhs, const char *packed, char *result, int64_t row,
                             int64_t rows, int64_t panel, int thread, char *threadScratch) = 0;
  /// Throws an error that a block reported, if any.
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

/// Whether our own kernels compute the half above the diagonal, and copy it.
bool isComputedByHalf(const MatmulShape &shape);
/// Our own kernels for the matrix unit (Amx.h); null if this CPU has none, or none for these element types.
std::unique_ptr<Matmul> createAmxMatmul(const MatmulShape &shape, int threads);
/// Our own kernels (Gemm.h) for the instructions of `isa`; null if they do not support these element types.
std::unique_ptr<Matmul> createOwnMatmul(const MatmulShape &shape, int threads, CpuIsa isa = detectIsa());
/// Whether the shape has so few rows or columns that reading the other side in place is faster than packing it.
bool isThin(const MatmulShape &shape);
/// Our own kernels for shapes that are thin; null for others.
std::unique_ptr<Matmul> createThinMatmul(const MatmulShape &shape, int threads, const GemmKernel &kernel);
/// Our own kernels for products of up to 64 rows and columns; null if the shape has more, or if those for a few columns
/// are faster.
std::unique_ptr<Matmul> createSmallMatmul(const MatmulShape &shape, const GemmKernel &kernel);
/// oneDNN; null if it has no fast implementation of this shape and these types.
std::unique_ptr<Matmul> createDnnlMatmul(const MatmulShape &shape, std::shared_ptr<const Dnnl> library, int threads);

} // namespace spmd
