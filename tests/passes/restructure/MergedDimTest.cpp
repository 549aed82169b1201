//===- MergedDimTest.cpp - merged dimensions against owned elements -------===//

#include "passes/restructure/MergedDim.h"

#include "ir/evaluate/GlobalEvaluator.h"
#include "tests/passes/reshard/Shardings.h"
#include "tests/passes/support/ParsedFunction.h"

using namespace mlir;

namespace spmdc {
namespace {

struct MergedCase {
  std::string axes;
  std::vector<int64_t> shape;
};

class MergedDims : public ParsedFunction, public ::testing::WithParamInterface<MergedCase> {};

// For every sharding of an array whose dimensions a reshape merges: row s of `toShards` has the elements that the
// devices of shard s own, in their order, and padding; and `fromShards` is the inverse.
TEST_P(MergedDims, ShardsHaveTheElementsOfTheirDevices) {
  const std::vector<int64_t> &shape = GetParam().shape;
  int64_t total = 1;
  std::string dims;
  for (int64_t size : shape) {
    total *= size;
    dims += (dims.empty() ? "" : ", ") + std::to_string(size) + "@_";
  }
  unsigned merged = 0;
  for (const spmd::Sharding &sharding : listShardings(shape.size(), {{"a"}, {"b"}})) {
    std::string flat = "<f32[" + std::to_string(total) + "@_]>";
    parse(GetParam().axes, {"f32[" + dims + "]"}, "%y = array.reshape %x0 : <f32[" + dims + "]> -> " + flat,
          flat.substr(1, flat.size() - 2));
    SCOPED_TRACE(sharding.str());
    spmd::MeshShape shapeOfMesh = mesh();
    auto reshape = get<ReshapeOp>();
    argument(0).setType(typeOf(argument(0)).withSharding(ShardingAttr::fromValue(&context, sharding)));
    std::optional<MergedDim> dim = MergedDim::of(reshape.getResult(), 0, shapeOfMesh);
    if (!dim || !dim->isMerged())
      continue;
    ++merged;
    EXPECT_EQ(dim->getSize(), total);
    // Some device has no contiguous run of elements.
    bool areRuns = true;
    int64_t shards = 1, largest = 0;
    for (const AxisRefs &list : sharding.dims)
      shards *= sizeOf(shapeOfMesh, list);
    for (int64_t device = 0; device < shapeOfMesh.deviceCount(); ++device) {
      std::vector<int64_t> owned = listOwned(shapeOfMesh, shape, sharding, device);
      largest = std::max(largest, static_cast<int64_t>(owned.size()));
      areRuns &= owned.empty() || owned.back() - owned.front() + 1 == static_cast<int64_t>(owned.size());
    }
    bool isEven = shards * largest == total;
    if (isEven)
      EXPECT_FALSE(areRuns);
    EXPECT_FALSE(dim->hasRuns());
    EXPECT_EQ(dim->getNumShards(), shards);
    EXPECT_EQ(dim->getShardSize(), largest);
    EXPECT_EQ(dim->isPadded(), !isEven);

    OpBuilder builder(function().getBody().front().getTerminator());
    Value rows = dim->toShards(builder, reshape.getLoc(), argument(0), Scalar::ofFloat(-1));
    Value back = dim->fromShards(builder, reshape.getLoc(), rows);
    EXPECT_EQ(back.getType(), argument(0).getType());
    Operation *end = function().getBody().front().getTerminator();
    end->setOperands({rows, back});
    function().setType(builder.getFunctionType(function().getArgumentTypes(), {rows.getType(), back.getType()}));
    ASSERT_TRUE(succeeded(module->verify()));
    Tensor numbers(shape, builder.getF32Type());
    for (int64_t i = 0; i < total; ++i)
      numbers.elements[i] = Scalar::ofFloat(static_cast<double>(i));
    auto results = evaluateGlobal(function(), {numbers});
    ASSERT_TRUE(succeeded(results));
    for (int64_t i = 0; i < total; ++i)
      EXPECT_EQ((*results)[1].elements[i].f, static_cast<double>(i));
    spmd::Sharding ofRows = typeOf(rows).getShardingOrOpen().toValue();
    for (int64_t device = 0; device < shapeOfMesh.deviceCount(); ++device) {
      std::vector<int64_t> found, owned = listOwned(shapeOfMesh, shape, sharding, device);
      for (int64_t i : listOwned(shapeOfMesh, {shards, largest}, ofRows, device))
        if (double element = (*results)[0].elements[i].f; element >= 0)
          found.push_back(static_cast<int64_t>(element));
      EXPECT_EQ(found, owned) << device;
    }
  }
  EXPECT_GT(merged, 0u);
}

INSTANTIATE_TEST_SUITE_P(Shapes, MergedDims,
                         ::testing::Values(MergedCase{"a=2, b=2", {4, 6}}, MergedCase{"a=2, b=3", {5, 7}},
                                           MergedCase{"a=2, b=1", {1, 4, 6}}, MergedCase{"a=2, b=2", {2, 3, 4}}));

class MergedDimTest : public ParsedFunction {};

TEST_F(MergedDimTest, DimensionsOfOneArray) {
  parse("a=2, b=3", {"f32[10@\"(a, b)\", 4@_]"}, "%y = array.exp %x0 : <f32[10@\"(a, b)\", 4@_]>",
        "f32[10@\"(a, b)\", 4@_]");
  MergedDim dim = *MergedDim::of(get<ExpOp>(), 0, mesh());
  EXPECT_FALSE(dim.isMerged());
  EXPECT_TRUE(dim.hasRuns());
  EXPECT_EQ(dim.countAxes(), 2u);
  EXPECT_EQ(dim.getNumShards(), 2 * 3);
  EXPECT_EQ(dim.getShardSize(), 2); // ceil(ceil(10 / 2) / 3)
  EXPECT_TRUE(dim.isPadded());
  EXPECT_EQ(dim.typeOfShards(Float32Type::get(&context), 7), type("f32[6@\"(a, b)\", 7@_, 4@_]"));
  EXPECT_EQ(dim.typeOfJoined(Float32Type::get(&context), 7), type("f32[42@\"(a, b)\", 4@_]"));
  EXPECT_FALSE(MergedDim::of(get<ExpOp>(), 1, mesh())); // Not sharded.
}

} // namespace
} // namespace spmdc
