//===- TileProducts.cpp - products of small tiles on a matrix unit --------===//

#include "passes/cpu/TileProducts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace spmdc {
namespace {

/// Rows of a register, and elements of a row: of f32, and of bf16, which are a step of a product.
constexpr int64_t kRows = 16, kSums = 16, kStep = 32;
constexpr int64_t kRowBytes = 64;
static_assert(kStreamedRows == 2 * kRows && kMatrixColumns % (2 * kRows) == 0 && kMatrixColumns % kStep == 0);

} // namespace

TileProducts::TileProducts(OpBuilder &builder, Location loc, ElementEmitter &emitter, LoopEmitter &loops,
                           ScratchEmitter &scratch)
    : b(builder), loc(loc), emitter(emitter), loops(loops), bits(b.getIntegerType(16)), f32(b.getF32Type()),
      pairVector(VectorType::get(kSums, b.getI32Type())), halfVector(VectorType::get(kSums, bits)),
      floatVector(VectorType::get(kSums, f32)) {
  turned = scratch.allocate(bits, kStreamedRows * kMatrixColumns, kRowBytes);
  shapes = scratch.allocate(b.getIntegerType(8), kRowBytes, kRowBytes);
}

bool TileProducts::canMultiply(const StreamedProducts &products) {
  auto isFull = [](const StreamedProducts::Factor &factor) {
    return elementTypeOf(factor.array).isBF16() && factor.width % kStep == 0;
  };
  return llvm::all_of(
             products.scores,
             [&](const StreamedProducts::Score &score) { return isFull(score.held) && isFull(score.streamed); }) &&
         llvm::all_of(products.results, [&](const StreamedProducts::Result &result) {
           return !result.streamed || isFull(*result.streamed);
         });
}

void TileProducts::enter() {
  // Palette 1; eight registers of 64 bytes a row (16-bit numbers at byte 16) and 16 rows (bytes at 48).
  Type i8 = b.getIntegerType(8);
  auto set = [&](int64_t byte, int64_t value) {
    Value constant = b.create<arith::ConstantOp>(loc, b.getIntegerAttr(i8, value));
    b.create<LLVM::StoreOp>(loc, constant, address(shapes, i8, number(byte)));
  };
  for (int64_t byte = 0; byte < kRowBytes; ++byte)
    set(byte, byte == 0                                  ? 1
              : byte >= 16 && byte < 32 && byte % 2 == 0 ? kRowBytes
              : byte >= 48 && byte < 56                  ? kRows
                                                         : 0);
  call("llvm.x86.ldtilecfg", {shapes});
}

void TileProducts::leave() { call("llvm.x86.tilerelease", {}); }

Value TileProducts::placeOfHeld(Value feature, Value lane, int64_t width) {
  // [half of the lanes][pair of features][lane][2]
  auto divide = [&](Value x, int64_t y) -> Value { return b.create<arith::DivUIOp>(loc, x, number(y)); };
  auto rest = [&](Value x, int64_t y) -> Value { return b.create<arith::RemUIOp>(loc, x, number(y)); };
  Value row = plus(times(divide(lane, kRows), width / 2), divide(feature, 2));
  return plus(times(row, kStep), plus(times(rest(lane, kRows), 2), rest(feature, 2)));
}

Value TileProducts::placeOfResult(Value feature, Value lane, int64_t width) {
  return plus(times(lane, width), feature);
}

TileProducts::Rows TileProducts::readWhole(const Rows &rows, int64_t width, Value count, Value scratch) {
  Value isFull = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, count, number(kMatrixColumns));
  Value copied = b.create<arith::SelectOp>(loc, isFull, number(0), count);
  auto columns = loops.open(number(0), copied, 1);
  columns.isPlain = true;
  for (int64_t feature = 0; feature < width; feature += kSums) {
    Value from = plus(plus(rows.start, b.create<arith::MulIOp>(loc, columns.iv, rows.stride)), number(feature));
    storeVector(loadVector(halfVector, address(rows.memory, bits, from)),
                address(scratch, bits, plus(times(columns.iv, width), number(feature))));
  }
  loops.close(columns);
  auto choose = [&](Value full, Value part) -> Value { return b.create<arith::SelectOp>(loc, isFull, full, part); };
  return {choose(rows.memory, scratch), choose(rows.start, number(0)), choose(rows.stride, number(width))};
}

void TileProducts::pairColumns(const Rows &rows, int64_t width, Value count, Value pairs) {
  Value zeros = b.create<arith::ConstantOp>(loc, b.getZeroAttr(cast<ShapedType>(halfVector)));
  Value last = b.create<arith::SubIOp>(loc, count, number(1));
  auto numbers = loops.open(number(0), number(kMatrixColumns / 2), 1);
  numbers.isPlain = true;
  Value starts[2], isThere[2];
  for (int64_t i = 0; i < 2; ++i) {
    Value column = plus(times(numbers.iv, 2), number(i));
    isThere[i] = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, column, count);
    Value read = b.create<arith::MinSIOp>(loc, column, last);
    starts[i] = plus(rows.start, b.create<arith::MulIOp>(loc, read, rows.stride));
  }
  for (int64_t feature = 0; feature < width; feature += kSums) {
    Value halves[2];
    for (int64_t i = 0; i < 2; ++i) {
      Value loaded = loadVector(halfVector, address(rows.memory, bits, plus(starts[i], number(feature))));
      halves[i] = b.create<LLVM::SelectOp>(loc, isThere[i], loaded, zeros);
    }
    // [16 features][pair of columns][feature][2]
    Value row = plus(numbers.iv, number(feature / kSums * (kMatrixColumns / 2)));
    storeVector(pair(halves[0], halves[1]), address(pairs, bits, times(row, kStep)));
  }
  loops.close(numbers);
}

void TileProducts::multiply(Value held, const Rows &streamed, int64_t width, Value scores) {
  Value rowStride = times(streamed.stride, 2), sumStride = number(kStreamedRows * 4);
  auto columns = loops.open(number(0), number(kMatrixColumns), 2 * kRows);
  columns.isPlain = true;
  for (int64_t i = 0; i < 4; ++i)
    call("llvm.x86.tilezero", {tile(i)});
  Value first = plus(streamed.start, b.create<arith::MulIOp>(loc, columns.iv, streamed.stride));
  addSteps(
      width / kStep,
      [&](int64_t half, Value step) {
        Value row = plus(first, times(streamed.stride, half * kRows));
        return address(streamed.memory, bits, plus(row, times(step, kStep)));
      },
      rowStride,
      [&](int64_t half, Value step) {
        return address(held, bits, times(plus(times(step, kRows), number(half * width / 2)), kStep));
      });
  for (int64_t i = 0; i < 4; ++i) {
    Value row = plus(columns.iv, number(i / 2 * kRows));
    storeTile(i, address(scores, f32, plus(times(row, kStreamedRows), number(i % 2 * kSums))), sumStride);
  }
  loops.close(columns);
}

void TileProducts::turnWeights(Value weights, Value count) {
  Value zeros = b.create<arith::ConstantOp>(loc, b.getZeroAttr(cast<ShapedType>(floatVector)));
  auto rest = loops.open(count, number(kMatrixColumns), 1);
  rest.isPlain = true;
  for (int64_t lane = 0; lane < kStreamedRows; lane += kSums)
    storeVector(zeros, address(weights, f32, plus(times(rest.iv, kStreamedRows), number(lane))));
  loops.close(rest);
  auto lanes = loops.open(number(0), number(kStreamedRows), kSums);
  lanes.isPlain = true;
  auto columns = loops.open(number(0), number(kMatrixColumns), kStep);
  columns.isPlain = true;
  Type narrow = VectorType::get(kSums, b.getBF16Type());
  auto load = [&](int64_t column) -> Value {
    Value position = plus(times(plus(columns.iv, number(column)), kStreamedRows), lanes.iv);
    Value rounded = b.create<LLVM::FPTruncOp>(loc, narrow, loadVector(floatVector, address(weights, f32, position)));
    return b.create<LLVM::BitcastOp>(loc, halfVector, rounded);
  };
  SmallVector<Value> pairs;
  for (int64_t column = 0; column < kStep; column += 2)
    pairs.push_back(pair(load(column), load(column + 1)));
  for (auto [number, row] : llvm::enumerate(transpose(pairs))) {
    Value lane = plus(lanes.iv, this->number(static_cast<int64_t>(number)));
    storeVector(row, address(turned, bits, plus(times(lane, kMatrixColumns), columns.iv)));
  }
  loops.close(columns);
  loops.close(lanes);
}

void TileProducts::scaleResults(Value results, int64_t width, Value scales) {
  auto lanes = loops.open(number(0), number(kStreamedRows), 1);
  lanes.isPlain = true;
  Value scale = b.create<LLVM::LoadOp>(loc, f32, address(scales, f32, lanes.iv), 4);
  Value none = b.create<LLVM::UndefOp>(loc, floatVector);
  Value first = b.create<LLVM::InsertElementOp>(loc, none, scale, number(0));
  Value splat = b.create<LLVM::ShuffleVectorOp>(loc, first, none, SmallVector<int32_t>(kSums, 0));
  for (int64_t feature = 0; feature < width; feature += kSums) {
    Value place = address(results, f32, placeOfResult(number(feature), lanes.iv, width));
    storeVector(b.create<arith::MulFOp>(loc, loadVector(floatVector, place), splat), place);
  }
  loops.close(lanes);
}

void TileProducts::add(Value pairs, int64_t width, Value results, Value scales) {
  if (scales)
    scaleResults(results, width, scales);
  Value sumStride = number(width * 4);
  auto features = loops.open(number(0), number(width), 2 * kSums);
  features.isPlain = true;
  auto place = [&](int64_t i) {
    Value feature = plus(features.iv, number(i % 2 * kSums));
    return address(results, f32, placeOfResult(feature, number(i / 2 * kRows), width));
  };
  for (int64_t i = 0; i < 4; ++i)
    loadTile(i, place(i), sumStride);
  addSteps(
      kMatrixColumns / kStep,
      [&](int64_t half, Value step) {
        return address(turned, bits, plus(number(half * kRows * kMatrixColumns), times(step, kStep)));
      },
      number(kMatrixColumns * 2),
      [&](int64_t half, Value step) {
        // A row of pairs has 16 features, so 16 features have kMatrixColumns / 2 rows.
        Value row = plus(times(features.iv, kMatrixColumns / 2 / kSums), number(half * kMatrixColumns / 2));
        return address(pairs, bits, times(plus(row, times(step, kRows)), kStep));
      });
  for (int64_t i = 0; i < 4; ++i)
    storeTile(i, place(i), sumStride);
  loops.close(features);
}

void TileProducts::addSteps(int64_t steps, llvm::function_ref<Value(int64_t, Value)> rowsAt, Value rowStride,
                            llvm::function_ref<Value(int64_t, Value)> pairsAt) {
  Value pairStride = number(kRowBytes);
  auto loop = loops.open(number(0), number(steps), 1);
  loop.isPlain = true;
  for (int64_t half = 0; half < 2; ++half)
    loadTile(6 + half, pairsAt(half, loop.iv), pairStride);
  for (int64_t half = 0; half < 2; ++half) {
    loadTile(4 + half, rowsAt(half, loop.iv), rowStride);
    for (int64_t other = 0; other < 2; ++other)
      call("llvm.x86.tdpbf16ps", {tile(2 * half + other), tile(4 + half), tile(6 + other)});
  }
  loops.close(loop);
}

//===----------------------------------------------------------------------===//
// Vectors and registers
//===----------------------------------------------------------------------===//

Value TileProducts::pair(Value lower, Value upper) {
  Value low = b.create<LLVM::ZExtOp>(loc, pairVector, lower), high = b.create<LLVM::ZExtOp>(loc, pairVector, upper);
  Value sixteen =
      b.create<arith::ConstantOp>(loc, DenseElementsAttr::get(cast<ShapedType>(pairVector), b.getI32IntegerAttr(16)));
  return b.create<arith::OrIOp>(loc, low, b.create<arith::ShLIOp>(loc, high, sixteen));
}

SmallVector<Value> TileProducts::transpose(SmallVector<Value> rows) {
  // Each round exchanges one bit of the number of a row with that bit of the position in it.
  for (int64_t bit = 1; bit < kRows; bit *= 2) {
    SmallVector<int32_t> lower, upper;
    for (int64_t i = 0; i < kSums; ++i) {
      lower.push_back(static_cast<int32_t>(i & bit ? kSums + (i ^ bit) : i));
      upper.push_back(static_cast<int32_t>(i & bit ? kSums + i : i | bit));
    }
    SmallVector<Value> next(rows);
    for (int64_t i = 0; i < kRows; ++i)
      if (!(i & bit)) {
        next[i] = b.create<LLVM::ShuffleVectorOp>(loc, rows[i], rows[i | bit], lower);
        next[i | bit] = b.create<LLVM::ShuffleVectorOp>(loc, rows[i], rows[i | bit], upper);
      }
    rows = next;
    // LLVM tries to join a shuffle with all those behind it: over four rounds that is a third of the time to compile
    // attention. It does find better instructions for the two rounds of a half.
    if (bit == 2)
      for (Value &row : rows)
        row = hide(row);
  }
  return rows;
}

Value TileProducts::hide(Value vector) {
  Type floats = VectorType::get(cast<VectorType>(vector.getType()).getShape(), b.getF32Type());
  Value bits = b.create<arith::BitcastOp>(loc, floats, vector);
  Value hidden = b.create<LLVM::CallIntrinsicOp>(loc, floats, "llvm.arithmetic.fence", ValueRange(bits)).getResult(0);
  return b.create<arith::BitcastOp>(loc, vector.getType(), hidden);
}

Value TileProducts::tile(int64_t number) {
  return b.create<arith::ConstantOp>(loc, b.getIntegerAttr(b.getIntegerType(8), number));
}

void TileProducts::loadTile(int64_t number, Value address, Value stride) {
  call("llvm.x86.tileloadd64", {tile(number), address, stride});
}

void TileProducts::storeTile(int64_t number, Value address, Value stride) {
  call("llvm.x86.tilestored64", {tile(number), address, stride});
}

void TileProducts::call(llvm::StringRef intrinsic, ValueRange operands) {
  b.create<LLVM::CallIntrinsicOp>(loc, TypeRange(), intrinsic, operands);
}

Value TileProducts::address(Value memory, Type type, Value position) {
  return b.create<LLVM::GEPOp>(loc, memory.getType(), type, memory, ArrayRef<LLVM::GEPArg>{position},
                               /*inbounds=*/true);
}

Value TileProducts::loadVector(Type vector, Value address) {
  return b.create<LLVM::LoadOp>(loc, vector, address, cast<VectorType>(vector).getElementTypeBitWidth() / 8);
}

void TileProducts::storeVector(Value value, Value address) {
  b.create<LLVM::StoreOp>(loc, value, address, cast<VectorType>(value.getType()).getElementTypeBitWidth() / 8);
}

Value TileProducts::plus(Value x, Value y) { return b.create<arith::AddIOp>(loc, x, y); }

Value TileProducts::times(Value x, int64_t y) {
  return y == 1 ? x : b.create<arith::MulIOp>(loc, x, number(y)).getResult();
}

} // namespace spmdc
