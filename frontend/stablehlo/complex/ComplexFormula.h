//===- ComplexFormula.h - formulas over complex arrays ----------*- C++ -*-===//
#pragma once

#include "frontend/stablehlo/complex/Expander.h"

namespace spmdc::stablehlo {

/// A complex array in a formula.
struct Complex {
  Real re, im;
};

inline Complex complexOf(Expander &e, Parts parts) { return {e.real(parts.re), e.real(parts.im)}; }
inline Parts partsOf(Complex z) { return {z.re.get(), z.im.get()}; }

inline Complex operator*(Complex x, Complex y) { return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re}; }
/// The same without overflow where the quotient is a float, and with the infinities of C's annex G.
Complex operator/(Complex x, Complex y);
inline Complex select(Real predicate, Complex onTrue, Complex onFalse) {
  return {predicate.select(onTrue.re, onFalse.re), predicate.select(onTrue.im, onFalse.im)};
}

/// The absolute value, without overflow or underflow of the squares.
Real hypot(Real x, Real y);

} // namespace spmdc::stablehlo
