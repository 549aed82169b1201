//===- CallLibdevice.cpp - mathematical functions as calls ----------------===//

#include "ir/array/ScalarEmission.h"
#include "passes/gpu/Libdevice.h"
#include "passes/gpu/Passes.h"
#include "passes/kernel/MathCalls.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_CALLLIBDEVICE
#include "passes/gpu/Passes.h.inc"

namespace {

/// The function (of double) without its prefix; empty for operations with an instruction.
StringRef libdeviceName(Operation *op) {
  // C has no rsqrt, and a remainder is an operation of arith.
  if (isa<math::RsqrtOp>(op))
    return "rsqrt";
  return isa<arith::RemFOp>(op) ? "fmod" : mathFunctionName(op);
}

/// True for a tanh whose result is only used rounded to bf16.
bool isRoundedTanh(Operation *op) {
  return isa<math::TanhOp>(op) && op->getResult(0).getType().isF32() && !op->use_empty() &&
         llvm::all_of(op->getUsers(), [](Operation *user) {
           return isa<arith::TruncFOp>(user) && user->getResult(0).getType().isBF16();
         });
}

void emitApproximateTanh(Operation *op) {
  OpBuilder b(op);
  auto instruction = b.create<LLVM::InlineAsmOp>(op->getLoc(), op->getResultTypes(), op->getOperands(),
                                                 "tanh.approx.f32 $0, $1;", "=f,f", /*has_side_effects=*/false,
                                                 /*is_align_stack=*/false, LLVM::AsmDialectAttr(), ArrayAttr());
  op->replaceAllUsesWith(instruction);
  op->erase();
}

/// True for a division of f32 that is a part of a mathematical function, which has an error anyway.
bool isFunctionsQuotient(Operation *op) {
  return isa<arith::DivFOp>(op) && op->getResult(0).getType().isF32() && op->hasAttr(kFunctionsQuotientAttrName);
}

void relax(arith::DivFOp op) {
  OpBuilder b(op);
  op.replaceAllUsesWith(emitFullDivision(b, op));
  op.erase();
}

class CallLibdevicePass : public impl::CallLibdeviceBase<CallLibdevicePass> {
  using CallLibdeviceBase::CallLibdeviceBase;

  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops)
      if (approximatesTanh && isRoundedTanh(op))
        emitApproximateTanh(op);
      else if (isFunctionsQuotient(op))
        relax(cast<arith::DivFOp>(op));
      else if (StringRef name = libdeviceName(op); !name.empty())
        callMathFunction(op, (kLibdevicePrefix + name).str(), getOperation());
  }
};

} // namespace
} // namespace spmdc
