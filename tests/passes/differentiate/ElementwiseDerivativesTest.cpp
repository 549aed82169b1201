//===- ElementwiseDerivativesTest.cpp - functions of each element --------===//

#include "tests/passes/differentiate/DerivativesTestHelper.h"

using namespace spmdc;

namespace {

const DerivativeCase kUnary[] = {
    {"exp", "%r = array.exp %x : <f64[5]>", {"f64[5]"}, "f64[5]"},
    {"exp2", "%r = array.exp2 %x : <f64[5]>", {"f64[5]"}, "f64[5]"},
    {"expm1", "%r = array.expm1 %x : <f64[5]>", {"f64[5]"}, "f64[5]"},
    {"log", "%r = array.log %x : <f64[5]>", {"f64[5]"}, "f64[5]"},
    {"log1p", "%r = array.log1p %x : <f64[5]>", {"f64[5]"}, "f64[5]"},
    {"log2", "%r = array.log2 %x : <f64[5]>", {"f64[5]"}, "f64[5]"},
    {"sqrt", "%r = array.sqrt %x : <f64[5]>", {"f64[5]"}, "f64[5]"},
    {"rsqrt", "%r = array.rsqrt %x : <f64[5]>", {"f64[5]"}, "f64[5]"},
    {"cbrt", "%r = array.cbrt %x : <f64[5]>", {"f64[5]"}, "f64[5]", 0.3, 2, true},
    {"sin", "%r = array.sin %x : <f64[5]>", {"f64[5]"}, "f64[5]", 0.3, 2, true},
    {"cos", "%r = array.cos %x : <f64[5]>", {"f64[5]"}, "f64[5]", 0.3, 2, true},
    {"tan", "%r = array.tan %x : <f64[5]>", {"f64[5]"}, "f64[5]", 0.1, 1.2, true},
    {"tanh", "%r = array.tanh %x : <f64[5]>", {"f64[5]"}, "f64[5]", 0.1, 2, true},
    {"sinh", "%r = array.sinh %x : <f64[5]>", {"f64[5]"}, "f64[5]", 0.1, 2, true},
    {"cosh", "%r = array.cosh %x : <f64[5]>", {"f64[5]"}, "f64[5]", 0.1, 2, true},
    {"asin", "%r = array.asin %x : <f64[5]>", {"f64[5]"}, "f64[5]", 0.1, 0.8, true},
    {"acos", "%r = array.acos %x : <f64[5]>", {"f64[5]"}, "f64[5]", 0.1, 0.8, true},
    {"atan", "%r = array.atan %x : <f64[5]>", {"f64[5]"}, "f64[5]", 0.1, 2, true},
    {"erf", "%r = array.erf %x : <f64[5]>", {"f64[5]"}, "f64[5]", 0.1, 2, true},
    {"erf_inv", "%r = array.erf_inv %x : <f64[5]>", {"f64[5]"}, "f64[5]", 0.1, 0.8, true},
    {"logistic", "%r = array.logistic %x : <f64[5]>", {"f64[5]"}, "f64[5]", 0.1, 2, true},
    {"abs", "%r = array.abs %x : <f64[5]>", {"f64[5]"}, "f64[5]", 0.1, 2, true},
    {"negate", "%r = array.negate %x : <f64[5]>", {"f64[5]"}, "f64[5]"},
    {"optimization_barrier", "%r = array.optimization_barrier %x : <f64[5]>", {"f64[5]"}, "f64[5]"},
    {"convert",
     "%0 = array.multiply %x, %x : <f64[5]>\n%r = array.convert %0 : <f64[5]> -> <f64[5]>",
     {"f64[5]"},
     "f64[5]"},
};

const DerivativeCase kBinary[] = {
    {"add", "%r = array.add %x, %y : <f64[5]>", {"f64[5]", "f64[5]"}, "f64[5]"},
    {"add_to_itself", "%r = array.add %x, %x : <f64[5]>", {"f64[5]"}, "f64[5]"},
    {"subtract", "%r = array.subtract %x, %y : <f64[5]>", {"f64[5]", "f64[5]"}, "f64[5]"},
    {"multiply", "%r = array.multiply %x, %y : <f64[5]>", {"f64[5]", "f64[5]"}, "f64[5]", 0.3, 2, true},
    {"divide", "%r = array.divide %x, %y : <f64[5]>", {"f64[5]", "f64[5]"}, "f64[5]", 0.3, 2, true},
    {"power", "%r = array.power %x, %y : <f64[5]>", {"f64[5]", "f64[5]"}, "f64[5]"},
    {"atan2", "%r = array.atan2 %x, %y : <f64[5]>", {"f64[5]", "f64[5]"}, "f64[5]", 0.3, 2, true},
    {"maximum", "%r = array.maximum %x, %y : <f64[5]>", {"f64[5]", "f64[5]"}, "f64[5]", 0.1, 2, true, false},
    {"minimum", "%r = array.minimum %x, %y : <f64[5]>", {"f64[5]", "f64[5]"}, "f64[5]", 0.1, 2, true, false},
    {"remainder",
     "%c = array.constant dense<0.7> : tensor<3xf64> -> <f64[3]>\n%0 = array.divide %x, %x : <f64[3]>\n"
     "%1 = array.multiply %0, %c : <f64[3]>\n%2 = array.add %1, %x : <f64[3]>\n"
     "%c1 = array.constant dense<[1.0, 0.25, -0.6]> : tensor<3xf64> -> <f64[3]>\n"
     "%3 = array.multiply %c1, %y : <f64[3]>\n%r = array.remainder %3, %y : <f64[3]>",
     {"f64[3]", "f64[3]"},
     "f64[3]",
     0.3,
     2,
     true,
     false},
    {"select",
     "%p = array.compare lt %x, %y : <f64[5]>, <f64[5]> -> <bool[5]>\n"
     "%r = array.select %p, %x, %y : <bool[5]>, <f64[5]>, <f64[5]> -> <f64[5]>",
     {"f64[5]", "f64[5]"},
     "f64[5]",
     0.1,
     2,
     true,
     false},
    {"clamp",
     "%0 = array.abs %x : <f64[9]>\n%low = array.negate %0 : <f64[9]>\n%high = array.abs %z : <f64[9]>\n"
     "%r = array.clamp %low, %y, %high : <f64[9]>",
     {"f64[9]", "f64[9]", "f64[9]"},
     "f64[9]",
     0.1,
     2,
     true,
     false},
};

DIFFERENTIATE(Unary, kUnary);
DIFFERENTIATE(Binary, kBinary);

} // namespace
