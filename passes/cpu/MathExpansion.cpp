//===- MathExpansion.cpp - mathematical functions as arithmetic -----------===//

#include "passes/cpu/MathExpansion.h"

#include "passes/cpu/MathFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace spmdc {
namespace {

/// The libm function (of double) that an operation is; empty for what LLVM has instructions for.
StringRef libmName(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case([](math::ExpOp) { return "exp"; })
      .Case([](math::Exp2Op) { return "exp2"; })
      .Case([](math::ExpM1Op) { return "expm1"; })
      .Case([](math::LogOp) { return "log"; })
      .Case([](math::Log1pOp) { return "log1p"; })
      .Case([](math::Log2Op) { return "log2"; })
      .Case([](math::CbrtOp) { return "cbrt"; })
      .Case([](math::SinOp) { return "sin"; })
      .Case([](math::CosOp) { return "cos"; })
      .Case([](math::TanOp) { return "tan"; })
      .Case([](math::TanhOp) { return "tanh"; })
      .Case([](math::SinhOp) { return "sinh"; })
      .Case([](math::CoshOp) { return "cosh"; })
      .Case([](math::AsinOp) { return "asin"; })
      .Case([](math::AcosOp) { return "acos"; })
      .Case([](math::AtanOp) { return "atan"; })
      .Case([](math::Atan2Op) { return "atan2"; })
      .Case([](math::ErfOp) { return "erf"; })
      .Case([](math::PowFOp) { return "pow"; })
      .Default([](Operation *) { return ""; });
}

void callLibm(Operation *op, StringRef function, ModuleOp module) {
  OpBuilder b(op);
  Type type = op->getResult(0).getType();
  std::string name = function.str() + (type.isF32() ? "f" : "");
  auto callee = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (!callee) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(module.getBody());
    SmallVector<Type> arguments(op->getNumOperands(), type);
    callee = b.create<LLVM::LLVMFuncOp>(op->getLoc(), name, LLVM::LLVMFunctionType::get(type, arguments));
    callee.setPassthroughAttr(b.getStrArrayAttr({"nounwind", "willreturn", "memory(none)"}));
  }
  auto call = b.create<LLVM::CallOp>(op->getLoc(), callee, op->getOperands());
  op->replaceAllUsesWith(call.getResults());
  op->erase();
}

/// The operation as arithmetic on f32; null where there is none.
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

} // namespace

void expandMath(ModuleOp module, const MathOptions &options) {
  SmallVector<Operation *> ops;
  module.walk([&](Operation *op) {
    if (isa<math::MathDialect>(op->getDialect()))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    if (options.hasFma && op->getNumResults() == 1 && op->getResult(0).getType().isF32()) {
      OpBuilder b(op);
      MathFunctions functions(b, op->getLoc());
      if (Value value = expand(op, functions)) {
        op->replaceAllUsesWith(ValueRange(value));
        op->erase();
        continue;
      }
    }
    if (StringRef name = libmName(op); !name.empty())
      callLibm(op, name, module);
  }
}

} // namespace spmdc
