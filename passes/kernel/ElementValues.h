//===- ElementValues.h - elements in registers and in memory ----*- C++ -*-===//
//
// In registers bf16 and f16 are f32 (rounded after each operation, as a store would round them), bool is i1, and
// integers are signless; in memory bool is one byte.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"

#include "mlir/IR/Builders.h"

namespace spmdc {

/// The rounding of f32 to bf16.
enum class Bf16Rounding {
  /// In integers. NaNs keep their payload.
  Integers,
  /// By a conversion (arith.truncf) for which the backend has an instruction. The instruction may replace a NaN by
  /// another one, so values that only move are never converted.
  Conversion,
  /// Not in registers, where values keep the precision of f32 until `roundElement`.
  InMemoryAlone
};

/// The type in registers and in memory.
mlir::Type registerType(mlir::Type elementType);
mlir::Type memoryType(mlir::Type elementType);
/// Conversions between the two. `toMemory` takes rounded values: bf16 loses the lower half of its bits.
mlir::Value toMemory(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type elementType, mlir::Value value);
mlir::Value fromMemory(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type elementType, mlir::Value value);
/// Rounds a value in registers to `elementType`. `operands`: rounded values from which one operation computed it, if
/// known; sums, products and quotients of bf16 need no test for NaN then.
mlir::Value roundElement(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type elementType, mlir::Value value,
                         Bf16Rounding rounding = Bf16Rounding::Integers, mlir::ValueRange operands = {});

/// One step of a reduction in registers. `mayReorder`: sums and products of floats may be reordered.
mlir::Value combineElements(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type elementType, ReductionKind kind,
                            mlir::Value x, mlir::Value y, bool mayReorder);
/// The neutral value of the reduction.
mlir::Value elementIdentity(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type elementType, ReductionKind kind);

} // namespace spmdc
