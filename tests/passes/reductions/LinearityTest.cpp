//===- LinearityTest.cpp - linear operations against their results --------===//
//
// An operation that is listed as linear in some operands adds up: f(x + y) = f(x) + f(y), where x and y replace these
// operands together and the other operands stay. The reference evaluator computes both sides, of small integers.
//
//===----------------------------------------------------------------------===//

#include "passes/reductions/Linearity.h"

#include "ir/evaluate/GlobalEvaluator.h"
#include "tests/passes/support/ParsedFunction.h"

#include <random>

using namespace mlir;

namespace spmdc {
namespace {

class LinearityTest : public ParsedFunction {
protected:
  Operation *parseOne(const std::vector<std::string> &arguments, const std::string &body, const std::string &result) {
    parse("a=2", arguments, body, result);
    return function().getBody().front().getTerminator()->getOperand(0).getDefiningOp();
  }
  /// Whether the result adds up in these operands, which are arguments.
  bool addsUp(Operation *op, ArrayRef<unsigned> operands) {
    std::mt19937 random(1);
    std::vector<Tensor> x, y, both;
    for (BlockArgument argument : function().getArguments()) {
      ArrayType type = typeOf(argument);
      bool isTerm = llvm::any_of(operands, [&](unsigned index) { return op->getOperand(index) == argument; });
      for (std::vector<Tensor> *list : {&x, &y, &both})
        list->emplace_back(type.getShape(), type.getElementType());
      for (int64_t i = 0; i < x.back().size(); ++i) {
        bool isFloat = isa<FloatType>(type.getElementType());
        auto of = [&](int value) { return isFloat ? Scalar::ofFloat(value) : Scalar::ofInt(value != 0); };
        int first = static_cast<int>(random() % 5) + 1, second = static_cast<int>(random() % 5) + 1;
        x.back().elements[i] = of(first);
        y.back().elements[i] = of(isTerm ? second : first);
        both.back().elements[i] = of(isTerm ? first + second : first);
      }
    }
    auto evaluate = [&](const std::vector<Tensor> &arguments) { return (*evaluateGlobal(function(), arguments))[0]; };
    Tensor ofX = evaluate(x), ofY = evaluate(y), ofBoth = evaluate(both);
    for (int64_t i = 0; i < ofX.size(); ++i)
      if (ofX.elements[i].f + ofY.elements[i].f != ofBoth.elements[i].f)
        return false;
    return true;
  }
  static SmallVector<unsigned> listAll(Operation *op) {
    return listLinear(op, [](Value) { return true; });
  }
};

const std::string kArray = "f32[4, 3]";

TEST_F(LinearityTest, ListedOperandsAddUp) {
  struct Case {
    std::vector<std::string> arguments;
    std::string body, result;
    size_t count; ///< Of operands in which it is linear together.
  };
  for (const Case &each : std::vector<Case>{
           {{kArray, kArray}, "%y = array.add %x0, %x1 : <f32[4, 3]>", kArray, 2},
           {{kArray, kArray}, "%y = array.subtract %x0, %x1 : <f32[4, 3]>", kArray, 2},
           {{kArray}, "%y = array.negate %x0 : <f32[4, 3]>", kArray, 1},
           {{kArray}, "%y = array.transpose %x0 perm [1, 0] : <f32[4, 3]> -> <f32[3, 4]>", "f32[3, 4]", 1},
           {{kArray}, "%y = array.reshape %x0 : <f32[4, 3]> -> <f32[12]>", "f32[12]", 1},
           {{kArray}, "%y = array.slice %x0 [1, 0] to [4, 3] step [2, 1] : <f32[4, 3]> -> <f32[2, 3]>", "f32[2, 3]", 1},
           {{kArray}, "%y = array.reverse %x0 dims [0] : <f32[4, 3]> -> <f32[4, 3]>", kArray, 1},
           {{"f32[3]"}, "%y = array.broadcast_in_dim %x0 dims [1] : <f32[3]> -> <f32[4, 3]>", kArray, 1},
           {{kArray}, "%y = array.reduce sum %x0 dims [1] : <f32[4, 3]> -> <f32[4]>", "f32[4]", 1},
           {{kArray, kArray},
            "%y = array.concatenate %x0, %x1 dim 0 : !spmd.array<f32[4, 3]>, !spmd.array<f32[4, 3]> -> <f32[8, 3]>",
            "f32[8, 3]",
            2},
           {{"bool[4, 3]", kArray, kArray},
            "%y = array.select %x0, %x1, %x2 : <bool[4, 3]>, <f32[4, 3]>, <f32[4, 3]> -> <f32[4, 3]>",
            kArray,
            2},
           {{kArray},
            "%c = array.constant dense<3.0> : tensor<4x3xf32> -> <f32[4, 3]>\n%y = array.multiply %x0, %c : <f32[4, "
            "3]>",
            kArray,
            1}}) {
    SCOPED_TRACE(each.body);
    Operation *op = parseOne(each.arguments, each.body, each.result);
    // A constant is no partial sum.
    SmallVector<unsigned> linear = listLinear(op, [](Value value) { return isa<BlockArgument>(value); });
    EXPECT_EQ(linear.size(), each.count);
    EXPECT_TRUE(addsUp(op, linear));
  }
}

TEST_F(LinearityTest, WhatDoesNotAddUpIsNotListed) {
  for (const char *body : {"%y = array.exp %x0 : <f32[4, 3]>", "%y = array.abs %x0 : <f32[4, 3]>",
                           "%y = array.maximum %x0, %x1 : <f32[4, 3]>", "%y = array.multiply %x0, %x0 : <f32[4, 3]>"}) {
    SCOPED_TRACE(body);
    Operation *op = parseOne({kArray, kArray}, body, kArray);
    EXPECT_TRUE(listAll(op).empty());
    if (!isa<AbsOp>(op)) // Of positive numbers, absolute values add up.
      EXPECT_FALSE(addsUp(op, {0}));
  }
  Operation *op = parseOne({kArray}, "%y = array.reduce max %x0 dims [1] : <f32[4, 3]> -> <f32[4]>", "f32[4]");
  EXPECT_TRUE(listAll(op).empty());
  EXPECT_FALSE(addsUp(op, {0}));
}

TEST_F(LinearityTest, OneValueAlone) {
  Operation *op = parseOne({kArray}, "%y = array.negate %x0 : <f32[4, 3]>", kArray);
  EXPECT_TRUE(isLinearIn(op->getOpOperand(0)));
  op = parseOne({kArray}, "%y = array.exp %x0 : <f32[4, 3]>", kArray);
  EXPECT_FALSE(isLinearIn(op->getOpOperand(0)));
  EXPECT_FALSE(isLinearCollective(op));
}

} // namespace
} // namespace spmdc
