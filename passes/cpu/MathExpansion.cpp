//===- MathExpansion.cpp - mathematical functions as arithmetic -----------===//

#include "passes/cpu/MathExpansion.h"

#include "passes/cpu/MathFunctions.h"
#include "passes/cpu/VectorCalls.h"
#include "passes/kernel/DivisionByConstant.h"
#include "passes/kernel/MathCalls.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace spmdc {
namespace {

/// Returns the operation as arithmetic on f32; null if there is no expansion.
Value expand(Operation *op, MathFunctions &functions) {
  auto x = [&] { return op->getOperand(0); };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](math::ExpOp) { return functions.exp(x()); })
      .Case([&](math::Exp2Op) { return functions.exp2(x()); })
      .Case([&](math::ExpM1Op) { return functions.expm1(x()); })
      .Case([&](math::LogOp) { return functions.log(x()); })
      .Case([&](math::Log1pOp) { return functions.log1p(x()); })
      .Case([&](math::Log2Op) { return functions.log2(x()); })
      .Case([&](math::CbrtOp) { return functions.cbrt(x()); })
      .Case([&](math::SinOp) { return functions.sin(x()); })
      .Case([&](math::CosOp) { return functions.cos(x()); })
      .Case([&](math::TanOp) { return functions.tan(x()); })
      .Case([&](math::TanhOp) { return functions.tanh(x()); })
      .Case([&](math::SinhOp) { return functions.sinh(x()); })
      .Case([&](math::CoshOp) { return functions.cosh(x()); })
      .Case([&](math::AsinOp) { return functions.asin(x()); })
      .Case([&](math::AcosOp) { return functions.acos(x()); })
      .Case([&](math::AtanOp) { return functions.atan(x()); })
      .Case([&](math::Atan2Op) { return functions.atan2(x(), op->getOperand(1)); })
      .Case([&](math::ErfOp) { return functions.erf(x()); })
      .Case([&](math::PowFOp) { return functions.pow(x(), op->getOperand(1)); })
      .Default([](Operation *) { return Value(); });
}

/// Divides by constants without a division.
void expandDivision(arith::DivFOp op) {
  FloatAttr divisor;
  if (!matchPattern(op.getRhs(), m_Constant(&divisor)))
    return;
  std::optional<ReciprocalPair> pair = findReciprocalPair(divisor.getValue());
  if (!pair)
    return;
  OpBuilder b(op);
  auto constant = [&](double value) -> Value {
    return b.create<arith::ConstantOp>(op.getLoc(), b.getFloatAttr(op.getType(), value));
  };
  Value low = b.create<arith::MulFOp>(op.getLoc(), op.getLhs(), constant(pair->low));
  op.replaceAllUsesWith(b.create<math::FmaOp>(op.getLoc(), op.getLhs(), constant(pair->high), low).getResult());
  op.erase();
}

/// Declares the function that scaled exponentials call.
void declareScale(ModuleOp module) {
  OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
  Type f32 = b.getF32Type();
  b.create<LLVM::LLVMFuncOp>(module.getLoc(), kScaleFunction, LLVM::LLVMFunctionType::get(f32, {f32, f32}));
}

} // namespace

void expandMath(ModuleOp module, const MathOptions &options) {
  if (options.hasScale)
    declareScale(module);
  if (options.hasFma)
    module.walk(expandDivision);
  SmallVector<Operation *> ops;
  module.walk([&](Operation *op) {
    if (isa<math::MathDialect>(op->getDialect()))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    if (options.hasFma && op->getNumResults() == 1 && op->getResult(0).getType().isF32()) {
      OpBuilder b(op);
      MathFunctions functions(b, op->getLoc(), options.hasScale);
      if (Value value = expand(op, functions)) {
        op->replaceAllUsesWith(ValueRange(value));
        op->erase();
        continue;
      }
    }
    if (StringRef name = mathFunctionName(op); !name.empty())
      callMathFunction(op, name, module)
          .setPassthroughAttr(OpBuilder(module).getStrArrayAttr({"nounwind", "willreturn", "memory(none)"}));
  }
}

} // namespace spmdc
