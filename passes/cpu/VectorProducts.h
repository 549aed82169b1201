//===- VectorProducts.h - products of small tiles ---------------*- C++ -*-===//
//
// The products of a streamed kernel (StreamedLoops.h) in explicit vectors: rows are in the lanes, so neither factor is
// packed. An element of the streamed factor is read once for two vectors of rows, and broadcast to their lanes.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/cpu/LoopEmitter.h"
#include "passes/kernel/StreamedProducts.h"

namespace spmdc {

/// Columns or features of a product that are computed together: with two vectors of rows they are 12 accumulators, for
/// which AVX2's 16 registers suffice, and which hide the latency of 4 cycles of two additions a cycle.
inline constexpr int64_t kProductColumns = 6;

class VectorProducts {
public:
  /// `type`: of products, f32 or f64. `vectorBytes`: of the target's vectors.
  VectorProducts(mlir::OpBuilder &builder, mlir::Location loc, ElementEmitter &emitter, LoopEmitter &loops,
                 mlir::Type type, int64_t vectorBytes)
      : b(builder), loc(loc), emitter(emitter), loops(loops), type(type),
        vector(mlir::VectorType::get(vectorBytes * 8 / static_cast<int64_t>(type.getIntOrFloatBitWidth()), type)) {}

  /// Rows of features in memory: element (i, j) is at start + i * stride + j.
  struct Rows {
    mlir::Value memory;
    mlir::Value start; ///< i64: of the tile's row 0.
    int64_t stride = 0;
    mlir::Value last; ///< i64: the number of the last row that may be read.
  };

  /// For all c < count (i64), and up to the next multiple of kProductColumns:
  ///     scores[c, lane] = sum over d < width of held[d, lane] * streamed[min(c, last), d]
  void multiply(mlir::Value held, const Rows &streamed, int64_t width, mlir::Value count, mlir::Value scores);

  /// For all d < width: results[d, lane] = results[d, lane] * scales[lane] + sum over c < count of weights[c, lane] *
  /// streamed[c, d]. Without `scales`, results are not scaled.
  void add(mlir::Value weights, const Rows &streamed, int64_t width, mlir::Value count, mlir::Value results,
           mlir::Value scales);

private:
  using Vectors = llvm::SmallVector<mlir::Value>;

  int64_t getLanes() const { return vector.getNumElements(); }
  void addFeatures(mlir::Value weights, const Rows &streamed, mlir::Value count, mlir::Value results,
                   mlir::Value scales, mlir::Value firstLane, mlir::Value firstFeature, int64_t features);
  mlir::Value address(mlir::Value memory, mlir::Value position);
  mlir::Value mul(mlir::Value x, int64_t y);
  mlir::Value plus(mlir::Value x, mlir::Value y);
  mlir::Value plus(mlir::Value x, int64_t y);
  mlir::Value load(mlir::Value memory, mlir::Value position);
  void store(mlir::Value memory, mlir::Value position, mlir::Value value);
  /// The element at the address, in all lanes.
  mlir::Value splat(mlir::Value address);
  Vectors zeros(size_t count);

  mlir::OpBuilder &b;
  mlir::Location loc;
  ElementEmitter &emitter;
  LoopEmitter &loops;
  mlir::Type type;
  mlir::VectorType vector;
};

} // namespace spmdc
