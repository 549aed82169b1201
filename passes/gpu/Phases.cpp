//===- Phases.cpp - barriers with phases, in shared memory ----------------===//

#include "passes/gpu/Phases.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace spmdc {

void Phases::initialize(Value barrier, int64_t count) {
  b.create<NVVM::MBarrierInitSharedOp>(
      loc, barrier, b.create<arith::ConstantOp>(loc, b.getI32IntegerAttr(static_cast<int32_t>(count))), Value());
}

// Names in braces are local to them, however often the code is copied.

void Phases::wait(Value barrier, Value parity) {
  emit("{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared.b64 done, [$0], $1;\n@!done bra again;\n}",
       "l,r,~{memory}", barrier, b.create<arith::TruncIOp>(loc, b.getI32Type(), parity));
}

void Phases::arriveIf(Value condition, Value barrier) {
  emit("{\n.reg .pred arrives;\n.reg .b64 phase;\nsetp.ne.u32 arrives, $1, 0;\n"
       "@arrives mbarrier.arrive.shared.b64 phase, [$0];\n}",
       "l,r,~{memory}", barrier, b.create<arith::ExtUIOp>(loc, b.getI32Type(), condition));
}

void Phases::emit(const char *text, const char *constraints, Value barrier, Value word) {
  Value address = b.create<LLVM::PtrToIntOp>(loc, b.getI64Type(), barrier);
  b.create<LLVM::InlineAsmOp>(loc, TypeRange(), ValueRange{address, word}, text, constraints,
                              /*has_side_effects=*/true, /*is_align_stack=*/false, LLVM::AsmDialectAttr(), ArrayAttr());
}

} // namespace spmdc
