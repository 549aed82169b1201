//===- ShardsTest.cpp - global arrays to shards and back ------------------===//

#include "ir/evaluate/Shards.h"
#include "tests/ir/support/IrTest.h"

#include <cmath>

using namespace spmdc;
using ::testing::Test;

namespace {

class ShardsTest : public IrTest {
protected:
  ArrayType type(llvm::StringRef text) {
    auto module = parseValid(("func.func private @f(!spmd.array<" + text + ">)").str());
    return llvm::cast<ArrayType>(functionOf(*module).getFunctionType().getInput(0));
  }
};

// Seven elements over two axes: the major axis gives 4 + 3, the minor one divides these into 2 + 2 and 2 + 1; the last
// shard is padded to the size of the others.
TEST_F(ShardsTest, NestedCeilingsLeavePaddingInTheLastPiece) {
  spmd::MeshShape mesh{{{"a", 2}, {"b", 2}}};
  DeviceTensors shards =
      splitIntoShards(i32({7}, {0, 1, 2, 3, 4, 5, 6}), type("i32[7@\"(a, b)\"]"), mesh, Poison::Huge);
  ASSERT_EQ(shards.size(), 4u);
  EXPECT_EQ(intsOf(shards[0]), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(intsOf(shards[1]), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(intsOf(shards[2]), (std::vector<int64_t>{4, 5}));
  EXPECT_EQ(intsOf(shards[3]), (std::vector<int64_t>{6, INT32_MIN}));
}

// The minor axis of the mesh shards the columns and the major axis the rows: device 1 holds the upper right block.
TEST_F(ShardsTest, DevicesAreNumberedWithTheFirstAxisMajor) {
  spmd::MeshShape mesh{{{"a", 2}, {"b", 2}}};
  DeviceTensors shards = splitIntoShards(iotaF32({2, 2}), type("f32[2@a, 2@b]"), mesh, Poison::Nan);
  EXPECT_EQ(floatsOf(shards[1]), (std::vector<double>{1}));
  EXPECT_EQ(floatsOf(shards[2]), (std::vector<double>{2}));
}

// Five elements on four devices: two each, so the third has one and the fourth only poison.
TEST_F(ShardsTest, EmptyShardIsAllPoison) {
  spmd::MeshShape mesh{{{"a", 4}}};
  DeviceTensors shards = splitIntoShards(iotaF32({5}), type("f32[5@a]"), mesh, Poison::Nan);
  EXPECT_EQ(shards[2].elements[0].f, 4);
  EXPECT_TRUE(std::isnan(shards[2].elements[1].f));
  EXPECT_TRUE(std::isnan(shards[3].elements[0].f) && std::isnan(shards[3].elements[1].f));
}

TEST_F(ShardsTest, JoiningUndoesCutting) {
  spmd::MeshShape mesh{{{"a", 4}, {"b", 2}}};
  Tensor global = iotaF32({7, 5});
  for (const char *text :
       {"f32[7, 5]", "f32[7@a, 5]", "f32[7@b, 5@a]", "f32[7@\"(b, a)\", 5]", "f32[7@\"a:(1)2\", 5@\"a:(2)2\"]"}) {
    std::string error;
    auto joined = assembleShards(splitIntoShards(global, type(text), mesh, Poison::Nan), type(text), mesh, error);
    ASSERT_TRUE(mlir::succeeded(joined)) << text << ": " << error;
    EXPECT_EQ(floatsOf(*joined), floatsOf(global)) << text;
  }
}

TEST_F(ShardsTest, JoiningNamesTheDevicesThatDisagree) {
  spmd::MeshShape mesh{{{"a", 2}, {"b", 2}}};
  DeviceTensors shards = splitIntoShards(iotaF32({4}), type("f32[4@a]"), mesh, Poison::Nan);
  shards[3].elements[1] = Scalar::ofFloat(9);
  std::string error;
  EXPECT_TRUE(mlir::failed(assembleShards(shards, type("f32[4@a]"), mesh, error)));
  EXPECT_NE(error.find("devices 2 and 3 disagree about element [3]"), std::string::npos) << error;
}

TEST_F(ShardsTest, UnreducedPiecesAreNotJoined) {
  spmd::MeshShape mesh{{{"a", 2}}};
  DeviceTensors shards(2, iotaF32({4}));
  std::string error;
  EXPECT_TRUE(mlir::failed(assembleShards(shards, type("f32[4] unreduced(a)"), mesh, error)));
  EXPECT_NE(error.find("unreduced"), std::string::npos);
}

} // namespace
