//===- TensorCores.cpp - products of tiles on matrix units ----------------===//

#include "passes/gpu/TensorCores.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace spmdc {

TensorCores::TensorCores(OpBuilder &b, Location loc, Value lane) : b(b), loc(loc) {
  auto rest = [&](Value x, int64_t y) -> Value { return b.create<arith::RemUIOp>(loc, x, constant(y)); };
  auto quotient = [&](Value x, int64_t y) -> Value { return b.create<arith::DivUIOp>(loc, x, constant(y)); };
  laneInSixteen = rest(lane, 16);
  laneInEight = rest(lane, 8);
  upperHalf = quotient(lane, 16);
  oddQuarter = rest(quotient(lane, 8), 2);
}

Value TensorCores::constant(int64_t value) { return b.create<arith::ConstantOp>(loc, b.getI64IntegerAttr(value)); }

Value TensorCores::address(const SharedTile &tile, Value row, Value column, int64_t offset) {
  Value position = b.create<arith::AddIOp>(loc, b.create<arith::MulIOp>(loc, row, constant(tile.pitch)), column);
  Type pointer = tile.pointer.getType(), element = b.getI16Type();
  Value start = b.create<LLVM::GEPOp>(loc, pointer, element, tile.pointer, ArrayRef<LLVM::GEPArg>{position},
                                      /*inbounds=*/true);
  // The constant part comes last, so that it is a part of the instruction.
  return b.create<LLVM::GEPOp>(loc, pointer, element, start, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)},
                               /*inbounds=*/true);
}

std::array<Value, 4> TensorCores::loadMatrices(Value pointer, bool isTransposed) {
  Type i32 = b.getI32Type();
  auto type = LLVM::LLVMStructType::getLiteral(b.getContext(), {i32, i32, i32, i32});
  Value all =
      b.create<NVVM::LdMatrixOp>(loc, type, pointer, 4, isTransposed ? NVVM::MMALayout::col : NVVM::MMALayout::row);
  std::array<Value, 4> words;
  for (int64_t i = 0; i < 4; ++i)
    words[i] = b.create<LLVM::ExtractValueOp>(loc, all, i);
  return words;
}

TensorCores::Left TensorCores::loadLeft(const SharedTile &tile, Value firstRow, int64_t row, int64_t depth) {
  Value here = b.create<arith::AddIOp>(loc, firstRow, laneInSixteen);
  Value column = b.create<arith::MulIOp>(loc, upperHalf, constant(8));
  return loadMatrices(address(tile, here, column, row * tile.pitch + depth), /*isTransposed=*/false);
}

std::array<TensorCores::Right, 2> TensorCores::loadRight(const SharedTile &tile, int64_t column, int64_t depth,
                                                         bool isTransposed) {
  Value eight = constant(8), pointer;
  if (isTransposed)
    pointer = address(tile, laneInSixteen, b.create<arith::MulIOp>(loc, upperHalf, eight), depth * tile.pitch + column);
  else
    pointer = address(tile, b.create<arith::AddIOp>(loc, b.create<arith::MulIOp>(loc, upperHalf, eight), laneInEight),
                      b.create<arith::MulIOp>(loc, oddQuarter, eight), column * tile.pitch + depth);
  std::array<Value, 4> words = loadMatrices(pointer, isTransposed);
  return {Right{words[0], words[1]}, Right{words[2], words[3]}};
}

TensorCores::Results TensorCores::multiply(Type elementType, const Left &left, const Right &right,
                                           const Results &results) {
  Type f32 = b.getF32Type();
  auto type = LLVM::LLVMStructType::getLiteral(b.getContext(), {f32, f32, f32, f32});
  bool isBf16 = elementType.isBF16();
  SmallVector<Value> a(left.begin(), left.end()), x(right.begin(), right.end()), c(results.begin(), results.end());
  if (!isBf16)
    for (SmallVector<Value> *words : {&a, &x})
      for (Value &word : *words)
        word = b.create<LLVM::BitcastOp>(loc, VectorType::get(2, elementType), word);
  SmallVector<Value> operands(a);
  llvm::append_range(operands, x);
  llvm::append_range(operands, c);
  // nvvm.mma.sync of LLVM 19 rejects bf16 of this shape.
  StringRef name = isBf16 ? "llvm.nvvm.mma.m16n8k16.row.col.bf16" : "llvm.nvvm.mma.m16n8k16.row.col.f32.f32";
  Value all = b.create<LLVM::CallIntrinsicOp>(loc, TypeRange(type), name, operands).getResult(0);
  Results sums;
  for (int64_t i = 0; i < 4; ++i)
    sums[i] = b.create<LLVM::ExtractValueOp>(loc, all, i);
  return sums;
}

Value TensorCores::pack(Type elementType, Value low, Value high) {
  // The instruction's first operand is the high half.
  const char *assembly = elementType.isBF16() ? "cvt.rn.bf16x2.f32 $0, $2, $1;" : "cvt.rn.f16x2.f32 $0, $2, $1;";
  return b
      .create<LLVM::InlineAsmOp>(loc, b.getI32Type(), ValueRange{low, high}, assembly, "=r,f,f",
                                 /*has_side_effects=*/false, /*is_align_stack=*/false, LLVM::AsmDialectAttr(),
                                 ArrayAttr())
      .getResult(0);
}

void TensorCores::startCopy(Value target, Value source, Value bytes) {
  if (!bytes)
    b.create<NVVM::CpAsyncOp>(loc, target, source, 16, NVVM::LoadCacheModifierKind::CG, Value());
  else
    b.create<LLVM::CallIntrinsicOp>(loc, TypeRange(), "llvm.nvvm.cp.async.cg.shared.global.16.s",
                                    ValueRange{target, source, bytes});
}

void TensorCores::finishCopies() {
  b.create<NVVM::CpAsyncCommitGroupOp>(loc);
  b.create<NVVM::CpAsyncWaitGroupOp>(loc, 0);
}

Value TensorCores::invert(Value x) {
  return b.create<LLVM::CallIntrinsicOp>(loc, TypeRange(b.getF32Type()), "llvm.nvvm.rcp.approx.ftz.f", ValueRange(x))
      .getResult(0);
}

Value TensorCores::isAny(Value condition) {
  Value all = b.create<arith::ConstantOp>(loc, b.getI32IntegerAttr(-1));
  return b
      .create<LLVM::CallIntrinsicOp>(loc, TypeRange(b.getI1Type()), "llvm.nvvm.vote.any.sync",
                                     ValueRange{all, condition})
      .getResult(0);
}

Value TensorCores::ballot(Value condition) {
  Value all = b.create<arith::ConstantOp>(loc, b.getI32IntegerAttr(-1));
  return b.create<NVVM::VoteBallotOp>(loc, b.getI32Type(), all, condition);
}

Value TensorCores::exp2(Value x) {
  return b.create<LLVM::CallIntrinsicOp>(loc, TypeRange(b.getF32Type()), "llvm.nvvm.ex2.approx.ftz.f", ValueRange(x))
      .getResult(0);
}

} // namespace spmdc
