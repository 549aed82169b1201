//===- ErfInvEmission.cpp - erf_inv as generated code ---------------------===//
//
// Giles, "Approximating the erfinv function" (2012), single precision: a polynomial in w = -log(1 - x^2), one for the
// middle and one for the tails. Random normal numbers are made by it and promised to be JAX's; so w, too, is computed
// as XLA does, operation by operation, with one rounding where XLA contracts.
//
//===----------------------------------------------------------------------===//

#include "ir/array/ScalarEmission.h"

#include <limits>

using namespace mlir;

namespace spmdc {
namespace {

/// Arithmetic on values of one type of floats, scalars or vectors.
class Floats {
public:
  Floats(OpBuilder &b, Location loc, Type type) : b(b), loc(loc), type(type) {}

  Value constant(double value) const { return emitFloatConstant(b, loc, type, value); }
  Value add(Value x, Value y) const { return b.create<arith::AddFOp>(loc, x, y); }
  Value subtract(Value x, Value y) const { return b.create<arith::SubFOp>(loc, x, y); }
  Value multiply(Value x, Value y) const { return b.create<arith::MulFOp>(loc, x, y); }
  Value divide(Value x, Value y) const { return b.create<arith::DivFOp>(loc, x, y); }
  Value negate(Value x) const { return b.create<arith::NegFOp>(loc, x); }
  Value abs(Value x) const { return b.create<math::AbsFOp>(loc, x); }
  /// x * y + z, rounded once.
  Value multiplyAdd(Value x, Value y, Value z) const { return b.create<math::FmaOp>(loc, x, y, z); }
  Value isLess(Value x, Value y) const { return b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OLT, x, y); }
  Value isEqual(Value x, Value y) const { return b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OEQ, x, y); }
  Value select(Value condition, Value x, Value y) const { return b.create<arith::SelectOp>(loc, condition, x, y); }

  Value polynomial(Value x, ArrayRef<double> coefficients) const {
    Value sum = constant(coefficients[0]);
    for (double coefficient : coefficients.drop_front())
      sum = multiplyAdd(sum, x, constant(coefficient));
    return sum;
  }

  OpBuilder &b;
  Location loc;
  Type type;
};

/// log(x) of an ordinary f32 above zero: Moshier's Cephes library, `logf`.
Value emitLog(const Floats &f, Value x) {
  Type integers = f.b.getI32Type();
  if (auto vector = dyn_cast<VectorType>(f.type))
    integers = vector.clone(integers);
  auto integer = [&](int64_t value) { return emitIntConstant(f.b, f.loc, integers, value); };
  // x = mantissa * 2^exponent, the mantissa between the root of a half and that of 2.
  Value bits = f.b.create<arith::BitcastOp>(f.loc, integers, x);
  Value biased = f.b.create<arith::ShRUIOp>(f.loc, bits, integer(23));
  Value whole = f.b.create<arith::SubIOp>(f.loc, biased, integer(126));
  Value exponent = f.b.create<arith::SIToFPOp>(f.loc, f.type, whole);
  Value fraction = f.b.create<arith::AndIOp>(f.loc, bits, integer(0x007fffff));
  Value mantissa =
      f.b.create<arith::BitcastOp>(f.loc, f.type, f.b.create<arith::OrIOp>(f.loc, fraction, integer(0x3f000000)));
  Value isLow = f.isLess(mantissa, f.constant(0.707106781186547524)), zero = f.constant(0.0);
  exponent = f.subtract(exponent, f.select(isLow, f.constant(1.0), zero));
  Value m = f.add(f.subtract(mantissa, f.constant(1.0)), f.select(isLow, mantissa, zero));

  Value square = f.multiply(m, m), cube = f.multiply(square, m);
  Value y = f.polynomial(m, {7.0376836292E-2, -1.1514610310E-1, 1.1676998740E-1});
  y = f.multiplyAdd(y, cube, f.polynomial(m, {-1.2420140846E-1, 1.4249322787E-1, -1.6668057665E-1}));
  y = f.multiplyAdd(y, cube, f.polynomial(m, {2.0000714765E-1, -2.4999993993E-1, 3.3333331174E-1}));
  y = f.multiplyAdd(y, cube, f.multiply(exponent, f.constant(-2.12194440e-4)));
  Value rest = f.multiplyAdd(f.constant(-0.5), square, m);
  return f.multiplyAdd(exponent, f.constant(0.693359375), f.add(rest, y));
}

/// log(1 + x) of an f32 between -1 and 0: near zero a rational function (Cephes, `log1p`).
Value emitLog1p(const Floats &f, Value x) {
  static constexpr double kNumerator[] = {
      4.5270000862445199635215E-5, 4.9854102823193375972212E-1, 6.5787325942061044846969E0, 2.9911919328553073277375E1,
      6.0949667980987787057556E1,  5.7112963590585538103336E1,  2.0039553499201281259648E1};
  static constexpr double kDenominator[] = {1.0,
                                            1.5062909083469192043167E1,
                                            8.3047565967967209469434E1,
                                            2.2176239823732856465394E2,
                                            3.0909872225312059774938E2,
                                            2.1642788614495947685003E2,
                                            6.0118660497603843919306E1};
  Value square = f.multiply(x, x);
  Value ratio = f.divide(f.polynomial(x, kNumerator), f.polynomial(x, kDenominator));
  Value near = f.multiply(f.multiply(x, square), ratio);
  near = f.add(x, f.multiplyAdd(f.constant(-0.5), square, near));
  Value far = emitLog(f, f.add(x, f.constant(1.0)));
  return f.select(f.isLess(f.abs(x), f.constant(0.41421356237309504)), near, far);
}

} // namespace

Value emitErfInv(OpBuilder &b, Location loc, Value x) {
  static constexpr double kMiddle[] = {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                                       -0.00125372503, -0.00417768164, 0.246640727,    1.50140941};
  static constexpr double kTails[] = {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                                      -0.0076224613,   0.00943887047,  1.00167406,    2.83297682};
  Floats f(b, loc, x.getType());
  bool isWide = getElementTypeOrSelf(x).isF64();
  Value minusSquare = f.negate(f.multiply(x, x));
  Value w = f.negate(isWide ? b.create<math::Log1pOp>(loc, minusSquare).getResult() : emitLog1p(f, minusSquare));
  Value isMiddle = f.isLess(w, f.constant(5.0));
  Value inTails = f.subtract(b.create<math::SqrtOp>(loc, w), f.constant(3.0));
  w = f.select(isMiddle, f.subtract(w, f.constant(2.5)), inTails);
  Value polynomial = f.select(isMiddle, f.constant(kMiddle[0]), f.constant(kTails[0]));
  for (size_t i = 1; i < std::size(kMiddle); ++i)
    polynomial = f.multiplyAdd(polynomial, w, f.select(isMiddle, f.constant(kMiddle[i]), f.constant(kTails[i])));
  Value result = f.multiply(polynomial, x);
  if (isWide) {
    // The polynomial has the digits of an f32. Two steps of Newton's method double them twice; the derivative of erf is
    // 2 / sqrt(pi) * exp(-y^2).
    for (int step = 0; step < 2; ++step) {
      Value error = f.subtract(b.create<math::ErfOp>(loc, result), x);
      Value exponent = f.negate(f.multiply(result, result));
      Value slope = f.multiply(f.constant(1.1283791670955126), b.create<math::ExpOp>(loc, exponent));
      result = f.subtract(result, f.divide(error, slope));
    }
  }
  Value magnitude = f.abs(x), one = f.constant(1.0);
  Value atEnds = f.multiply(x, f.constant(std::numeric_limits<double>::infinity()));
  atEnds = f.select(f.isEqual(magnitude, one), atEnds, f.constant(std::numeric_limits<double>::quiet_NaN()));
  return f.select(f.isLess(magnitude, one), result, atEnds);
}

} // namespace spmdc
