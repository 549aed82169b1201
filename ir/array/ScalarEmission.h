//===- ScalarEmission.h - generated code of one element ---------*- C++ -*-===//
//
// Emits the code of one element (or of a vector of elements) in the arith and math dialects. `type` is the operands'
// element type in the array, which has the signedness that signless values lack. The caller widens bf16 and f16 to f32.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace spmdc {

/// Discardable attribute of an arith.divf that is a part of a mathematical function: an error of two units in the last
/// place is within the function's.
inline constexpr llvm::StringLiteral kFunctionsQuotientAttrName = "spmd.functions_quotient";

mlir::Value emitErf(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x);
mlir::Value emitErfInv(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x);
mlir::Value emitLogistic(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x);
mlir::Value emitAbs(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type, mlir::Value x);
mlir::Value emitNegate(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type, mlir::Value x);
mlir::Value emitSign(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type, mlir::Value x);
mlir::Value emitNot(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x);
mlir::Value emitIsFinite(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x);
mlir::Value emitConvert(mlir::OpBuilder &b, mlir::Location loc, mlir::Type from, mlir::Type to, mlir::Value x);
mlir::Value emitBitcast(mlir::OpBuilder &b, mlir::Location loc, mlir::Type from, mlir::Type to, mlir::Value x);
mlir::Value emitAdd(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type, mlir::Value x, mlir::Value y);
mlir::Value emitSubtract(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type, mlir::Value x, mlir::Value y);
mlir::Value emitMultiply(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type, mlir::Value x, mlir::Value y);
mlir::Value emitDivide(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type, mlir::Value x, mlir::Value y);
mlir::Value emitRemainder(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type, mlir::Value x, mlir::Value y);
mlir::Value emitPower(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type, mlir::Value x, mlir::Value y);
mlir::Value emitMaximum(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type, mlir::Value x, mlir::Value y);
mlir::Value emitMinimum(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type, mlir::Value x, mlir::Value y);
mlir::Value emitShiftLeft(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type, mlir::Value x, mlir::Value y);
mlir::Value emitShiftRightArithmetic(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type, mlir::Value x,
                                     mlir::Value y);
mlir::Value emitShiftRightLogical(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type, mlir::Value x,
                                  mlir::Value y);
mlir::Value emitCompare(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type, ComparisonDirection direction,
                        mlir::Value x, mlir::Value y);

/// One word of Threefry-2x32 of (k0, k1, c0, c1), signless 32-bit integers.
mlir::Value emitThreefry(mlir::OpBuilder &b, mlir::Location loc, mlir::ValueRange operands, int64_t word);

/// One step of a reduction over elements of the array element type `type`.
mlir::Value emitReduction(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type, ReductionKind kind, mlir::Value x,
                          mlir::Value y);

/// A constant of the scalar or vector type `like`.
mlir::Value emitFloatConstant(mlir::OpBuilder &b, mlir::Location loc, mlir::Type like, double value);
mlir::Value emitIntConstant(mlir::OpBuilder &b, mlir::Location loc, mlir::Type like, int64_t value);

} // namespace spmdc
