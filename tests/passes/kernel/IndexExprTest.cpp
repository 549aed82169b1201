//===- IndexExprTest.cpp - symbolic positions in arrays -------------------===//

#include "passes/kernel/IndexExpr.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

using namespace spmdc;

namespace {

int64_t floorDivide(int64_t x, int64_t y) { return x >= 0 ? x / y : -((-x + y - 1) / y); }

/// The value of an expression for these values of its variables, in the order of their creation. No dividend is
/// negative: generated code divides without signs.
int64_t evaluate(const IndexSpace &space, const IndexExpr &expr, const std::vector<int64_t> &variables) {
  int64_t sum = expr.constant;
  for (const auto &[number, coefficient] : expr.terms) {
    const IndexSpace::Atom &atom = space.getAtom(number);
    int64_t value = 0;
    if (atom.kind == IndexSpace::Atom::Variable) {
      value = variables[number];
    } else {
      int64_t operand = evaluate(space, atom.operand, variables);
      EXPECT_GE(operand, 0);
      int64_t quotient = floorDivide(operand, atom.divisor);
      value = atom.kind == IndexSpace::Atom::FloorDiv ? quotient : operand - quotient * atom.divisor;
    }
    sum += coefficient * value;
  }
  return sum;
}

} // namespace

// A reshape and its inverse cancel.
TEST(IndexExpr, ReshapesCancel) {
  IndexSpace space;
  llvm::SmallVector<int64_t> shape{4, 6, 35}, other{8, 7, 15};
  llvm::SmallVector<IndexExpr> index;
  for (int64_t size : shape)
    index.push_back(space.createVariable(0, size - 1));
  IndexExpr position = space.linearize(index, shape);
  llvm::SmallVector<IndexExpr> there = space.delinearize(position, other);
  EXPECT_TRUE(space.linearize(there, other) == position);
  llvm::SmallVector<IndexExpr> back = space.delinearize(space.linearize(there, other), shape);
  for (size_t d = 0; d < shape.size(); ++d)
    EXPECT_TRUE(back[d] == index[d]) << d;
}

// Bounds make divisions disappear: (8 i + j) div 8 is i for j below 8, and not for j below 9.
TEST(IndexExpr, BoundsDecide) {
  IndexSpace space;
  IndexExpr i = space.createVariable(0, 9), j = space.createVariable(0, 7), k = space.createVariable(0, 8);
  EXPECT_TRUE(space.floorDiv(space.add(space.scale(i, 8), j), 8) == i);
  EXPECT_TRUE(space.mod(space.add(space.scale(i, 8), j), 8) == j);
  EXPECT_EQ(space.countDivisions(space.floorDiv(space.add(space.scale(i, 8), k), 8)), 1u);
  // Common factors go first: (12 i + 4 j) mod 8 is 4 ((3 i + j) mod 2).
  IndexExpr mixed = space.mod(space.add(space.scale(i, 12), space.scale(j, 4)), 8);
  EXPECT_EQ(space.rangeOf(mixed).high, 4);
  // A dimension of size 1 has no variable.
  EXPECT_TRUE(space.createVariable(0, 0).isConstant());
}

// Rewriting does not change values: random expressions on random values, negative ones included.
TEST(IndexExpr, RewritingKeepsTheValue) {
  std::mt19937 random(20);
  auto pick = [&](int64_t low, int64_t high) { return low + static_cast<int64_t>(random() % (high - low + 1)); };
  for (int round = 0; round < 3000; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    IndexSpace space;
    std::vector<int64_t> values;
    std::vector<std::pair<IndexExpr, int64_t>> known;
    for (int i = 0; i < 3; ++i) {
      int64_t low = pick(-5, 0), high = low + pick(1, 40);
      IndexExpr variable = space.createVariable(low, high);
      values.push_back(pick(low, high));
      known.emplace_back(variable, values.back());
    }
    // Variables are created first, so that their numbers are those of `values`.
    for (int step = 0; step < 8; ++step) {
      auto [x, xValue] = known[random() % known.size()];
      auto [y, yValue] = known[random() % known.size()];
      int64_t number = pick(1, 12);
      std::pair<IndexExpr, int64_t> next;
      switch (random() % 5) {
      case 0:
        next = {space.add(x, y), xValue + yValue};
        break;
      case 1:
        next = {space.scale(x, pick(-4, 6)), 0};
        next.second = evaluate(space, next.first, values);
        EXPECT_EQ(xValue == 0 ? 0 : next.second % xValue, 0);
        break;
      case 2:
        next = {space.floorDiv(x, number), floorDivide(xValue, number)};
        break;
      case 3:
        next = {space.mod(x, number), xValue - floorDivide(xValue, number) * number};
        break;
      default:
        next = {space.add(space.scale(space.floorDiv(x, number), number), space.mod(x, number)), xValue};
        break;
      }
      ASSERT_EQ(evaluate(space, next.first, values), next.second);
      IndexRange range = space.rangeOf(next.first);
      EXPECT_LE(range.low, next.second);
      EXPECT_GE(range.high, next.second);
      known.push_back(next);
    }
  }
}
