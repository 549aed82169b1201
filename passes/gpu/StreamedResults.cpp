//===- StreamedResults.cpp - what a block of a streamed kernel stores -----===//
//
// The size of a product's row is a multiple of 8 features, so units of as many are aligned. Results of 16 bits are
// stored 16 bytes at a time: four lanes have pairs of features of the same row, and exchange them.
//

#include "passes/gpu/StreamedKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace spmdc {

void StreamedKernel::atRow(int64_t rowNumber, llvm::function_ref<void()> emitBody) {
  auto bound = [&] {
    emitter.bind(products.rowVar, threadRows[rowNumber]);
    emitBody();
  };
  if (products.rows % tiles.getBlockRows() != 0)
    code.ifThen(code.isLess(threadRows[rowNumber], products.rows), bound);
  else
    code.inScope(bound);
}

void StreamedKernel::storeResults() {
  if (products.softmax)
    for (int64_t i = 0; i < getThreadRows(); ++i)
      set(sums, i, reduceOverLanes(ReductionKind::sum, get(sums, i)));
  for (auto [number, result] : llvm::enumerate(products.results))
    result.streamed ? storeProduct(result, number) : storeRows(result, number);
}

void StreamedKernel::storeProduct(const StreamedProducts::Result &result, unsigned number) {
  Type type = elementTypeOf(body.outputs[number]);
  int64_t groups = llvm::alignTo(result.width, kMmaDepth) / kMmaColumns;
  for (int64_t row = 0; row < getThreadRows(); ++row) {
    Value scale = products.softmax ? b.create<arith::DivFOp>(loc, f32(1), get(sums, row)).getResult() : Value();
    if (double factor = findResultFactor(result).second; factor != 1)
      scale = f32(factor);
    auto getPair = [&](int64_t g) {
      int64_t first = ((row / 2) * groups + g) * 4 + (row % 2) * 2;
      std::array<Value, 2> pair = {get(accumulators[number], first), get(accumulators[number], first + 1)};
      for (Value &value : pair)
        if (scale)
          value = b.create<arith::MulFOp>(loc, value, scale);
      return pair;
    };
    if (type.isF32()) {
      atRow(row, [&] {
        for (int64_t g = 0; g * kMmaColumns < result.width; ++g)
          code.inScope([&] { storePair(result, number, g, getPair(g)); });
      });
      continue;
    }
    for (int64_t first = 0; first * kMmaColumns < result.width; first += kUnitWords) {
      std::array<Value, kUnitWords> words;
      for (auto [i, word] : llvm::enumerate(words)) {
        int64_t g = first + static_cast<int64_t>(i);
        bool isInside = g * kMmaColumns < result.width;
        auto pair = isInside ? getPair(g) : std::array<Value, 2>();
        word = isInside ? cores->pack(type, pair[0], pair[1])
                        : b.create<arith::ConstantOp>(loc, b.getI32IntegerAttr(0)).getResult();
      }
      words = transposeQuads(words); // All lanes do, also those behind the last row.
      atRow(row, [&] { storeUnit(result, number, first, words); });
    }
  }
}

std::array<Value, StreamedKernel::kUnitWords> StreamedKernel::transposeQuads(std::array<Value, kUnitWords> words) {
  // First in the 2 x 2 words of two lanes, then the 2 x 2 blocks of four.
  for (int64_t distance : {1, 2}) {
    Value bit = b.create<arith::AndIOp>(loc, pairColumn, emitter.emitConstant(2 * distance));
    Value isUpper = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, bit, emitter.emitConstant(0));
    for (int64_t i = 0; i < kUnitWords; ++i) {
      if (i & distance)
        continue;
      Value &lower = words[i], &upper = words[i + distance];
      Value sent = b.create<arith::SelectOp>(loc, isUpper, lower, upper);
      Value received = code.shuffle(sent, gpu::ShuffleMode::XOR, distance);
      lower = b.create<arith::SelectOp>(loc, isUpper, received, lower);
      upper = b.create<arith::SelectOp>(loc, isUpper, upper, received);
    }
  }
  return words;
}

void StreamedKernel::storeUnit(const StreamedProducts::Result &result, unsigned number, int64_t firstGroup,
                               ArrayRef<Value> words) {
  // The lane's group: its pair of columns has the number of one of four groups.
  Value feature = code.add(code.mul(pairColumn, kMmaColumns / 2), emitter.emitConstant(firstGroup * kMmaColumns));
  auto store = [&] {
    emitter.bind(products.featureVars.at(result.width), feature);
    Value unit = b.create<LLVM::UndefOp>(loc, VectorType::get(kUnitWords, b.getI32Type()));
    for (auto [i, word] : llvm::enumerate(words))
      unit = b.create<LLVM::InsertElementOp>(loc, unit, word, emitter.emitConstant(static_cast<int64_t>(i)));
    b.create<LLVM::StoreOp>(loc, unit, addressOf(result, number), /*alignment=*/16);
  };
  if ((firstGroup + kUnitWords) * kMmaColumns > result.width)
    code.ifThen(code.isLess(feature, result.width), store);
  else
    code.inScope(store);
}

void StreamedKernel::storePair(const StreamedProducts::Result &result, unsigned number, int64_t group,
                               std::array<Value, 2> pair) {
  emitter.bind(products.featureVars.at(result.width), code.add(pairColumn, emitter.emitConstant(group * kMmaColumns)));
  Value both = b.create<LLVM::UndefOp>(loc, VectorType::get(2, b.getF32Type()));
  for (auto [i, value] : llvm::enumerate(pair))
    both = b.create<LLVM::InsertElementOp>(loc, both, value, emitter.emitConstant(static_cast<int64_t>(i)));
  b.create<LLVM::StoreOp>(loc, both, addressOf(result, number), /*alignment=*/8);
}

Value StreamedKernel::addressOf(const StreamedProducts::Result &result, unsigned number) {
  Type type = memoryType(elementTypeOf(body.outputs[number]));
  return b.create<LLVM::GEPOp>(loc, outputs[number].getType(), type, outputs[number],
                               ArrayRef<LLVM::GEPArg>{emitter.emitIndex(result.position)}, /*inbounds=*/true);
}

void StreamedKernel::storeRows(const StreamedProducts::Result &result, unsigned number) {
  auto reduce = cast<ReduceOp>(result.op);
  Type type = elementTypeOf(body.outputs[number]);
  for (int64_t row = 0; row < getThreadRows(); ++row) {
    Value value;
    if (!products.softmax)
      value = reduceOverLanes(reduce.getKind(), get(accumulators[number], row));
    else if (reduce == products.softmax->max)
      value = get(maxima, row);
    else {
      // Other kernels read the maximum as it is stored: the sum must be that of exponentials relative to this value.
      auto stored = llvm::find_if(
          products.results, [&](const StreamedProducts::Result &other) { return other.op == products.softmax->max; });
      Type storedType = stored == products.results.end()
                            ? Type(b.getF32Type())
                            : elementTypeOf(body.outputs[stored - products.results.begin()]);
      Value max = get(maxima, row);
      Value rounded = roundElement(b, loc, storedType, max, kGpuRounding);
      Value difference = b.create<arith::SubFOp>(loc, max, rounded);
      Value isFinite = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::ORD, difference, difference);
      difference = b.create<arith::SelectOp>(loc, isFinite, difference, f32(0));
      value = b.create<arith::MulFOp>(loc, get(sums, row),
                                      cores->exp2(b.create<arith::MulFOp>(loc, difference, f32(kLog2E))));
    }
    atRow(row, [&] {
      Value isFirst = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, pairColumn, emitter.emitConstant(0));
      code.ifThen(isFirst, [&] {
        b.create<LLVM::StoreOp>(loc, toMemory(b, loc, type, roundElement(b, loc, type, value, kGpuRounding)),
                                addressOf(result, number), byteSizeOf(type));
      });
    });
  }
}

} // namespace spmdc
