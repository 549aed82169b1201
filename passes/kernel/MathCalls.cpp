//===- MathCalls.cpp - mathematical functions of a library ----------------===//

#include "passes/kernel/MathCalls.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace spmdc {

StringRef mathFunctionName(Operation *op) {
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

LLVM::LLVMFuncOp callMathFunction(Operation *op, StringRef name, Operation *module) {
  OpBuilder b(op);
  Type type = op->getResult(0).getType();
  std::string symbol = name.str() + (type.isF32() ? "f" : "");
  auto callee = cast_or_null<LLVM::LLVMFuncOp>(SymbolTable::lookupSymbolIn(module, symbol));
  if (!callee) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&module->getRegion(0).front());
    SmallVector<Type> arguments(op->getNumOperands(), type);
    callee = b.create<LLVM::LLVMFuncOp>(op->getLoc(), symbol, LLVM::LLVMFunctionType::get(type, arguments));
  }
  auto call = b.create<LLVM::CallOp>(op->getLoc(), callee, op->getOperands());
  op->replaceAllUsesWith(call.getResults());
  op->erase();
  return callee;
}

} // namespace spmdc
