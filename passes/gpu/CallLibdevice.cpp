//===- CallLibdevice.cpp - mathematical functions as calls ----------------===//

#include "passes/gpu/Libdevice.h"
#include "passes/gpu/Passes.h"
#include "passes/kernel/MathCalls.h"

using namespace mlir;

namespace spmdc {

#define GEN_PASS_DEF_CALLLIBDEVICE
#include "passes/gpu/Passes.h.inc"

namespace {

/// The function (of double) without its prefix; empty for what the hardware has.
StringRef libdeviceName(Operation *op) {
  // C has no rsqrt, and a remainder is an operation of arith.
  if (isa<math::RsqrtOp>(op))
    return "rsqrt";
  return isa<arith::RemFOp>(op) ? "fmod" : mathFunctionName(op);
}

class CallLibdevicePass : public impl::CallLibdeviceBase<CallLibdevicePass> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops)
      if (StringRef name = libdeviceName(op); !name.empty())
        callMathFunction(op, (kLibdevicePrefix + name).str(), getOperation());
  }
};

} // namespace
} // namespace spmdc
