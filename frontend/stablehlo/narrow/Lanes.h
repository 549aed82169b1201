//===- Lanes.h - formulas over the bits of numbers --------------*- C++ -*-===//
//
// Operators over arrays of integers and floats, each of which emits one operation of StableHLO. Operands of operators
// have one type; an integer beside an array is repeated.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/stablehlo/Formula.h"
#include "frontend/stablehlo/narrow/NarrowTypes.h"

namespace spmdc::stablehlo {

class Lanes : public Formula<Lanes> {
public:
  using Formula::Formula;

  using Formula::like;
  /// An array of this type, one of integers, that repeats one number.
  Lanes like(int64_t number) const;

  /// These numbers in another type: the array itself if it has this type.
  Lanes convert(mlir::Type element) const { return retype<ConvertOp>(element); }
  /// These bits in another type of the same width.
  Lanes bitcast(mlir::Type element) const { return retype<BitcastConvertOp>(element); }
  /// The positions along the last dimension.
  Lanes iotaOfLast(llvm::ArrayRef<int64_t> shape) const;
  /// Each element repeated in an additional last dimension.
  Lanes repeat(int64_t times) const;
  /// Element `index` of the last dimension, which is dropped.
  Lanes dropLast(int64_t index) const;

private:
  template <typename Op> Lanes retype(mlir::Type element) const {
    if (type().getElementType() == element)
      return *this;
    return {*b, loc, b->create<Op>(loc, withElement(type(), element), value)};
  }
};

inline Lanes operator+(Lanes x, Lanes y) { return x.binary<AddOp>(y); }
inline Lanes operator-(Lanes x, Lanes y) { return x.binary<SubtractOp>(y); }
inline Lanes operator*(Lanes x, Lanes y) { return x.binary<MultiplyOp>(y); }
inline Lanes operator&(Lanes x, Lanes y) { return x.binary<AndOp>(y); }
inline Lanes operator|(Lanes x, Lanes y) { return x.binary<OrOp>(y); }
inline Lanes operator<<(Lanes x, Lanes y) { return x.binary<ShiftLeftOp>(y); }
inline Lanes operator+(Lanes x, int64_t y) { return x + x.like(y); }
inline Lanes operator-(Lanes x, int64_t y) { return x - x.like(y); }
inline Lanes operator&(Lanes x, int64_t y) { return x & x.like(y); }
inline Lanes operator|(Lanes x, int64_t y) { return x | x.like(y); }
inline Lanes operator<<(Lanes x, int64_t y) { return x << x.like(y); }
/// Zeros come in from the left.
inline Lanes shiftRight(Lanes x, int64_t y) { return x.binary<ShiftRightLogicalOp>(x.like(y)); }
inline Lanes shiftRightArithmetic(Lanes x, int64_t y) { return x.binary<ShiftRightArithmeticOp>(x.like(y)); }
inline Lanes min(Lanes x, int64_t y) { return x.binary<MinimumOp>(x.like(y)); }
inline Lanes operator<(Lanes x, int64_t y) { return x.compare("LT", x.like(y)); }
inline Lanes operator>=(Lanes x, int64_t y) { return x.compare("GE", x.like(y)); }
inline Lanes operator>(Lanes x, int64_t y) { return x.compare("GT", x.like(y)); }
inline Lanes operator==(Lanes x, int64_t y) { return x.compare("EQ", x.like(y)); }

} // namespace spmdc::stablehlo
