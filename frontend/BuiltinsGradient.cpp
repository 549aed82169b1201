//===- BuiltinsGradient.cpp - what derivatives do not go through ----------===//
//
// grad, value_and_grad and checkpoint make functions of functions: EmitGradient.cpp.
//
//===----------------------------------------------------------------------===//

#include "frontend/Builtins.h"
#include "frontend/Leaves.h"

namespace spmdc {
namespace {

/// The same value, leaf by leaf; numbers are constants anyway.
Value stopGradient(Args &args) {
  std::vector<Value> leaves = getLeaves(args[0]);
  for (Value &leaf : leaves) {
    if (!leaf.isData())
      args.e.fail(args[0].range, "'stop_gradient' takes arrays, not " + leaf.describe());
    if (leaf.isArray())
      leaf = args.result(args.e.create<StopGradientOp>(Emitter::typeOf(leaf.array), leaf.array), leaf.isWeak);
  }
  return withLeaves(args[0], leaves);
}

const Builtin table[] = {{"stop_gradient", "x", stopGradient}};

} // namespace

llvm::ArrayRef<Builtin> gradientBuiltins() { return table; }

} // namespace spmdc
