//===- BuiltinsGradient.cpp - stop_gradient -------------------------------===//
//
// EmitGradient.cpp has grad, value_and_grad and checkpoint, which turn functions into functions.
//
//===----------------------------------------------------------------------===//

#include "frontend/builtins/Builtins.h"
#include "frontend/emit/Leaves.h"

namespace spmdc {
namespace {

/// The same value, leaf by leaf; numbers are constants anyway.
Value stopGradient(Args &args) {
  std::vector<Value> leaves = getLeaves(args[0]);
  for (Value &leaf : leaves) {
    if (!leaf.isData())
      args.e.fail(args[0].range, "'stop_gradient' takes arrays, not " + leaf.describe());
    if (leaf.isArray())
      leaf = args.result(args.e.create<StopGradientOp>(plainTypeOf(leaf.array), leaf.array), leaf.isWeak);
  }
  return withLeaves(args[0], leaves);
}

const Builtin table[] = {{"stop_gradient", "x", stopGradient}};

} // namespace

llvm::ArrayRef<Builtin> gradientBuiltins() { return table; }

} // namespace spmdc
