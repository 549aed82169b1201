//===- Formula.h - element-wise operations written as formulas --*- C++ -*-===//
//
// Derivatives in the form of mathematics: `g * (1.0 - r * r)` over Terms builds the operations. A C++ double becomes a
// constant of the type of the term beside it. All terms are floats, except the conditions that comparisons return and
// `select` and `both` take.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/array/ArrayOps.h"

namespace spmdc {

class Term {
public:
  Term(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value) : builder(&builder), loc(loc), value(value) {}

  operator mlir::Value() const { return value; } // NOLINT(google-explicit-constructor): a formula is its value.

  ArrayType getType() const { return llvm::cast<ArrayType>(value.getType()).withoutSharding(); }
  /// A number in this term's shape and type.
  Term number(double number) const { return with<ConstantOp>(getType(), Scalar::ofFloat(number)); }
  /// The operation on this term and others, with a result of this term's type.
  template <typename Op, typename... Others> Term apply(Others... others) const {
    return with<Op>(getType(), value, others...);
  }
  template <typename Op, typename... Arguments> Term with(ArrayType type, Arguments... arguments) const {
    return {*builder, loc, builder->create<Op>(loc, type, arguments...).getResult()};
  }

private:
  mlir::OpBuilder *builder;
  mlir::Location loc;
  mlir::Value value;
};

/// The operands of an operation as terms.
class Terms {
public:
  Terms(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange values)
      : builder(builder), loc(loc), values(values) {}
  Term operator[](size_t i) const { return {builder, loc, values[i]}; }

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::ValueRange values;
};

inline Term operator+(Term x, Term y) { return x.apply<AddOp>(mlir::Value(y)); }
inline Term operator-(Term x, Term y) { return x.apply<SubtractOp>(mlir::Value(y)); }
inline Term operator*(Term x, Term y) { return x.apply<MultiplyOp>(mlir::Value(y)); }
inline Term operator/(Term x, Term y) { return x.apply<DivideOp>(mlir::Value(y)); }
inline Term operator+(Term x, double y) { return x + x.number(y); }
inline Term operator-(Term x, double y) { return x - x.number(y); }
inline Term operator-(double x, Term y) { return y.number(x) - y; }
inline Term operator*(double x, Term y) { return y.number(x) * y; }
inline Term operator/(double x, Term y) { return y.number(x) / y; }
inline Term operator-(Term x) { return x.apply<NegateOp>(); }

inline Term exp(Term x) { return x.apply<ExpOp>(); }
inline Term log(Term x) { return x.apply<LogOp>(); }
inline Term rsqrt(Term x) { return x.apply<RsqrtOp>(); }
inline Term sin(Term x) { return x.apply<SinOp>(); }
inline Term cos(Term x) { return x.apply<CosOp>(); }
inline Term sinh(Term x) { return x.apply<SinhOp>(); }
inline Term cosh(Term x) { return x.apply<CoshOp>(); }
inline Term sign(Term x) { return x.apply<SignOp>(); }
inline Term power(Term x, Term y) { return x.apply<PowerOp>(mlir::Value(y)); }
/// Rounds towards zero.
inline Term truncate(Term x) { return sign(x) * x.apply<AbsOp>().apply<FloorOp>(); }

inline Term compare(ComparisonDirection direction, Term x, Term y) {
  ArrayType type = x.getType().withElementType(mlir::IntegerType::get(x.getType().getContext(), 1));
  return x.with<CompareOp>(type, mlir::Value(x), mlir::Value(y), direction);
}
inline Term equal(Term x, Term y) { return compare(ComparisonDirection::eq, x, y); }
inline Term equal(Term x, double y) { return equal(x, x.number(y)); }
inline Term less(Term x, Term y) { return compare(ComparisonDirection::lt, x, y); }
inline Term atLeast(Term x, double y) { return compare(ComparisonDirection::ge, x, x.number(y)); }
inline Term both(Term x, Term y) { return x.apply<AndOp>(mlir::Value(y)); }
inline Term select(Term condition, Term onTrue, Term onFalse) {
  return onTrue.with<SelectOp>(onTrue.getType(), mlir::Value(condition), mlir::Value(onTrue), mlir::Value(onFalse));
}
inline Term select(Term condition, double onTrue, Term onFalse) {
  return select(condition, onFalse.number(onTrue), onFalse);
}
inline Term select(Term condition, Term onTrue, double onFalse) {
  return select(condition, onTrue, onTrue.number(onFalse));
}
/// The fraction of a maximum's (minimum's) cotangent that belongs to x: 1 if x is the result, one half if y is, too.
inline Term shareOf(Term x, Term result, Term y) {
  return select(equal(x, result), select(equal(y, result), 0.5, x.number(1)), 0.0);
}
inline Term convert(Term x, mlir::Type elementType) {
  ArrayType type = x.getType().withElementType(elementType);
  return type == x.getType() ? x : x.with<ConvertOp>(type, mlir::Value(x));
}

} // namespace spmdc
