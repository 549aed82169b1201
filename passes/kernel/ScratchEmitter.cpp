//===- ScratchEmitter.cpp - accumulators and caches of kernels ------------===//

#include "passes/kernel/ScratchEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace spmdc {

unsigned byteSizeOf(Type elementType) { return std::max(8u, memoryType(elementType).getIntOrFloatBitWidth()) / 8; }

Type elementTypeOf(Value array) { return cast<ArrayType>(array.getType()).getElementType(); }

ReductionKind reductionKindOf(Operation *op) {
  auto reduce = dyn_cast<ReduceOp>(op);
  return reduce ? reduce.getKind() : cast<CumulativeOp>(op).getKind();
}

Type accumulatorTypeOf(Operation *op) {
  Type type = elementTypeOf(op->getResult(0));
  return isa<FloatType>(type) ? registerType(type) : type;
}

Value emitIdentity(OpBuilder &builder, Location loc, Operation *op) {
  return elementIdentity(builder, loc, elementTypeOf(op->getResult(0)), reductionKindOf(op));
}

Value loadCoordinate(OpBuilder &builder, Location loc, Value coordinates, unsigned axis) {
  Value address =
      builder.create<LLVM::GEPOp>(loc, LLVM::LLVMPointerType::get(builder.getContext()), builder.getI64Type(),
                                  coordinates, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(axis)}, /*inbounds=*/true);
  return builder.create<LLVM::LoadOp>(loc, builder.getI64Type(), address);
}

Value ScratchEmitter::allocate(Type elementType, int64_t count, unsigned alignment) {
  Value size = b.create<arith::ConstantOp>(loc, b.getI64IntegerAttr(count));
  return b.create<LLVM::AllocaOp>(loc, LLVM::LLVMPointerType::get(b.getContext()), memoryType(elementType), size,
                                  alignment);
}

Value ScratchEmitter::address(Value memory, Type elementType, Value position) {
  return b.create<LLVM::GEPOp>(loc, memory.getType(), memoryType(elementType), memory, ArrayRef<LLVM::GEPArg>{position},
                               /*inbounds=*/true);
}

Value ScratchEmitter::load(Value memory, Type elementType, Value position) {
  auto load = b.create<LLVM::LoadOp>(loc, memoryType(elementType), address(memory, elementType, position),
                                     byteSizeOf(elementType));
  if (annotate)
    annotate(load);
  return fromMemory(b, loc, elementType, load);
}

void ScratchEmitter::store(Value memory, Type elementType, Value position, Value value) {
  auto store = b.create<LLVM::StoreOp>(loc, toMemory(b, loc, elementType, value),
                                       address(memory, elementType, position), byteSizeOf(elementType));
  if (annotate)
    annotate(store);
}

} // namespace spmdc
