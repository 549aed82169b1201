//===- ConstantTest.cpp - arithmetic on compile-time numbers --------------===//

#include "frontend/emit/Constant.h"
#include "frontend/sema/Suggest.h"

#include <gtest/gtest.h>

using namespace spmdc;

namespace {

std::string fold(BinaryOp op, Constant a, Constant b) {
  std::string error;
  std::optional<Constant> result = foldBinary(op, a, b, error);
  return result ? result->str() : error;
}

std::string fold(BinaryOp op, int64_t a, int64_t b) { return fold(op, Constant::ofInt(a), Constant::ofInt(b)); }

// The expected values are Python's.
TEST(Constant, integers) {
  EXPECT_EQ(fold(BinaryOp::Divide, 6, 3), "2");
  EXPECT_EQ(fold(BinaryOp::Divide, 7, 2), "3.5");
  EXPECT_EQ(fold(BinaryOp::Divide, 1, 0), "division by zero");
  EXPECT_EQ(fold(BinaryOp::Remainder, -7, 3), "2");
  EXPECT_EQ(fold(BinaryOp::Remainder, 7, -3), "-2");
  EXPECT_EQ(fold(BinaryOp::Power, 2, 62), "4611686018427387904");
  EXPECT_EQ(fold(BinaryOp::Power, 2, -1), "0.5");
  EXPECT_EQ(fold(BinaryOp::Power, -3, 3), "-27");
  EXPECT_EQ(fold(BinaryOp::ShiftLeft, -3, 4), "-48");
  EXPECT_EQ(fold(BinaryOp::ShiftRight, -3, 1), "-2");
  EXPECT_EQ(fold(BinaryOp::LessEqual, 3, 3), "true");
}

// Integers are exact: what does not fit in 64 bits is an error, not a wrong number.
TEST(Constant, overflow) {
  const std::string overflow = "the integer does not fit in 64 bits";
  EXPECT_EQ(fold(BinaryOp::Add, INT64_MAX, 1), overflow);
  EXPECT_EQ(fold(BinaryOp::Subtract, INT64_MIN, 1), overflow);
  EXPECT_EQ(fold(BinaryOp::Multiply, INT64_MAX, 2), overflow);
  EXPECT_EQ(fold(BinaryOp::Power, 3, 41), overflow);
  EXPECT_EQ(fold(BinaryOp::ShiftLeft, 1, 63), overflow);
  EXPECT_EQ(fold(BinaryOp::Divide, INT64_MIN, -1), overflow);
  EXPECT_EQ(fold(BinaryOp::Remainder, INT64_MIN, -1), "0");
}

TEST(Constant, floatsAndBools) {
  EXPECT_EQ(fold(BinaryOp::Multiply, Constant::ofFloat(0.5), Constant::ofInt(4)), "2.0");
  EXPECT_EQ(fold(BinaryOp::Remainder, Constant::ofFloat(-5.5), Constant::ofInt(2)), "0.5");
  EXPECT_EQ(fold(BinaryOp::BitAnd, Constant::ofFloat(1), Constant::ofInt(4)),
            "'&' takes integers or bools, not floats");
  EXPECT_EQ(fold(BinaryOp::LogicalAnd, Constant::ofBool(true), Constant::ofInt(0)), "false");
  EXPECT_EQ(fold(BinaryOp::BitXor, Constant::ofBool(true), Constant::ofBool(false)), "true");
  EXPECT_EQ(fold(BinaryOp::Add, Constant::ofBool(true), Constant::ofBool(true)), "2");
}

TEST(Suggest, nearestName) {
  EXPECT_EQ(didYouMean("rleu", {"exp", "relu", "silu"}), "; did you mean 'relu'?");
  EXPECT_EQ(didYouMean("softmx", {"softmax"}), "; did you mean 'softmax'?");
  EXPECT_EQ(didYouMean("frobnicate", {"relu"}), "");
  EXPECT_EQ(didYouMean("q", {"x", "y"}), "");
  EXPECT_EQ(didYouMean("ab", {"ac", "ad"}), "");
  EXPECT_EQ(didYouMean("aab", {"ab", "ac"}), "; did you mean 'ab'?");
}

} // namespace
