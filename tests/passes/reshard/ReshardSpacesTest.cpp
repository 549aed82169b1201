// The spaces and states that all reshards of an array share.

#include "passes/reshard/ReshardSpaces.h"

#include "ir/array/ArrayOps.h"

#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace spmdc {
namespace {

class ReshardSpacesTest : public ::testing::Test {
protected:
  ReshardSpacesTest() { context.loadDialect<SpmdDialect, ArrayDialect>(); }

  ShardingAttr attr(const spmd::Sharding &sharding) { return ShardingAttr::fromValue(&context, sharding); }

  MLIRContext context;
  const spmd::MeshShape mesh{{{"a", 2}, {"one", 1}, {"b", 4}}};
  ReshardSpaces spaces{mesh};
};

// An axis of one device is not an atom.
TEST_F(ReshardSpacesTest, StatesAreOverFullAxes) {
  const ReshardState *state = spaces.getState(attr({{{{"b"}}, {{"one"}}}, {{"a"}}}));
  ASSERT_TRUE(state);
  EXPECT_EQ(*state, ReshardState({{1}, {}}, {0}));
}

TEST_F(ReshardSpacesTest, PartsOfAxesHaveNoState) {
  EXPECT_FALSE(spaces.getState(attr({{{{"b", 1, 2}}}, {}})));
  EXPECT_FALSE(spaces.getState(attr({{{}}, {{"b", 2, 2}}})));
}

TEST_F(ReshardSpacesTest, AllShardingsOfAnArrayAreInOneSpace) {
  auto type = ArrayType::get({8, 8}, Float32Type::get(&context), attr({{{{"a"}}, {}}, {}}));
  const ReshardSpace &space = spaces.get(type);
  EXPECT_EQ(&spaces.get(type.withSharding(attr({{{}, {{"b"}}}, {}}))), &space);
  EXPECT_NE(&spaces.get(type.withShape({8, 16})), &space);
  EXPECT_TRUE(space.hasFullAxesOnly);
  EXPECT_EQ(space.localBytes(*spaces.getState(type.getShardingOrOpen())), 4 * 8 * 8 / 2);
}

} // namespace
} // namespace spmdc
