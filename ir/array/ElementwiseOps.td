//===- ElementwiseOps.td - element-wise operations ------------*- tablegen -*-===//
//
// Each entry holds the whole operation: the value of one element (`eval`, in reference precision, over Scalars x, y,
// z), the generated code of one element (`emit`, over mlir::Values x, y, z with builder b and location loc), and the
// cotangent of each operand (`cotangents`, formulas over the result's cotangent g, the result r and x, y, z; none for
// an operation without derivative).
// The helpers that these one-liners call are in ScalarEvaluation.h, ScalarEmission.h and Formula.h.
//
//===----------------------------------------------------------------------===//

#ifndef SPMDC_ELEMENTWISE_OPS
#define SPMDC_ELEMENTWISE_OPS

/// All operands and the result have one shape (SameArrayShape) and element type too (SameArray); shardings may differ.
def SameArrayShape : NativeOpTrait<"SameArrayShape"> { let cppNamespace = "::spmdc"; }
def SameArray : NativeOpTrait<"SameArray"> { let cppNamespace = "::spmdc"; }

class Array_ElementwiseOp<string mnemonic, list<Trait> traits, string bind, string eval, string emit,
                          list<string> cotangents = []>
    : Array_Op<mnemonic, traits # [DeclareOpInterfaceMethods<ElementwiseOpInterface>,
        !if(!empty(cotangents), ZeroDerivative, DeclareOpInterfaceMethods<DifferentiableOpInterface>)]> {
  let extraClassDefinition = [{
    ::spmdc::ShardingRule $cppClass::getShardingRule() {
      return ::spmdc::ShardingRule::elementwise(getType().getShape(), getOperation()->getNumOperands());
    }
    ::spmdc::Scalar $cppClass::evaluateScalar(::llvm::ArrayRef<::spmdc::Scalar> operands) {
      ::mlir::Type type = ::llvm::cast<::spmdc::ArrayType>(getOperation()->getOperand(0).getType()).getElementType();
      (void)type;
  }] # bind # "return " # eval # ";\n}\n" # [{
    ::mlir::Value $cppClass::emitScalar(::mlir::OpBuilder &b, ::mlir::Location loc, ::mlir::ValueRange operands) {
      ::mlir::Type type = ::llvm::cast<::spmdc::ArrayType>(getOperation()->getOperand(0).getType()).getElementType();
      (void)type;
  }] # bind # "return " # emit # ";\n}\n" # !if(!empty(cotangents), "", [{
    ::llvm::SmallVector<::mlir::Value> $cppClass::buildCotangents(::mlir::OpBuilder &b, ::mlir::Location loc,
                                                                  ::mlir::Value cotangent,
                                                                  ::llvm::ArrayRef<bool> isNeeded) {
      ::spmdc::Terms operands(b, loc, getOperation()->getOperands());
      ::spmdc::Term g(b, loc, cotangent), r(b, loc, getResult());
      ::llvm::SmallVector<::mlir::Value> cotangents(getOperation()->getNumOperands());
      (void)r;
  }] # bind # !foldl("", !range(!size(cotangents)), body, i,
      body # "if (isNeeded[" # i # "]) cotangents[" # i # "] = " # cotangents[i] # ";\n") # "return cotangents;\n}\n");
}

defvar bindOne = "auto x = operands[0]; (void)x;\n";
defvar bindTwo = "auto x = operands[0], y = operands[1]; (void)x; (void)y;\n";
defvar bindThree = "auto x = operands[0], y = operands[1], z = operands[2]; (void)x; (void)y; (void)z;\n";

class Array_UnaryOp<string mnemonic, string eval, string emit, list<string> cotangents = [], list<Trait> traits = []>
    : Array_ElementwiseOp<mnemonic, [SameArray] # traits, bindOne, eval, emit, cotangents> {
  let arguments = (ins Spmd_ArrayType:$operand);
  let builders = [OpBuilder<(ins "::mlir::Value":$operand), [{ build($_builder, $_state, operand.getType(), operand); }]>];
  let assemblyFormat = "$operand attr-dict `:` custom<SameTypes>(type($operand), type($result))";
}

/// A function of real numbers: `fn` is the reference (double to double), `op` the math dialect's operation.
class Array_FloatOp<string mnemonic, string fn, string op, list<string> cotangents = [], list<Trait> traits = []>
    : Array_UnaryOp<mnemonic, "Scalar::ofFloat(" # fn # "(x.f))", "b.create<" # op # ">(loc, x)", cotangents, traits> {
  let summary = "Element-wise " # mnemonic # " of floats";
}

/// One operand; the result may have another element type (predicates, convert, bitcast_convert).
class Array_UnaryConvertingOp<string mnemonic, string eval, string emit, list<string> cotangents = [],
                        list<Trait> traits = []>
    : Array_ElementwiseOp<mnemonic, [SameArrayShape] # traits, bindOne, eval, emit, cotangents> {
  let arguments = (ins Spmd_ArrayType:$operand);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
}

class Array_BinaryOp<string mnemonic, string eval, string emit, list<Trait> traits = [], list<string> cotangents = []>
    : Array_ElementwiseOp<mnemonic, traits # [SameArray], bindTwo, eval, emit, cotangents> {
  let arguments = (ins Spmd_ArrayType:$lhs, Spmd_ArrayType:$rhs);
  let builders = [OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs),
                            [{ build($_builder, $_state, lhs.getType(), lhs, rhs); }]>];
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` custom<SameTypes>(type($lhs), type($rhs), type($result))";
}

//===- Functions of floats ------------------------------------------------===//

def Array_ExpOp : Array_FloatOp<"exp", "std::exp", "::mlir::math::ExpOp", ["g * r"], [MathFunction]>;
def Array_Exp2Op : Array_FloatOp<"exp2", "std::exp2", "::mlir::math::Exp2Op", ["g * (M_LN2 * r)"], [MathFunction]>;
def Array_Expm1Op : Array_FloatOp<"expm1", "std::expm1", "::mlir::math::ExpM1Op", ["g * (r + 1.0)"], [MathFunction]>;
def Array_LogOp : Array_FloatOp<"log", "std::log", "::mlir::math::LogOp", ["g / x"], [MathFunction]>;
def Array_Log1pOp : Array_FloatOp<"log1p", "std::log1p", "::mlir::math::Log1pOp", ["g / (x + 1.0)"], [MathFunction]>;
def Array_Log2Op : Array_FloatOp<"log2", "std::log2", "::mlir::math::Log2Op", ["g / (M_LN2 * x)"], [MathFunction]>;
def Array_SqrtOp : Array_FloatOp<"sqrt", "std::sqrt", "::mlir::math::SqrtOp", ["g * (0.5 / r)"]>;
def Array_RsqrtOp : Array_FloatOp<"rsqrt", "1.0 / std::sqrt", "::mlir::math::RsqrtOp", ["g * (-0.5 * (r / x))"]>;
def Array_CbrtOp : Array_FloatOp<"cbrt", "std::cbrt", "::mlir::math::CbrtOp", ["g * ((1.0 / 3.0) * (r / x))"],
                                  [MathFunction]>;
def Array_SinOp : Array_FloatOp<"sin", "std::sin", "::mlir::math::SinOp", ["g * cos(x)"], [MathFunction]>;
def Array_CosOp : Array_FloatOp<"cos", "std::cos", "::mlir::math::CosOp", ["-(g * sin(x))"], [MathFunction]>;
def Array_TanOp : Array_FloatOp<"tan", "std::tan", "::mlir::math::TanOp", ["g * (r * r + 1.0)"], [MathFunction]>;
def Array_TanhOp : Array_FloatOp<"tanh", "std::tanh", "::mlir::math::TanhOp", ["(g + g * r) * (1.0 - r)"], [MathFunction]>;
def Array_SinhOp : Array_FloatOp<"sinh", "std::sinh", "::mlir::math::SinhOp", ["g * cosh(x)"], [MathFunction]>;
def Array_CoshOp : Array_FloatOp<"cosh", "std::cosh", "::mlir::math::CoshOp", ["g * sinh(x)"], [MathFunction]>;
def Array_AsinOp : Array_FloatOp<"asin", "std::asin", "::mlir::math::AsinOp", ["g * rsqrt(1.0 - x * x)"], [MathFunction]>;
def Array_AcosOp : Array_FloatOp<"acos", "std::acos", "::mlir::math::AcosOp", ["-(g * rsqrt(1.0 - x * x))"], [MathFunction]>;
def Array_AtanOp : Array_FloatOp<"atan", "std::atan", "::mlir::math::AtanOp", ["g / (x * x + 1.0)"], [MathFunction]>;
def Array_FloorOp : Array_FloatOp<"floor", "std::floor", "::mlir::math::FloorOp", [], [ExactInHalf]>;
def Array_CeilOp : Array_FloatOp<"ceil", "std::ceil", "::mlir::math::CeilOp", [], [ExactInHalf]>;
def Array_RoundNearestEvenOp : Array_FloatOp<"round_nearest_even", "std::nearbyint", "::mlir::math::RoundEvenOp", [],
                                             [ExactInHalf]>;

def Array_ErfOp : Array_UnaryOp<"erf", "Scalar::ofFloat(std::erf(x.f))", "emitErf(b, loc, x)",
                                ["M_2_SQRTPI * (g * exp(-(x * x)))"], [MathFunction]> {
  let summary = "2 / sqrt(pi) times the integral of exp(-t * t) for t from 0 to x";
}

def Array_ErfInvOp : Array_UnaryOp<"erf_inv", "Scalar::ofFloat(evaluateErfInv(x.f))", "emitErfInv(b, loc, x)",
                                   ["g * ((1.0 / M_2_SQRTPI) * exp(r * r))"], [MathFunction]> {
  let summary = "Inverse of erf";
}

def Array_LogisticOp : Array_UnaryOp<"logistic", "Scalar::ofFloat(1.0 / (1.0 + std::exp(-x.f)))",
                                     "emitLogistic(b, loc, x)", ["g * (r * (1.0 - r))"], [MathFunction]> {
  let summary = "1 / (1 + exp(-x))";
}

//===- Any number ---------------------------------------------------------===//

def Array_AbsOp : Array_UnaryOp<"abs", "evaluateAbs(type, x)", "emitAbs(b, loc, type, x)", ["select(atLeast(x, 0.0), g, -g)"],
                              [ExactInHalf]> {
  let summary = "Absolute value; the lowest integer does not change";
}
def Array_NegateOp : Array_UnaryOp<"negate", "evaluateNegate(type, x)", "emitNegate(b, loc, type, x)", ["-g"],
                                 [ExactInHalf, LinearOpInterface]> {
  let summary = "-x; integers wrap";
}
def Array_SignOp : Array_UnaryOp<"sign", "evaluateSign(type, x)", "emitSign(b, loc, type, x)", [], [ExactInHalf]> {
  let summary = "-1, 0 (with the sign of a zero), 1; NaN of NaN";
}
def Array_NotOp : Array_UnaryOp<"not", "Scalar::ofInt(~x.i)", "emitNot(b, loc, x)"> {
  let summary = "Complement of every bit; logical not of a bool";
}
def Array_PopcntOp : Array_UnaryOp<"popcnt", "evaluatePopcount(type, x)", "b.create<::mlir::math::CtPopOp>(loc, x)"> {
  let summary = "Number of set bits";
}

def Array_IsFiniteOp : Array_UnaryConvertingOp<"is_finite", "Scalar::ofBool(std::isfinite(x.f))", "emitIsFinite(b, loc, x)"> {
  let summary = "bool: neither infinite nor NaN";
}

def Array_ConvertOp : Array_UnaryConvertingOp<"convert", "convertScalar(x, type, getType().getElementType())",
                                        "emitConvert(b, loc, type, getType().getElementType(), x)",
                                        ["convert(g, x.getType().getElementType())"], [withLinearOperands]> {
  let summary = "Value conversion to another element type";
  let description = "Float to integer truncates and saturates, NaN becomes 0; anything to bool is `!= 0`.";
  let hasFolder = 1;
}
def Array_BitcastConvertOp : Array_UnaryConvertingOp<"bitcast_convert",
    "evaluateBitcast(type, getType().getElementType(), x)",
    "emitBitcast(b, loc, type, getType().getElementType(), x)"> {
  let summary = "The same bits as another element type of the same width";
}

//===- Two operands -------------------------------------------------------===//

def Array_AddOp : Array_BinaryOp<"add", "evaluateAdd(type, x, y)", "emitAdd(b, loc, type, x, y)", [Commutative, withLinearOperands],
                              ["g", "g"]> {
  let summary = "x + y; integers wrap, bools are or-ed";
}
def Array_SubtractOp : Array_BinaryOp<"subtract", "evaluateSubtract(type, x, y)", "emitSubtract(b, loc, type, x, y)",
                                   [withLinearOperands],
                                      ["g", "-g"]> {
  let summary = "x - y; integers wrap";
}
def Array_MultiplyOp : Array_BinaryOp<"multiply", "evaluateMultiply(type, x, y)", "emitMultiply(b, loc, type, x, y)",
                                      [Commutative, withLinearOperands], ["g * y", "x * g"]> {
  let summary = "x * y; integers wrap, bools are and-ed";
}
def Array_DivideOp : Array_BinaryOp<"divide", "evaluateDivide(type, x, y)", "emitDivide(b, loc, type, x, y)",
                                 [Division, withLinearOperands],
                                    ["g / y", "-(g * (r / y))"]> {
  let summary = "x / y; integers truncate, x / 0 is -1 (all bits set), lowest / -1 is lowest";
}
def Array_RemainderOp : Array_BinaryOp<"remainder", "evaluateRemainder(type, x, y)",
                                       "emitRemainder(b, loc, type, x, y)", [Division],
                                       ["g", "-(g * truncate(x / y))"]> {
  let summary = "Remainder with the sign of x; integer x rem 0 is x";
}
def Array_PowerOp : Array_BinaryOp<"power", "evaluatePower(type, x, y)", "emitPower(b, loc, type, x, y)", [MathFunction], [
    "g * (y * power(x, y - 1.0))",
    "g * (log(select(equal(x, 0.0), 1.0, x)) * r)"]> {
  let summary = "x to the power of y; integer powers by squaring, negative exponents of integers give 0 or +-1";
}
def Array_Atan2Op : Array_BinaryOp<"atan2", "Scalar::ofFloat(std::atan2(x.f, y.f))",
                                   "b.create<::mlir::math::Atan2Op>(loc, x, y)", [MathFunction],
                                   ["g * (y / (x * x + y * y))", "-(g * (x / (x * x + y * y)))"]> {
  let summary = "Angle of the point (y, x)";
}
def Array_MaximumOp : Array_BinaryOp<"maximum", "evaluateMaximum(type, x, y)", "emitMaximum(b, loc, type, x, y)",
                                     [Commutative, ExactInHalf], ["g * shareOf(x, r, y)", "g * shareOf(y, r, x)"]> {
  let summary = "The larger; NaN if either is";
}
def Array_MinimumOp : Array_BinaryOp<"minimum", "evaluateMinimum(type, x, y)", "emitMinimum(b, loc, type, x, y)",
                                     [Commutative, ExactInHalf], ["g * shareOf(x, r, y)", "g * shareOf(y, r, x)"]> {
  let summary = "The smaller; NaN if either is";
}
def Array_AndOp : Array_BinaryOp<"and", "Scalar::ofInt(x.i & y.i)", "b.create<::mlir::arith::AndIOp>(loc, x, y)",
                                 [Commutative]> {
  let summary = "Bitwise and; logical of bools";
}
def Array_OrOp : Array_BinaryOp<"or", "Scalar::ofInt(x.i | y.i)", "b.create<::mlir::arith::OrIOp>(loc, x, y)",
                                [Commutative]> {
  let summary = "Bitwise or; logical of bools";
}
def Array_XorOp : Array_BinaryOp<"xor", "Scalar::ofInt(x.i ^ y.i)", "b.create<::mlir::arith::XOrIOp>(loc, x, y)",
                                 [Commutative]> {
  let summary = "Bitwise exclusive or; logical of bools";
}
def Array_ShiftLeftOp : Array_BinaryOp<"shift_left", "evaluateShiftLeft(type, x, y)",
                                       "emitShiftLeft(b, loc, type, x, y)"> {
  let summary = "x << y; 0 when y is at least the width";
}
def Array_ShiftRightArithmeticOp : Array_BinaryOp<"shift_right_arithmetic", "evaluateShiftRightArithmetic(type, x, y)",
                                                  "emitShiftRightArithmetic(b, loc, type, x, y)"> {
  let summary = "x >> y with copies of the sign; of unsigned x with zeros";
}
def Array_ShiftRightLogicalOp : Array_BinaryOp<"shift_right_logical", "evaluateShiftRightLogical(type, x, y)",
                                               "emitShiftRightLogical(b, loc, type, x, y)"> {
  let summary = "x >> y with zeros";
}

def Array_CompareOp : Array_ElementwiseOp<"compare", [SameArrayShape], bindTwo, "evaluateCompare(type, getDirection(), x, y)",
                                          "emitCompare(b, loc, type, getDirection(), x, y)"> {
  let summary = "bool: x == y, != (true for NaN), <, <=, >, >=";
  let arguments = (ins Spmd_ArrayType:$lhs, Spmd_ArrayType:$rhs, Array_ComparisonDirection:$direction);
  let assemblyFormat = "$direction $lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
}

//===- Three operands -----------------------------------------------------===//

def Array_SelectOp : Array_ElementwiseOp<"select", [SameArrayShape, ExactInHalf, withLinearOperands], bindThree, "x.i ? y : z",
                                         "b.create<::mlir::arith::SelectOp>(loc, x, y, z)",
                                         ["{}", "select(x, g, 0.0)", "select(x, 0.0, g)"]> {
  let summary = "onTrue where the predicate holds, else onFalse";
  let arguments = (ins Spmd_ArrayType:$predicate, Spmd_ArrayType:$onTrue, Spmd_ArrayType:$onFalse);
  let assemblyFormat = [{
    $predicate `,` $onTrue `,` $onFalse attr-dict `:` type($predicate) `,` type($onTrue) `,` type($onFalse) `->`
    type($result)
  }];
}

def Array_ClampOp : Array_ElementwiseOp<"clamp", [SameArray, ExactInHalf], bindThree,
                                        "evaluateMinimum(type, evaluateMaximum(type, x, y), z)",
                                        "emitMinimum(b, loc, type, emitMaximum(b, loc, type, x, y), z)", [
    "select(both(less(y, x), less(x, z)), g, 0.0)", "select(both(less(x, y), less(y, z)), g, 0.0)",
    "select(less(z, y), g, 0.0)"]> {
  let summary = "min(max(low, operand), high)";
  let arguments = (ins Spmd_ArrayType:$low, Spmd_ArrayType:$operand, Spmd_ArrayType:$high);
  let assemblyFormat = [{
    $low `,` $operand `,` $high attr-dict `:` custom<SameTypes>(type($low), type($operand), type($high), type($result))
  }];
}

#endif
