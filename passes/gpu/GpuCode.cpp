//===- GpuCode.cpp - blocks, loops and warps ------------------------------===//

#include "passes/gpu/GpuCode.h"

#include "passes/gpu/ContinuedScans.h"
#include "passes/gpu/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace spmdc {
namespace {

constexpr unsigned kSharedSpace = 3;
/// The threads for which an atomic access is one: those of the GPU.
constexpr llvm::StringLiteral kDeviceScope = "device";

} // namespace

gpu::GPUFuncOp addKernelFunction(OpBuilder &b, plan::KernelOp kernel, gpu::GPUModuleOp target, int64_t blockThreads,
                                 int64_t residentBlocks, bool hasState) {
  Block &block = kernel.getBlock();
  unsigned buffers = block.getNumArguments() + block.getTerminator()->getNumOperands();
  SmallVector<Type> types(buffers + (hasState ? 2 : 1), LLVM::LLVMPointerType::get(b.getContext()));
  b.setInsertionPoint(target.getBody()->getTerminator());
  auto function = b.create<gpu::GPUFuncOp>(kernel.getLoc(), kernel.getSymName(), b.getFunctionType(types, {}));
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  function.setKnownBlockSize(std::array<int32_t, 3>{static_cast<int32_t>(blockThreads), 1, 1});
  if (residentBlocks)
    function->setAttr(kResidentThreadsAttrName,
                      b.getI32IntegerAttr(static_cast<int32_t>(residentBlocks * blockThreads)));
  b.setInsertionPointToStart(&function.getBody().front());
  return function;
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

void GpuCode::inScope(llvm::function_ref<void()> emitBody) {
  Region *region = emitter.getBlock()->getParent();
  Block *inner = b.createBlock(region, region->end()), *next = b.createBlock(region, region->end());
  b.setInsertionPointToEnd(emitter.getBlock());
  b.create<LLVM::BrOp>(loc, ValueRange(), inner);
  emitter.pushScope(inner);
  emitBody();
  b.setInsertionPointToEnd(emitter.getBlock());
  b.create<LLVM::BrOp>(loc, ValueRange(), next);
  emitter.popScope(next);
}

void GpuCode::ifThen(Value condition, llvm::function_ref<void()> emitBody) {
  Region *region = emitter.getBlock()->getParent();
  Block *inner = b.createBlock(region, region->end()), *next = b.createBlock(region, region->end());
  b.setInsertionPointToEnd(emitter.getBlock());
  b.create<LLVM::CondBrOp>(loc, condition, inner, next);
  emitter.pushScope(inner);
  emitBody();
  b.setInsertionPointToEnd(emitter.getBlock());
  b.create<LLVM::BrOp>(loc, ValueRange(), next);
  emitter.popScope(next);
}

void GpuCode::loop(Value low, Value high, Value step, llvm::function_ref<void(Value)> emitBody) {
  Region *region = emitter.getBlock()->getParent();
  Block *header = b.createBlock(region, region->end(), {b.getI64Type()}, {loc});
  Block *inner = b.createBlock(region, region->end()), *next = b.createBlock(region, region->end());
  b.setInsertionPointToEnd(emitter.getBlock());
  b.create<LLVM::BrOp>(loc, ValueRange(low), header);
  b.setInsertionPointToEnd(header);
  Value position = header->getArgument(0);
  b.create<LLVM::CondBrOp>(loc, isLess(position, high), inner, next);
  emitter.pushScope(inner);
  emitBody(position);
  b.setInsertionPointToEnd(emitter.getBlock());
  b.create<LLVM::BrOp>(loc, ValueRange(add(position, step)), header);
  emitter.popScope(next);
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

Value GpuCode::add(Value x, Value y) {
  return b.create<arith::AddIOp>(loc, x, y, arith::IntegerOverflowFlags::nsw | arith::IntegerOverflowFlags::nuw);
}

Value GpuCode::mul(Value x, int64_t y) {
  if (y == 1)
    return x;
  return b.create<arith::MulIOp>(loc, x, emitter.emitConstant(y),
                                 arith::IntegerOverflowFlags::nsw | arith::IntegerOverflowFlags::nuw);
}

Value GpuCode::isLess(Value x, Value y) { return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, x, y); }

std::pair<Value, Value> GpuCode::divRem(Value x, int64_t y, int64_t limit) {
  if (limit > INT32_MAX) {
    Value divisor = emitter.emitConstant(y);
    return {b.create<arith::DivUIOp>(loc, x, divisor), b.create<arith::RemUIOp>(loc, x, divisor)};
  }
  Value narrow = b.create<arith::TruncIOp>(loc, b.getI32Type(), x);
  Value divisor = b.create<arith::ConstantOp>(loc, b.getI32IntegerAttr(static_cast<int32_t>(y)));
  Value quotient = b.create<arith::DivUIOp>(loc, narrow, divisor);
  Value rest = b.create<arith::RemUIOp>(loc, narrow, divisor);
  return {b.create<arith::ExtUIOp>(loc, b.getI64Type(), quotient), b.create<arith::ExtUIOp>(loc, b.getI64Type(), rest)};
}

Value GpuCode::bindOuter(Value position, ArrayRef<IndexExpr> vars, ArrayRef<int64_t> shape) {
  int64_t limit = 1;
  for (int64_t size : shape)
    limit *= size;
  Value last;
  for (size_t d = shape.size(); d-- > 0;) {
    Value here = position;
    if (d > 0) {
      std::tie(position, here) = divRem(position, shape[d], limit);
      limit /= shape[d];
    }
    if (d + 1 == shape.size())
      last = here;
    else
      emitter.bind(vars[d], here);
  }
  return last;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value GpuCode::allocateShared(Type elementType, int64_t count) {
  OpBuilder outside = OpBuilder::atBlockBegin(module.getBody());
  auto type = LLVM::LLVMArrayType::get(memoryType(elementType), static_cast<unsigned>(count));
  auto global = outside.create<LLVM::GlobalOp>(loc, type, /*isConstant=*/false, LLVM::Linkage::Internal,
                                               symbol + "_shared" + std::to_string(sharedCount++), Attribute(),
                                               kSharedAlignment, kSharedSpace);
  return b.create<LLVM::AddressOfOp>(loc, global);
}

Value GpuCode::getLaunchShared(int64_t offset) {
  constexpr llvm::StringLiteral name = "launch_shared";
  auto global = module.lookupSymbol<LLVM::GlobalOp>(name);
  if (!global) {
    // A global array of size 0 without initializer: the memory that the launch requests.
    OpBuilder outside = OpBuilder::atBlockBegin(module.getBody());
    global = outside.create<LLVM::GlobalOp>(loc, LLVM::LLVMArrayType::get(b.getI8Type(), 0), /*isConstant=*/false,
                                            LLVM::Linkage::External, name, Attribute(), kLaunchSharedAlignment,
                                            kSharedSpace);
  }
  Value start = b.create<LLVM::AddressOfOp>(loc, global);
  return b.create<LLVM::GEPOp>(loc, start.getType(), b.getI8Type(), start,
                               ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)}, /*inbounds=*/true);
}

Value GpuCode::wordAt(Value memory, Value position) {
  return b.create<LLVM::GEPOp>(loc, memory.getType(), b.getI64Type(), memory, position, /*inbounds=*/true);
}

// A word is all that a block tells another one, so no order with other accesses is needed.
Value GpuCode::countUp(Value address) {
  Value one = b.create<arith::ConstantOp>(loc, b.getI32IntegerAttr(1));
  Value before = b.create<LLVM::AtomicRMWOp>(loc, LLVM::AtomicBinOp::add, address, one, LLVM::AtomicOrdering::monotonic,
                                             kDeviceScope);
  return b.create<arith::ExtUIOp>(loc, b.getI64Type(), before);
}

void GpuCode::writeWord(Value address, Value word) {
  b.create<LLVM::StoreOp>(loc, word, address, kWordBytes, /*isVolatile=*/false, /*isNonTemporal=*/false,
                          LLVM::AtomicOrdering::monotonic, kDeviceScope);
}

Value GpuCode::awaitWord(Value address) {
  Region *region = emitter.getBlock()->getParent();
  Block *reads = b.createBlock(region, region->end()), *next = b.createBlock(region, region->end());
  b.setInsertionPointToEnd(emitter.getBlock());
  b.create<LLVM::BrOp>(loc, ValueRange(), reads);
  emitter.pushScope(reads);
  Value word = b.create<LLVM::LoadOp>(loc, b.getI64Type(), address, kWordBytes, /*isVolatile=*/false,
                                      /*isNonTemporal=*/false, /*isInvariant=*/false, LLVM::AtomicOrdering::monotonic,
                                      kDeviceScope);
  Value half = b.create<arith::ConstantOp>(loc, b.getI64IntegerAttr(int64_t{1} << 32));
  Value isThere = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::uge, word, half);
  b.create<LLVM::CondBrOp>(loc, isThere, next, reads);
  emitter.popScope(next);
  return word;
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

Value GpuCode::getThread(int64_t blockThreads) {
  Value thread = b.create<gpu::ThreadIdOp>(loc, gpu::Dimension::x, b.getIndexAttr(blockThreads));
  return b.create<arith::IndexCastUIOp>(loc, b.getI64Type(), thread);
}

Value GpuCode::getBlock(int64_t gridBlocks) {
  auto upper = gridBlocks <= INT32_MAX ? b.getIndexAttr(gridBlocks) : IntegerAttr();
  Value block = b.create<gpu::BlockIdOp>(loc, gpu::Dimension::x, upper);
  return b.create<arith::IndexCastUIOp>(loc, b.getI64Type(), block);
}

void GpuCode::barrier() { b.create<gpu::BarrierOp>(loc); }

void GpuCode::rowBarrier(int64_t threads) {
  if (threads > kWarpThreads)
    return barrier();
  b.create<NVVM::SyncWarpOp>(loc, b.create<arith::ConstantOp>(loc, b.getI32IntegerAttr(-1)));
}

void GpuCode::arriveAtCluster() { b.create<NVVM::ClusterArriveOp>(loc, b.getUnitAttr()); }

void GpuCode::announceToCluster() { b.create<NVVM::ClusterArriveRelaxedOp>(loc, b.getUnitAttr()); }

void GpuCode::waitForCluster() { b.create<NVVM::ClusterWaitOp>(loc, b.getUnitAttr()); }

Value GpuCode::addressInBlock(Value memory, Value block) {
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  Value generic = b.create<LLVM::AddrSpaceCastOp>(loc, pointer, memory);
  Value number = b.create<arith::TruncIOp>(loc, b.getI32Type(), block);
  return b.create<LLVM::CallIntrinsicOp>(loc, pointer, b.getStringAttr("llvm.nvvm.mapa"), ValueRange{generic, number})
      .getResult(0);
}

Value GpuCode::shuffle(Value value, gpu::ShuffleMode mode, int64_t offset) {
  Type type = value.getType();
  unsigned width = type.getIntOrFloatBitWidth();
  Type i32 = b.getI32Type(), bitsType = b.getIntegerType(width);
  auto move = [&](Value word) -> Value {
    return b.create<gpu::ShuffleOp>(loc, word, static_cast<int32_t>(offset), kWarpThreads, mode).getShuffleResult();
  };
  Value bits = isa<FloatType>(type) ? b.create<arith::BitcastOp>(loc, bitsType, value).getResult() : value;
  if (width == 64) {
    Value half = b.create<arith::ConstantOp>(loc, b.getI64IntegerAttr(32));
    Value low = move(b.create<arith::TruncIOp>(loc, i32, bits));
    Value high = move(b.create<arith::TruncIOp>(loc, i32, b.create<arith::ShRUIOp>(loc, bits, half)));
    high = b.create<arith::ShLIOp>(loc, b.create<arith::ExtUIOp>(loc, b.getI64Type(), high), half);
    bits = b.create<arith::OrIOp>(loc, high, b.create<arith::ExtUIOp>(loc, b.getI64Type(), low));
  } else {
    if (width < 32)
      bits = b.create<arith::ExtUIOp>(loc, i32, bits);
    bits = move(bits);
    if (width < 32)
      bits = b.create<arith::TruncIOp>(loc, bitsType, bits);
  }
  return isa<FloatType>(type) ? b.create<arith::BitcastOp>(loc, type, bits).getResult() : bits;
}

Value GpuCode::readFirstLane(Value number) {
  Value narrow = b.create<arith::TruncIOp>(loc, b.getI32Type(), number);
  return b.create<arith::ExtUIOp>(loc, number.getType(), shuffle(narrow, gpu::ShuffleMode::IDX, 0));
}

Value GpuCode::reduceWarp(Type elementType, ReductionKind kind, Value value, int64_t lanes) {
  for (int64_t offset = lanes / 2; offset > 0; offset /= 2)
    value = combineElements(b, loc, elementType, kind, value, shuffle(value, gpu::ShuffleMode::XOR, offset),
                            /*mayReorder=*/false);
  return value;
}

} // namespace spmdc
