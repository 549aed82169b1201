//===- VectorProducts.cpp - products of small tiles -----------------------===//

#include "passes/cpu/VectorProducts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace spmdc {

/// Vectors of rows for which an element of the streamed factor is read once.
static constexpr int64_t kVectors = 2;

void VectorProducts::multiply(Value held, const Rows &streamed, int64_t width, Value count, Value scores) {
  Value zero = emitter.emitConstant(0);
  auto lanes = loops.open(zero, emitter.emitConstant(kStreamedRows), kVectors * getLanes());
  lanes.isPlain = true;
  auto columns = loops.open(zero, count, kProductColumns);
  columns.isPlain = true;
  SmallVector<Value> starts;
  for (int64_t i = 0; i < kProductColumns; ++i) {
    Value column = b.create<arith::MinSIOp>(loc, plus(columns.iv, i), streamed.last);
    starts.push_back(address(streamed.memory, plus(streamed.start, mul(column, streamed.stride))));
  }
  auto features = loops.open(zero, emitter.emitConstant(width), 1, zeros(kProductColumns * kVectors));
  features.isPlain = true;
  Vectors rows, sums;
  for (int64_t v = 0; v < kVectors; ++v)
    rows.push_back(load(held, plus(plus(mul(features.iv, kStreamedRows), lanes.iv), v * getLanes())));
  for (int64_t i = 0; i < kProductColumns; ++i) {
    Value element = splat(address(starts[i], features.iv));
    for (int64_t v = 0; v < kVectors; ++v)
      sums.push_back(b.create<LLVM::FMulAddOp>(loc, element, rows[v], features.carried[i * kVectors + v]));
  }
  ValueRange results = loops.close(features, sums);
  for (int64_t i = 0; i < kProductColumns; ++i)
    for (int64_t v = 0; v < kVectors; ++v)
      store(scores, plus(plus(mul(plus(columns.iv, i), kStreamedRows), lanes.iv), v * getLanes()),
            results[i * kVectors + v]);
  loops.close(columns);
  loops.close(lanes);
}

void VectorProducts::add(Value weights, const Rows &streamed, int64_t width, Value count, Value results, Value scales) {
  auto lanes = loops.open(emitter.emitConstant(0), emitter.emitConstant(kStreamedRows), kVectors * getLanes());
  lanes.isPlain = true;
  int64_t grouped = width / kProductColumns * kProductColumns;
  if (grouped > 0) {
    auto features = loops.open(emitter.emitConstant(0), emitter.emitConstant(grouped), kProductColumns);
    features.isPlain = true;
    addFeatures(weights, streamed, count, results, scales, lanes.iv, features.iv, kProductColumns);
    loops.close(features);
  }
  if (width > grouped)
    addFeatures(weights, streamed, count, results, scales, lanes.iv, emitter.emitConstant(grouped), width - grouped);
  loops.close(lanes);
}

void VectorProducts::addFeatures(Value weights, const Rows &streamed, Value count, Value results, Value scales,
                                 Value firstLane, Value firstFeature, int64_t features) {
  Value start = plus(streamed.start, firstFeature);
  auto columns = loops.open(emitter.emitConstant(0), count, 1, zeros(features * kVectors));
  columns.isPlain = true;
  Vectors rows, sums;
  for (int64_t v = 0; v < kVectors; ++v)
    rows.push_back(load(weights, plus(plus(mul(columns.iv, kStreamedRows), firstLane), v * getLanes())));
  Value row = address(streamed.memory, plus(start, mul(columns.iv, streamed.stride)));
  for (int64_t i = 0; i < features; ++i) {
    Value element = splat(address(row, emitter.emitConstant(i)));
    for (int64_t v = 0; v < kVectors; ++v)
      sums.push_back(b.create<LLVM::FMulAddOp>(loc, element, rows[v], columns.carried[i * kVectors + v]));
  }
  ValueRange added = loops.close(columns, sums);
  Vectors factors;
  for (int64_t v = 0; v < kVectors && scales; ++v)
    factors.push_back(load(scales, plus(firstLane, v * getLanes())));
  for (int64_t i = 0; i < features; ++i)
    for (int64_t v = 0; v < kVectors; ++v) {
      Value position = plus(plus(mul(plus(firstFeature, i), kStreamedRows), firstLane), v * getLanes());
      Value before = load(results, position), sum = added[i * kVectors + v];
      store(results, position,
            scales ? b.create<LLVM::FMulAddOp>(loc, before, factors[v], sum).getResult()
                   : b.create<arith::AddFOp>(loc, before, sum).getResult());
    }
}

Value VectorProducts::address(Value memory, Value position) {
  return b.create<LLVM::GEPOp>(loc, memory.getType(), type, memory, ArrayRef<LLVM::GEPArg>{position},
                               /*inbounds=*/true);
}

Value VectorProducts::mul(Value x, int64_t y) { return b.create<arith::MulIOp>(loc, x, emitter.emitConstant(y)); }

Value VectorProducts::plus(Value x, Value y) { return b.create<arith::AddIOp>(loc, x, y); }

Value VectorProducts::plus(Value x, int64_t y) { return y == 0 ? x : plus(x, emitter.emitConstant(y)); }

Value VectorProducts::load(Value memory, Value position) {
  return b.create<LLVM::LoadOp>(loc, vector, address(memory, position), getLanes() * type.getIntOrFloatBitWidth() / 8);
}

void VectorProducts::store(Value memory, Value position, Value value) {
  b.create<LLVM::StoreOp>(loc, value, address(memory, position), getLanes() * type.getIntOrFloatBitWidth() / 8);
}

Value VectorProducts::splat(Value address) {
  Value element = b.create<LLVM::LoadOp>(loc, type, address, type.getIntOrFloatBitWidth() / 8);
  Value none = b.create<LLVM::UndefOp>(loc, vector);
  Value first = b.create<LLVM::InsertElementOp>(loc, none, element, emitter.emitConstant(0));
  return b.create<LLVM::ShuffleVectorOp>(loc, first, none, SmallVector<int32_t>(getLanes(), 0));
}

VectorProducts::Vectors VectorProducts::zeros(size_t count) {
  Value zero = b.create<arith::ConstantOp>(loc, b.getZeroAttr(vector));
  return Vectors(count, zero);
}

} // namespace spmdc
