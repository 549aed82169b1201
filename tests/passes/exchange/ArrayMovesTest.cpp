//===- ArrayMovesTest.cpp - composed moves against their elements ---------===//

#include "passes/exchange/ArrayMoves.h"

#include "tests/passes/support/ParsedFunction.h"

#include <random>

using namespace mlir;

namespace spmdc {
namespace {

class ArrayMovesTest : public ParsedFunction {
protected:
  template <typename Op> ShardingRuleOpInterface ruled(unsigned index = 0) {
    return cast<ShardingRuleOpInterface>(get<Op>(index).getOperation());
  }
};

/// The source element of each target element, by the definition in DimMoves.h; -1 for a filler.
std::vector<int64_t> evaluate(const spmd::DimMove &move, int64_t source, int64_t target) {
  std::vector<int64_t> elements(target, -1);
  for (int64_t i = std::max<int64_t>(0, move.begin); i < std::min(target, move.end); ++i) {
    int64_t place = move.shift + i * move.stride;
    if (move.wraps)
      elements[i] = ((place % source) + source) % source;
    else if (place >= 0 && place % move.dilation == 0 && place / move.dilation < source)
      elements[i] = place / move.dilation;
  }
  return elements;
}

// A move of a move has the elements of both, one after the other.
TEST_F(ArrayMovesTest, ComposedMovesHaveTheSameElements) {
  unsigned composed = 0, wrapped = 0;
  for (unsigned seed = 0; seed < 20000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    auto pick = [&](int64_t least, int64_t most) {
      return least + static_cast<int64_t>(random() % static_cast<unsigned>(most - least + 1));
    };
    auto make = [&](int64_t target) {
      spmd::DimMove move{pick(-4, 4), pick(1, 3), pick(0, target), 0};
      move.end = pick(move.begin, target);
      if (random() % 4 == 0) {
        move.wraps = true;
        move.stride = 1;
      } else if (random() % 3 == 0) {
        move.stride = 1;
        move.dilation = pick(2, 3);
      } else if (random() % 4 == 0) {
        move.stride = -move.stride;
        move.shift += target;
      }
      return move;
    };
    int64_t source = pick(1, 8), between = random() % 2 ? source : pick(1, 8), target = pick(1, 8);
    OpBuilder builder(&context);
    auto array = [&](int64_t size) {
      return builder.create<IotaOp>(builder.getUnknownLoc(), type("f32[" + std::to_string(size) + "]"), 0);
    };
    OwningOpRef<IotaOp> first = array(source), second = array(between);
    ArrayMove inner{first->getResult(), {make(between)}}, outer{second->getResult(), {make(target)}};
    std::optional<ArrayMove> both = composeMoves(outer, inner);
    if (!both)
      continue;
    ++composed;
    wrapped += both->dims[0].wraps;
    EXPECT_EQ(both->source, inner.source);
    std::vector<int64_t> ofInner = evaluate(inner.dims[0], source, between);
    std::vector<int64_t> ofOuter = evaluate(outer.dims[0], between, target);
    for (int64_t &element : ofOuter)
      element = element < 0 ? -1 : ofInner[element];
    EXPECT_EQ(evaluate(both->dims[0], source, target), ofOuter);
  }
  EXPECT_GT(composed, 5000u);
  EXPECT_GT(wrapped, 500u);
}

TEST_F(ArrayMovesTest, TheOnlyArrayThatAValueConsistsOf) {
  parse("a=2", {"f32[8@a]", "f32[]"},
        "%0 = array.slice %x0 [2] to [8] step [3] : <f32[8@a]> -> <f32[2@_]>\n%1 = array.exp %0 : <f32[2@_]>\n"
        "%2 = array.pad %x0 with %x1 low [1] high [0] interior [0] : <f32[8@a]>, <f32[]> -> <f32[9@_]>\n"
        "%3 = array.exp %2 : <f32[9@_]>\n"
        "%4 = array.slice %x0 [0] to [4] step [1] : <f32[8@a]> -> <f32[4@_]>\n%5 = array.add %4, %4 : <f32[4@_]>");
  std::optional<ArrayMove> slice = getOnlyMove(get<SliceOp>());
  ASSERT_TRUE(slice);
  EXPECT_EQ(slice->source, argument(0));
  EXPECT_EQ(evaluate(slice->dims[0], 8, 2), (std::vector<int64_t>{2, 5}));
  // A pad has other elements as well.
  EXPECT_FALSE(getOnlyMove(get<PadOp>()));
  Value outside;
  std::optional<ArrayMove> pad = getOnlyMove(get<PadOp>(), &outside);
  ASSERT_TRUE(pad);
  EXPECT_EQ(outside, argument(1));
  EXPECT_EQ(evaluate(pad->dims[0], 8, 9), (std::vector<int64_t>{-1, 0, 1, 2, 3, 4, 5, 6, 7}));
  // Two uses; and operations that compute.
  EXPECT_FALSE(getOnlyMove(get<SliceOp>(1)));
  EXPECT_FALSE(getOnlyMove(get<ExpOp>()));
  EXPECT_FALSE(getOnlyMove(argument(0)));
}

TEST_F(ArrayMovesTest, NearestMovesLookThroughSlices) {
  parse("a=2", {"f32[8@a]"},
        "%0 = array.slice %x0 [1] to [8] step [1] : <f32[8@a]> -> <f32[7@_]>\n"
        "%1 = array.slice %0 [1] to [7] step [2] : <f32[7@_]> -> <f32[3@_]>");
  SmallVector<Operation *> skipped;
  ArrayMoves moves = getNearestMoves(ruled<SliceOp>(1), &skipped);
  ASSERT_EQ(moves.parts.size(), 1u);
  EXPECT_EQ(moves.parts[0].source, argument(0));
  EXPECT_EQ(evaluate(moves.parts[0].dims[0], 8, 3), (std::vector<int64_t>{2, 4, 6}));
  EXPECT_EQ(skipped, SmallVector<Operation *>{get<SliceOp>(0)});
  // Not to an array that is not available.
  moves = getNearestMoves(ruled<SliceOp>(1), nullptr, [&](Value value) { return value != argument(0); });
  EXPECT_EQ(moves.parts[0].source, get<SliceOp>(0).getResult());
}

TEST_F(ArrayMovesTest, WhatNeedsAnExchange) {
  parse("a=2, b=2", {"f32[8@a, 4@_]"},
        "%0 = array.slice %x0 [0, 1] to [8, 3] step [1, 1] : <f32[8@a, 4@_]> -> <f32[8@a, 2@_]>\n"
        "%1 = array.slice %x0 [1, 0] to [5, 4] step [1, 1] : <f32[8@a, 4@_]> -> <f32[4@a, 4@_]>\n"
        "%2 = array.slice %x0 [0, 1] to [8, 3] step [1, 1] : <f32[8@a, 4@_]> -> <f32[8@b, 2@_]>\n"
        "%3 = array.exp %x0 : <f32[8@a, 4@_]>");
  EXPECT_FALSE(needsExchange(get<SliceOp>(0))); // Along the other dimension.
  EXPECT_TRUE(needsExchange(get<SliceOp>(1)));
  EXPECT_TRUE(needsExchange(get<SliceOp>(2))); // The sharding changes.
  EXPECT_FALSE(needsExchange(get<ExpOp>()));
}

} // namespace
} // namespace spmdc
