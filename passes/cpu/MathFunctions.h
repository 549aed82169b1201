//===- MathFunctions.h - functions of f32 as arithmetic ---------*- C++ -*-===//
//
// Branch-free code for one element, of operations that every vector unit has, so that loops around it vectorise. All
// functions need fused multiply-add. Errors against the exact value stay below 4 units in the last place over the whole
// range of f32, subnormal numbers, infinities and NaN included; functions that are cheap in f64 are within one.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"

#include <initializer_list>

namespace spmdc {

class MathFunctions {
public:
  /// `hasScale`: kScaleFunction is declared (VectorCalls.h).
  MathFunctions(mlir::OpBuilder &builder, mlir::Location loc, bool hasScale)
      : b(builder), loc(loc), hasScale(hasScale) {}
  using Value = mlir::Value;

  Value exp(Value x);
  Value exp2(Value x);
  Value expm1(Value x);
  Value log(Value x);
  Value log2(Value x);
  Value log1p(Value x);
  Value cbrt(Value x);
  Value sin(Value x);
  Value cos(Value x);
  Value tan(Value x);
  Value tanh(Value x);
  Value sinh(Value x);
  Value cosh(Value x);
  Value asin(Value x);
  Value acos(Value x);
  Value atan(Value x);
  Value atan2(Value y, Value x);
  Value erf(Value x);
  Value pow(Value x, Value y);

private:
  // Arithmetic on floats of one type (f32 or f64) and integers.
  Value constant(Value like, double value);
  Value integer(Value like, int64_t value);
  Value add(Value x, Value y);
  Value sub(Value x, Value y);
  Value mul(Value x, Value y);
  Value div(Value x, Value y);
  Value fma(Value x, Value y, Value z);
  Value neg(Value x);
  Value abs(Value x);
  Value sqrt(Value x);
  Value floor(Value x);
  Value copySign(Value magnitude, Value sign);
  Value select(Value condition, Value x, Value y);
  Value less(Value x, Value y);
  Value equal(Value x, Value y);
  Value both(Value x, Value y);
  /// x within [low, high]; NaN stays NaN.
  Value clamp(Value x, double low, double high);
  /// Coefficients of the highest power first.
  Value polynomial(Value x, std::initializer_list<double> coefficients);
  Value toF64(Value x);
  Value toF32(Value x);
  Value bits(Value x);
  Value fromBits(Value x);

  struct Rounded {
    Value number;  ///< The nearest integer, as a float; NaN if x is NaN.
    Value integer; ///< The nearest integer, as an integer of the same width; any value if x is NaN.
  };
  Rounded roundToInt(Value x);
  /// For f32: base^x, which is e^r 2^n, for x log2(base) within [-151, 129]; `reduce` returns r for n, as a float. NaN
  /// stays NaN.
  Value expWithScale(Value x, double log2OfBase, llvm::function_ref<mlir::Value(mlir::Value)> reduce);
  /// For f64 and |x| <= 700, to about 36 bits: e^x is (1 + first) * second.
  std::pair<Value, Value> expPartsF64(Value x);
  Value expm1F64(Value x);
  Value expF64(Value x);
  /// ln(x) for positive, normal, finite f64, to about 36 bits.
  Value logF64(Value x);
  /// x less the nearest multiple of pi/2, as f32, and the quadrant (i32; only its last two bits count).
  std::pair<Value, Value> reduceAngle(Value x);
  std::pair<Value, Value> reduceHugeAngle(Value x);
  struct SinCos {
    Value sin, cos, quadrant;
  };
  SinCos sinCos(Value x);
  Value sinOrCos(Value x, int64_t shift);
  /// atan for arguments in [0, 1].
  Value atanUnit(Value x);
  /// asin for s = sqrt(z) in [0, 0.5].
  Value asinUnit(Value s, Value z);

  mlir::OpBuilder &b;
  mlir::Location loc;
  bool hasScale;
};

} // namespace spmdc
