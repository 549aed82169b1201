//===- Matmul.h - (batched) matrix products on one CPU ----------*- C++ -*-===//
//
// A product is split into blocks of rows x panels of columns, which parallelFor distributes; k is never split between
// them. So the bits depend on neither the number of threads nor their timing. When all panels of a block of rows are
// done, the epilogue runs on these rows while they are in cache.
//
// Measured (Zen 4, 2048^3 f32, one core): dnnl_sgemm in one call 109 GFLOP/s, in blocks of 128 rows 97 (it packs the
// right side again for each); the matmul primitive with the right side packed once 111, in blocks of 128 rows 109.
// So: the primitive with a packed right side; sgemm for 17 to 47 rows; our own kernels for small products and for fewer
// rows or columns. Bytes, bf16 and f16 are our own kernels' (Gemm.h), where they are widened while they are packed;
// benchmarks/RESULTS.md has the figures.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/MatmulShape.h"
#include "runtime/device/cpu/ParallelFor.h"

#include <memory>
#include <string>

namespace spmd {

class Dnnl;

/// Callback for finished rows: called with [begin, end) of batch * m rows, on any thread.
struct RowsDone {
  void (*function)(const void *context, int64_t begin, int64_t end) = nullptr;
  const void *context = nullptr;
  void operator()(int64_t begin, int64_t end) const {
    if (function && begin < end)
      function(context, begin, end);
  }
};

/// A product of one shape, prepared once. Immutable except for per-thread state: one device thread uses it at a time.
class Matmul {
public:
  virtual ~Matmul() = default;

  /// `library` may be null: then our own kernels compute everything. Throws spmd::Error for element types that cannot
  /// be multiplied.
  static std::unique_ptr<Matmul> create(const MatmulShape &shape, std::shared_ptr<const Dnnl> library, int threads);

  /// Bytes of 64-byte aligned scratch that `run` needs.
  virtual int64_t getScratchBytes() const = 0;
  virtual void run(ParallelFor &parallelFor, const void *lhs, const void *rhs, void *result, void *scratch,
                   RowsDone rowsDone = {}) = 0;
  /// Returns the selected implementation, for profiles and tests: `onednn`, `onednn-sgemm`, `own`,
  /// `own, unpacked`, `own, small`, `own, symmetric` or `own, amx`.
  virtual std::string getMethod() const = 0;
};

} // namespace spmd
