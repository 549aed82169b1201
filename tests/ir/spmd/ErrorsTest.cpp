//===- ErrorsTest.cpp - errors of the verifiers ---------------------------===//
//
// One invalid text for every check, with the message that the user sees.
//
//===----------------------------------------------------------------------===//

#include "tests/ir/support/IrTest.h"

using namespace spmdc;

namespace {

struct WrongText {
  const char *name;
  const char *statement;
  const char *message;
};

void PrintTo(const WrongText &wrong, std::ostream *os) { *os << wrong.name; }

class ErrorsTest : public IrTest, public ::testing::WithParamInterface<WrongText> {};

TEST_P(ErrorsTest, IsRefused) {
  std::string text = R"mlir(
    module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {
      func.func @main(%x: !spmd.array<f32[8, 4]>, %i: !spmd.array<i32[8, 4]>, %s: !spmd.array<f32[]>,
                      %e: !spmd.array<f32[8, 0]>, %p: !spmd.array<bool[8, 4]>, %w: !spmd.array<f32[4, 3]>,
                      %h: !spmd.array<f32[8, 1]>, %c: !spmd.array<f32[8, 2]>) {
        )mlir";
  text += GetParam().statement;
  text += "\n return } }";
  EXPECT_FALSE(parse(text));
  EXPECT_NE(diagnosticText().find(GetParam().message), std::string::npos) << diagnosticText();
}

const WrongText kEpilogue[] = {
    {"OfAnotherFunction",
     "%0 = array.sin %s {e = #plan.library_epilogue<\"swish\", factor = 1.0 : f64, arrayFactor = 0.0 : f64, array = "
     "-1, "
     "bias = -1>} : <f32[]>",
     "'swish' is none of the functions identity, gelu and gelu_gradient"},
    {"WithoutFiniteFactor",
     "%0 = array.sin %s {e = #plan.library_epilogue<\"gelu\", factor = 0x7FF0000000000000 : f64, arrayFactor = 0.0 : "
     "f64, array = -1, bias = -1>} : <f32[]>",
     "the factors of an epilogue are finite numbers of f64"},
    {"WithoutArray",
     "%0 = array.sin %s {e = #plan.library_epilogue<\"gelu_gradient\", factor = 1.0 : f64, arrayFactor = 0.0 : f64, "
     "array = -1, bias = -1>} : <f32[]>",
     "the gradient of a gelu has an array, and no bias"},
};

const WrongText kGradient[] = {
    {"OfInteger",
     "%0:2 = array.gradient(%i) {\n"
     "^bb0(%a: !spmd.array<i32[8, 4]>):\n array.yield %s : !spmd.array<f32[]>\n} : (!spmd.array<i32[8, 4]>) -> "
     "(!spmd.array<f32[]>, !spmd.array<i32[8, 4]>)",
     "operand 0 is i32[8, 4]; only floats have gradients"},
    {"OfVector",
     "%0:2 = array.gradient(%s) {\n"
     "^bb0(%a: !spmd.array<f32[]>):\n array.yield %x : !spmd.array<f32[8, 4]>\n} : (!spmd.array<f32[]>) -> "
     "(!spmd.array<f32[8, 4]>, !spmd.array<f32[]>)",
     "requires a float scalar as its first value, got f32[8, 4]"},
    {"OfNothing", "%0 = array.gradient() {\n array.yield %s : !spmd.array<f32[]>\n} : () -> (!spmd.array<f32[]>)",
     "requires at least one argument to differentiate by"},
    {"GradientType",
     "%0:2 = array.gradient(%x) {\n"
     "^bb0(%a: !spmd.array<f32[8, 4]>):\n array.yield %s : !spmd.array<f32[]>\n} : (!spmd.array<f32[8, 4]>) -> "
     "(!spmd.array<f32[]>, !spmd.array<f32[]>)",
     "operand 0 is f32[8, 4], its argument or gradient f32[]"},
    {"ArgumentCount",
     "%0:2 = array.gradient(%s) {\n"
     "array.yield %s : !spmd.array<f32[]>\n} : (!spmd.array<f32[]>) -> (!spmd.array<f32[]>, !spmd.array<f32[]>)",
     "has 1 operands; it requires as many arguments"},
    {"YieldCount", "%0 = array.checkpoint {\n array.yield\n} : !spmd.array<f32[]>", "yields 0 values for 1 results"},
    {"YieldType", "%0 = array.checkpoint {\n array.yield %x : !spmd.array<f32[8, 4]>\n} : !spmd.array<f32[]>",
     "result 0 is f32[], but f32[8, 4] is yielded"},
    {"CheckpointArguments", "array.checkpoint {\n^bb0(%a: !spmd.array<f32[]>):\n array.yield\n}",
     "body must not take arguments"},
    {"NoYield", "array.checkpoint {\n %0 = array.sin %s : <f32[]>\n}", "body must end in array.yield"},
};

const WrongText kElementTypes[] = {
    {"BitcastWider", "%0 = array.bitcast_convert %x : <f32[8, 4]> -> <f64[8, 4]>",
     "requires equal widths: f32[8, 4] has elements of 32 bits, f64[8, 4] of 64"},
    {"BitcastNarrower", "%0 = array.bitcast_convert %i : <i32[8, 4]> -> <i8[8, 4]>",
     "requires equal widths: i32[8, 4] has elements of 32 bits, i8[8, 4] of 8"},
    {"BitcastHalf", "%0 = array.bitcast_convert %x : <f32[8, 4]> -> <bf16[8, 4]>",
     "requires equal widths: f32[8, 4] has elements of 32 bits, bf16[8, 4] of 16"},
    {"BitcastBool", "%0 = array.bitcast_convert %p : <bool[8, 4]> -> <u8[8, 4]>",
     "requires equal widths: bool[8, 4] has elements of 1 bits, u8[8, 4] of 8"},
    {"BitcastToBool", "%0 = array.bitcast_convert %i : <i32[8, 4]> -> <bool[8, 4]>",
     "requires equal widths: i32[8, 4] has elements of 32 bits, bool[8, 4] of 1"},
    {"FloatFunction", "%0 = array.exp %i : <i32[8, 4]>", "requires floats, got i32[8, 4]"},
    {"FloatFunctionOfTwo", "%0 = array.atan2 %p, %p : <bool[8, 4]>", "requires floats, got bool[8, 4]"},
    {"IsFiniteOperand", "%0 = array.is_finite %i : <i32[8, 4]> -> <bool[8, 4]>", "requires floats, got i32[8, 4]"},
    {"IsFiniteResult", "%0 = array.is_finite %x : <f32[8, 4]> -> <f32[8, 4]>", "has a bool result, got f32[8, 4]"},
    {"Bitwise", "%0 = array.xor %x, %x : <f32[8, 4]>", "requires integers or bools, got f32[8, 4]"},
    {"Shift", "%0 = array.shift_left %p, %p : <bool[8, 4]>", "requires integers, got bool[8, 4]"},
    {"CompareResult", "%0 = array.compare lt %x, %x : <f32[8, 4]>, <f32[8, 4]> -> <i32[8, 4]>",
     "has a bool result, got i32[8, 4]"},
    {"CompareOperands", "%0 = array.compare lt %x, %i : <f32[8, 4]>, <i32[8, 4]> -> <bool[8, 4]>",
     "requires one element type, got f32[8, 4] and i32[8, 4]"},
    {"SelectPredicate", "%0 = array.select %i, %x, %x : <i32[8, 4]>, <f32[8, 4]>, <f32[8, 4]> -> <f32[8, 4]>",
     "requires bools, got i32[8, 4]"},
    {"SelectOperands", "%0 = array.select %p, %x, %i : <bool[8, 4]>, <f32[8, 4]>, <i32[8, 4]> -> <f32[8, 4]>",
     "requires one element type, got f32[8, 4] and i32[8, 4]"},
};

const WrongText kArray[] = {
    {"SameShape", "%0 = array.add %x, %w : (<f32[8, 4]>, <f32[4, 3]>) -> <f32[8, 4]>",
     "operand 1 is f32[4, 3], the result f32[8, 4]; shapes must agree"},
    {"SameElementType", "%0 = array.add %x, %i : (<f32[8, 4]>, <i32[8, 4]>) -> <f32[8, 4]>",
     "operand 1 is i32[8, 4], the result f32[8, 4]; element types must agree"},
    {"ConstantType", "%0 = array.constant dense<1.0> : tensor<3xf32> -> <f32[4]>", "result must be f32[3], got f32[4]"},
    {"IotaOfBool", "%0 = array.iota dim 0 : <bool[3]>", "requires an element type of numbers, got bool[3]"},
    {"IotaDim", "%0 = array.iota dim 1 : <f32[3]>", "dimension 1 is outside the rank 1"},
    {"BroadcastRank", "%0 = array.broadcast_in_dim %x dims [0] : <f32[8, 4]> -> <f32[8, 4]>",
     "requires one result dimension for each operand dimension"},
    {"BroadcastOrder", "%0 = array.broadcast_in_dim %x dims [1, 0] : <f32[8, 4]> -> <f32[4, 8]>",
     "requires increasing dimensions"},
    {"BroadcastSize", "%0 = array.broadcast_in_dim %x dims [0, 1] : <f32[8, 4]> -> <f32[8, 5]>",
     "operand dimension 1 of size 4 cannot become 1 of size 5"},
    {"ReshapeCount", "%0 = array.reshape %x : <f32[8, 4]> -> <f32[31]>", "f32[8, 4] has 32 elements, f32[31] has 31"},
    {"TransposeTwice", "%0 = array.transpose %x perm [0, 0] : <f32[8, 4]> -> <f32[8, 8]>",
     "dimension 0 is named twice"},
    {"TransposeRank", "%0 = array.transpose %x perm [0] : <f32[8, 4]> -> <f32[8]>",
     "requires a permutation of all dimensions"},
    {"SliceLimit", "%0 = array.slice %x [0, 0] to [9, 4] step [1, 1] : <f32[8, 4]> -> <f32[9, 4]>",
     "cannot take [0:9:1] of dimension 0 of f32[8, 4]"},
    {"SliceStep", "%0 = array.slice %x [0, 0] to [8, 4] step [1, 0] : <f32[8, 4]> -> <f32[8, 4]>",
     "cannot take [0:4:0] of dimension 1"},
    {"SliceRank", "%0 = array.slice %x [0] to [8] step [1] : <f32[8, 4]> -> <f32[8, 4]>",
     "requires start, limit and step for each dimension"},
    {"SliceResult", "%0 = array.slice %x [0, 0] to [8, 4] step [3, 1] : <f32[8, 4]> -> <f32[2, 4]>",
     "result must be f32[3, 4], got f32[2, 4]"},
    {"PadValue",
     "%0 = array.pad %x with %x low [0, 0] high [0, 0] interior [0, 0] : <f32[8, 4]>, <f32[8, 4]> -> <f32[8, 4]>",
     "pads f32[8, 4] with a scalar of its dtype, got f32[8, 4]"},
    {"PadCutsTooMuch",
     "%0 = array.pad %x with %s low [-5, 0] high [-4, 0] interior [0, 0] : <f32[8, 4]>, <f32[]> -> <f32[0, 4]>",
     "removes more of dimension 0 than its 8 elements"},
    {"PadInterior",
     "%0 = array.pad %x with %s low [0, 0] high [0, 0] interior [-1, 0] : <f32[8, 4]>, <f32[]> -> <f32[8, 4]>",
     "interior padding cannot be negative"},
    {"ConcatenateSizes",
     "%0 = array.concatenate %x, %w dim 0 : !spmd.array<f32[8, 4]>, !spmd.array<f32[4, 3]> -> <f32[12, 4]>",
     "cannot concatenate f32[8, 4] and f32[4, 3] along dimension 0"},
    {"ReverseDim", "%0 = array.reverse %x dims [2] : <f32[8, 4]> -> <f32[8, 4]>", "dimension 2 is outside the rank 2"},
    {"DotSizes",
     "%0 = array.dot_general %x, %w contract [0] x [0] batch [] x [] : <f32[8, 4]>, <f32[4, 3]> -> <f32[4, 3]>",
     "dimension 0 of f32[8, 4] and dimension 0 of f32[4, 3] differ in size"},
    {"DotPairs",
     "%0 = array.dot_general %x, %w contract [1] x [] batch [] x [] : <f32[8, 4]>, <f32[4, 3]> -> <f32[8, 3]>",
     "requires as many dimensions of lhs as of rhs"},
    {"DotAccumulation",
     "%0 = array.dot_general %i, %i contract [1] x [1] batch [] x [] : <i32[8, 4]>, <i32[8, 4]> -> <f32[8, 8]>",
     "cannot accumulate i32[8, 4] in f32[8, 8]"},
    {"EinsumOne", "%0 = array.einsum %x labels [[0, 1]] -> [0, 1] : !spmd.array<f32[8, 4]> -> <f32[8, 4]>",
     "requires at least two operands"},
    {"EinsumLists",
     "%0 = array.einsum %x, %w labels [[0, 1]] -> [0, 1] : !spmd.array<f32[8, 4]>, !spmd.array<f32[4, 3]> -> <f32[8, "
     "4]>",
     "requires a list of labels for each operand"},
    {"EinsumRank",
     "%0 = array.einsum %x, %w labels [[0, 1], [1]] -> [0] : !spmd.array<f32[8, 4]>, !spmd.array<f32[4, 3]> -> "
     "<f32[8]>",
     "operand 1 requires one label for each of its dimensions, none twice"},
    {"EinsumDiagonal",
     "%0 = array.einsum %x, %w labels [[0, 1], [1, 1]] -> [0] : !spmd.array<f32[8, 4]>, !spmd.array<f32[4, 3]> -> "
     "<f32[8]>",
     "operand 1 requires one label for each of its dimensions, none twice"},
    {"EinsumTypes",
     "%0 = array.einsum %x, %i labels [[0, 1], [0, 1]] -> [0] : !spmd.array<f32[8, 4]>, !spmd.array<i32[8, 4]> -> "
     "<f32[8]>",
     "element types differ: i32[8, 4] and f32[8]"},
    {"EinsumSizes",
     "%0 = array.einsum %x, %w labels [[0, 1], [2, 1]] -> [0, 2] : !spmd.array<f32[8, 4]>, !spmd.array<f32[4, 3]> -> "
     "<f32[8, 4]>",
     "dimensions with the label 1 differ in size: 4 and 3 in f32[4, 3]"},
    {"EinsumResultTwice",
     "%0 = array.einsum %x, %w labels [[0, 1], [1, 2]] -> [0, 0, 2] : !spmd.array<f32[8, 4]>, !spmd.array<f32[4, 3]> "
     "-> <f32[8, 8, 3]>",
     "has the same label twice in its result"},
    {"EinsumNowhere",
     "%0 = array.einsum %x, %w labels [[0, 1], [1, 2]] -> [0, 2, 5] : !spmd.array<f32[8, 4]>, !spmd.array<f32[4, 3]> "
     "-> <f32[8, 3, 1]>",
     "has the label 5 in its result, but in no operand"},
    {"EinsumAlone",
     "%0 = array.einsum %x, %w labels [[0, 1], [1, 2]] -> [0] : !spmd.array<f32[8, 4]>, !spmd.array<f32[4, 3]> -> "
     "<f32[8]>",
     "has the label 2 in one operand only: reduce that dimension first"},
    {"EinsumResult",
     "%0 = array.einsum %x, %w labels [[0, 1], [1, 2]] -> [2, 0] : !spmd.array<f32[8, 4]>, !spmd.array<f32[4, 3]> -> "
     "<f32[8, 3]>",
     "result must be f32[3, 8], got f32[8, 3]"},
    {"ReduceResult", "%0 = array.reduce sum %x dims [1] : <f32[8, 4]> -> <f32[4]>",
     "result must be f32[8], got f32[4]"},
    {"ArgReduceEmpty", "%0 = array.arg_reduce %e max = true dim 1 : <f32[8, 0]> -> <i32[8]>",
     "dimension 1 of f32[8, 0] is empty: it has no extreme element"},
    {"ArgReduceIsInteger", "%0 = array.arg_reduce %x max = true dim 1 : <f32[8, 4]> -> <f32[8]>",
     "positions are i32 or i64, got f32[8]"},
    {"ArgReduceResult", "%0 = array.arg_reduce %x max = true dim 1 : <f32[8, 4]> -> <i64[4]>",
     "result must be i64[8], got i64[4]"},
    {"CumulativeDim", "%0 = array.cumulative sum %x dim 2 : <f32[8, 4]> -> <f32[8, 4]>",
     "dimension 2 is outside the rank 2"},
    {"CumulativeContinued", "%0 = array.cumulative sum %x dim 0 continued : <f32[8, 4]> -> <f32[8, 4]>",
     "has no dimension before dimension 0 to continue from"},
    {"FftElement", "%0 = array.fft %i dim 0 length 8 divisor 1 : <i32[8, 4]> -> <i32[8, 4]>",
     "requires f32 or f64, got i32[8, 4]"},
    {"FftDim", "%0 = array.fft %x dim 1 length 4 divisor 1 : <f32[8, 4]> -> <f32[8, 4]>",
     "dimension 1 is outside the rank 1"},
    {"FftPrime", "%0 = array.fft %x dim 0 length 131 divisor 1 : <f32[8, 4]> -> <f32[8, 4]>",
     "requires a length whose primes are at most 127, got 131"},
    {"FftDivisor", "%0 = array.fft %x dim 0 length 8 divisor 0 : <f32[8, 4]> -> <f32[8, 4]>",
     "requires a positive divisor, got 0"},
    {"FftRank", "%0 = array.fft %x dim 0 length 8 divisor 1 : <f32[8, 4]> -> <f32[8]>",
     "keeps the number of dimensions, got f32[8, 4] and f32[8]"},
    {"FftParts", "%0 = array.fft %x dim 0 length 8 divisor 1 : <f32[8, 4]> -> <f32[8, 4]>",
     "requires two parts in the last dimension, on one side also one, got 4 and 4"},
    {"FftOfReal", "%0 = array.fft %h dim 0 length 8 inverse divisor 1 : <f32[8, 1]> -> <f32[5, 2]>",
     "f32[8, 1] is real: its transform is not inverse"},
    {"FftToReal", "%0 = array.fft %c dim 0 length 14 divisor 1 : <f32[8, 2]> -> <f32[14, 1]>",
     "f32[8, 2] has a real result: its transform is inverse"},
    {"FftLength", "%0 = array.fft %c dim 0 length 9 divisor 1 : <f32[8, 2]> -> <f32[9, 2]>",
     "f32[8, 2] needs 9 elements in dimension 0"},
    {"FftResult", "%0 = array.fft %h dim 0 length 8 divisor 1 : <f32[8, 1]> -> <f32[8, 2]>",
     "result must be f32[5, 2], got f32[8, 2]"},
};

const WrongText kSpmd[] = {
    {"AxisTwice", "%0 = spmd.constraint %x : <f32[8, 4]> -> <f32[8@a, 4@a]>", "axis 'a' is used twice"},
    {"SubAxesOverlap", "%0 = spmd.constraint %x : <f32[8, 4]> -> <f32[8@a, 4@\"a:(1)2\"]>", "axis 'a' is used twice"},
    {"UnreducedTwice", "%0 = spmd.constraint %x : <f32[8, 4]> -> <f32[8@a, 4] unreduced(a)>", "axis 'a' is used twice"},
    {"BadText", "%0 = spmd.constraint %x : <f32[8, 4]> -> <f32[8@\"(a\", 4]>",
     "expected the sharding of a dimension in the language's syntax, got '(a'"},
    {"ConstraintShape", "%0 = spmd.constraint %x : <f32[8, 4]> -> <f32[4, 8]>", "may change only the sharding"},
    {"ReshardType", "%0 = spmd.reshard %x : <f32[8, 4]> -> <i32[8, 4]>", "may change only the sharding"},
    {"UnknownAxis", "%0 = spmd.all_reduce sum %x over <c> : <f32[8, 4]> -> <f32[8, 4]>",
     "names axis 'c', which the mesh does not have"},
    {"SubAxisDoesNotDivide", "%0 = spmd.all_reduce sum %x over <a:(1)3> : <f32[8, 4]> -> <f32[8, 4]>",
     "part a:(1)3 does not divide axis 'a' of size 4"},
    {"AllReduceType", "%0 = spmd.all_reduce sum %x over <a> : <f32[8, 4]> -> <f32[4, 8]>",
     "result must have the operand's type"},
    {"AllGatherPiece", "%0 = spmd.all_gather %x dim 0 over <a> : <f32[8, 4]> -> <f32[40, 4]>",
     "operand must be a shard of the result: expected f32[10, 4], got f32[8, 4]"},
    {"AllGatherDim", "%0 = spmd.all_gather %x dim 2 over <a> : <f32[8, 4]> -> <f32[32, 4]>", "has no dimension 2"},
    {"AllSlicePiece", "%0 = spmd.all_slice %x dim 0 over <a> : <f32[8, 4]> -> <f32[4, 4]>",
     "result must be a shard of the operand: expected f32[2, 4], got f32[4, 4]"},
    {"ReduceScatterPiece", "%0 = spmd.reduce_scatter sum %x dim 1 over <a> : <f32[8, 4]> -> <f32[2, 4]>",
     "result must be a shard of the operand: expected f32[8, 1], got f32[2, 4]"},
    {"AllToAllOneDim", "%0 = spmd.all_to_all %x split 0 concat 0 over <b> : <f32[8, 4]> -> <f32[8, 4]>",
     "splits and concatenates the same dimension"},
    {"AllToAllPiece", "%0 = spmd.all_to_all %x split 1 concat 0 over <b> : <f32[8, 4]> -> <f32[16, 4]>",
     "result must be a shard along the split dimension: expected f32[16, 2], got f32[16, 4]"},
    {"PermuteTarget", "%0 = spmd.collective_permute %x pairs [0, 1, 1, 1] over <b> : <f32[8, 4]> -> <f32[8, 4]>",
     "position 1 occurs twice as a target"},
    {"PermuteOutside", "%0 = spmd.collective_permute %x pairs [0, 2] over <b> : <f32[8, 4]> -> <f32[8, 4]>",
     "position 2 is outside the group of 2"},
    {"BroadcastResult",
     "%r = array.constant dense<1> : tensor<i32> -> <i32[]>\n%0 = spmd.collective_broadcast %x from %r over <b> : "
     "<f32[8, 4]>, "
     "<i32[]> -> <f32[4, 4]>",
     "result must have the operand's type: expected f32[8, 4], got f32[4, 4]"},
    {"BroadcastRoot", "%0 = spmd.collective_broadcast %x from %x over <b> : <f32[8, 4]>, <f32[8, 4]> -> <f32[8, 4]>",
     "root must be i32[], got f32[8, 4]"},
    {"BroadcastAxis",
     "%r = array.constant dense<1> : tensor<i32> -> <i32[]>\n%0 = spmd.collective_broadcast %x from %r over <z> : "
     "<f32[8, 4]>, "
     "<i32[]> -> <f32[8, 4]>",
     "names axis 'z', which the mesh does not have"},
    {"ExchangeOperand",
     "%0 = spmd.exchange %x over <a> from !spmd.array<f32[8@a, 4]> to !spmd.array<f32[8, 4@a]> : <f32[8, 4]> -> "
     "<f32[8, 1]>",
     "operand must be the local shard: expected f32[2, 4], got f32[8, 4]"},
    {"ExchangeElements",
     "%0 = spmd.exchange %x over <a> from !spmd.array<f32[32@a, 4]> to !spmd.array<f32[4, 31@a]> : <f32[8, 4]> -> "
     "<f32[4, 8]>",
     "must keep the elements and their order"},
    {"ExchangeWindows",
     "%0 = spmd.exchange %x over <a> from !spmd.array<f32[32@a, 4]> to !spmd.array<f32[38@a, 4]> moves "
     "[#spmd.move<shift = -1, length = 10, step = 1, base = 32>, #spmd.move<>] : <f32[8, 4]> -> <f32[10, 4]>",
     "splits 38 elements into 4 windows of 10"},
    {"ExchangeWindowsBackwards",
     "%0 = spmd.exchange %x over <a> from !spmd.array<f32[32@a, 4]> to !spmd.array<f32[40@a, 4]> moves "
     "[#spmd.move<shift = -1, length = 10, step = -1, base = 32>, #spmd.move<>] : <f32[8, 4]> -> <f32[10, 4]>",
     "has windows with a negative stride: strided by 1, for 32 by -1"},
    {"ExchangeMoves",
     "%0 = spmd.exchange %x over <a> from !spmd.array<f32[32@a, 4]> to !spmd.array<f32[32@a, 4]> moves "
     "[#spmd.move<shift = 1>] : <f32[8, 4]> -> <f32[8, 4]>",
     "must give a move for each dimension and keep the element type; it maps f32[32@a, 4] to f32[32@a, 4] with 1 "
     "moves"},
    {"ExchangeBlocks",
     "%0 = spmd.exchange %x over <a> from !spmd.array<f32[32@a, 4]> to !spmd.array<f32[32@a, 4]> moves "
     "[#spmd.move<block = 5>, #spmd.move<>] : <f32[8, 4]> -> <f32[8, 4]>",
     "takes 32 elements in blocks of 5"},
    {"ExchangeBlocksOperand",
     "%0 = spmd.exchange %x over <a> from !spmd.array<f32[30@a, 4]> to !spmd.array<f32[32@a, 4]> moves "
     "[#spmd.move<block = 5>, #spmd.move<>] : <f32[8, 4]> -> <f32[8, 4]>",
     "operand must be the local shard: expected f32[10, 4], got f32[8, 4]"},
    {"CoordinateType", "%0 = spmd.shard_start 8 over <a> : <f32[]>", "result must be i32[] or i64[], got f32[]"},
    {"AxisIndexWide", "%0 = spmd.axis_index <a> : <i64[]>", "result must be i32[], got i64[]"},
    {"AxisIndexType", "%0 = spmd.axis_index <a> : <i32[1]>", "result must be i32[], got i32[1]"},
    {"AxisIndexAxis", "%0 = spmd.axis_index <c> : <i32[]>", "names axis 'c', which the mesh does not have"},
    {"UnknownDtype", "%0 = spmd.constraint %x : <f32[8, 4]> -> <f31[8, 4]>", "unknown dtype 'f31'"},
};

INSTANTIATE_TEST_SUITE_P(Epilogue, ErrorsTest, ::testing::ValuesIn(kEpilogue),
                         [](const auto &info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Array, ErrorsTest, ::testing::ValuesIn(kArray),
                         [](const auto &info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(ElementTypes, ErrorsTest, ::testing::ValuesIn(kElementTypes),
                         [](const auto &info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Gradient, ErrorsTest, ::testing::ValuesIn(kGradient),
                         [](const auto &info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Spmd, ErrorsTest, ::testing::ValuesIn(kSpmd),
                         [](const auto &info) { return info.param.name; });

class ModuleErrorsTest : public IrTest {};

TEST_F(ModuleErrorsTest, MeshWithOneNameTwice) {
  EXPECT_FALSE(parse("module attributes {spmd.mesh = #spmd.mesh<m, a=4, a=2>} {}"));
  EXPECT_NE(diagnosticText().find("the mesh has two axes 'a'"), std::string::npos) << diagnosticText();
}

TEST_F(ModuleErrorsTest, MeshOnAFunction) {
  EXPECT_FALSE(parse("func.func private @f() attributes {spmd.mesh = #spmd.mesh<m, a=4>}"));
  EXPECT_NE(diagnosticText().find("only a module has one"), std::string::npos) << diagnosticText();
}

TEST_F(ModuleErrorsTest, KernelWhoseNameNoAssemblerTakes) {
  for (const char *name : {"\"0\"", "\"7up\"", "\"a.b\"", "\"a b\"", "\"\""}) {
    EXPECT_FALSE(parse("plan.kernel @" + std::string(name) +
                       "(%x: !spmd.array<f32[2]>) { plan.return %x : !spmd.array<f32[2]> }"));
    EXPECT_NE(diagnosticText().find("is not a letter followed by letters, digits and underscores"), std::string::npos)
        << name << ": " << diagnosticText();
  }
  EXPECT_TRUE(parse("plan.kernel @exp_sum_0(%x: !spmd.array<f32[2]>) { plan.return %x : !spmd.array<f32[2]> }"))
      << diagnosticText();
}

TEST_F(ModuleErrorsTest, KernelThatDoesNotReturn) {
  EXPECT_FALSE(parse("plan.kernel @k(%x: !spmd.array<f32[2]>) { plan.yield }"));
  EXPECT_NE(diagnosticText().find("must end in plan.return"), std::string::npos) << diagnosticText();
}

TEST_F(ModuleErrorsTest, TooManyBytes) {
  EXPECT_TRUE(parse("func.func private @f(!spmd.array<f32[18014398509481984]>)"));
  for (const char *shape :
       {"18014398509481985", "4611686018427387905", "4294967296, 4294967296", "0, 9223372036854775807"}) {
    EXPECT_FALSE(parse("func.func private @f(!spmd.array<f32[" + std::string(shape) + "]>)"));
    EXPECT_NE(diagnosticText().find("cannot have more than 2^56 bytes"), std::string::npos) << diagnosticText();
  }
}

} // namespace
