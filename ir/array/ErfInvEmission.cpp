//===- ErfInvEmission.cpp - erf_inv as generated code ---------------------===//
//
// Giles, "Approximating the erfinv function" (2012): a polynomial in w = -log(1 - x^2), one for the middle and one or,
// in double precision, two for the tails. Random normal numbers use it, and promise JAX's bits; so w, too, is computed
// as in XLA, operation by operation, with one rounding where XLA contracts.
//
//===----------------------------------------------------------------------===//

#include "ir/array/ScalarEmission.h"

#include <limits>
#include <vector>

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

  bool isWide() const { return getElementTypeOrSelf(type).isF64(); }

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

/// log(x) of a normal, finite f32 above zero: Moshier's Cephes library, `logf`.
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

/// log(1 + x) of a number between -1 and 0: near zero a rational function (Cephes, `log1p`).
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
  Value whole = f.add(x, f.constant(1.0));
  Value far = f.isWide() ? f.b.create<math::LogOp>(f.loc, whole).getResult() : emitLog(f, whole);
  return f.select(f.isLess(f.abs(x), f.constant(0.41421356237309504)), near, far);
}

/// Where w is below `limit`: a polynomial in w or its root, minus `center`. The coefficients are in descending order of
/// powers; a shorter list is filled up with leading zeros.
struct Interval {
  double limit;
  bool isOfRoot;
  double center;
  std::vector<double> coefficients;
};

const Interval kNarrow[] = {
    {5.0,
     false,
     2.5,
     {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164,
      0.246640727, 1.50140941}},
    {std::numeric_limits<double>::infinity(),
     true,
     3.0,
     {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047,
      1.00167406, 2.83297682}},
};

const Interval kWide[] = {
    {6.25, false, 3.125, {-3.6444120640178196996e-21, -1.685059138182016589e-19,  1.2858480715256400167e-18,
                          1.115787767802518096e-17,   -1.333171662854620906e-16,  2.0972767875968561637e-17,
                          6.6376381343583238325e-15,  -4.0545662729752068639e-14, -8.1519341976054721522e-14,
                          2.6335093153082322977e-12,  -1.2975133253453532498e-11, -5.4154120542946279317e-11,
                          1.051212273321532285e-09,   -4.1126339803469836976e-09, -2.9070369957882005086e-08,
                          4.2347877827932403518e-07,  -1.3654692000834678645e-06, -1.3882523362786468719e-05,
                          0.0001867342080340571352,   -0.00074070253416626697512, -0.0060336708714301490533,
                          0.24015818242558961693,     1.6536545626831027356}},
    {16.0,
     true,
     3.25,
     {2.2137376921775787049e-09, 9.0756561938885390979e-08, -2.7517406297064545428e-07, 1.8239629214389227755e-08,
      1.5027403968909827627e-06, -4.013867526981545969e-06, 2.9234449089955446044e-06, 1.2475304481671778723e-05,
      -4.7318229009055733981e-05, 6.8284851459573175448e-05, 2.4031110387097893999e-05, -0.0003550375203628474796,
      0.00095328937973738049703, -0.0016882755560235047313, 0.0024914420961078508066, -0.0037512085075692412107,
      0.005370914553590063617, 1.0052589676941592334, 3.0838856104922207635}},
    {std::numeric_limits<double>::infinity(),
     true,
     5.0,
     {-2.7109920616438573243e-11, -2.5556418169965252055e-10, 1.5076572693500548083e-09, -3.7894654401267369937e-09,
      7.6157012080783393804e-09, -1.4960026627149240478e-08, 2.9147953450901080826e-08, -6.7711997758452339498e-08,
      2.2900482228026654717e-07, -9.9298272942317002539e-07, 4.5260625972231537039e-06, -1.9681778105531670567e-05,
      7.5995277030017761139e-05, -0.00021503011930044477347, -0.00013871931833623122026, 1.0103004648645343977,
      4.8499064014085844221}},
};

/// Evaluates one polynomial whose coefficients are selected by w.
Value emitIntervals(const Floats &f, Value w, ArrayRef<Interval> intervals) {
  Value root = f.b.create<math::SqrtOp>(f.loc, w);
  SmallVector<Value> isBelow;
  size_t count = 0;
  for (const Interval &interval : intervals) {
    isBelow.push_back(f.isLess(w, f.constant(interval.limit)));
    count = std::max(count, interval.coefficients.size());
  }
  auto choose = [&](llvm::function_ref<Value(const Interval &)> of) {
    Value chosen = of(intervals.back());
    for (size_t i = intervals.size() - 1; i-- > 0;)
      chosen = f.select(isBelow[i], of(intervals[i]), chosen);
    return chosen;
  };
  Value variable = choose(
      [&](const Interval &interval) { return f.subtract(interval.isOfRoot ? root : w, f.constant(interval.center)); });
  Value sum;
  for (size_t power = count; power-- > 0;) {
    Value coefficient = choose([&](const Interval &interval) {
      size_t size = interval.coefficients.size();
      return f.constant(power < size ? interval.coefficients[size - 1 - power] : 0.0);
    });
    sum = sum ? f.multiplyAdd(sum, variable, coefficient) : coefficient;
  }
  return sum;
}

} // namespace

Value emitErfInv(OpBuilder &b, Location loc, Value x) {
  Floats f(b, loc, x.getType());
  Value w = f.negate(emitLog1p(f, f.negate(f.multiply(x, x))));
  Value result = f.multiply(emitIntervals(f, w, f.isWide() ? ArrayRef(kWide) : ArrayRef(kNarrow)), x);
  Value magnitude = f.abs(x), one = f.constant(1.0);
  Value atEnds = f.multiply(x, f.constant(std::numeric_limits<double>::infinity()));
  atEnds = f.select(f.isEqual(magnitude, one), atEnds, f.constant(std::numeric_limits<double>::quiet_NaN()));
  return f.select(f.isLess(magnitude, one), result, atEnds);
}

} // namespace spmdc
