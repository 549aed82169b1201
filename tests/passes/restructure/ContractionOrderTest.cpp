//===- ContractionOrderTest.cpp - orders of products ----------------------===//

#include "passes/restructure/ContractionOrder.h"

#include "tests/passes/support/ParsedFunction.h"

#include <random>

using namespace mlir;

namespace spmdc {
namespace {

class ContractionOrderTest : public ParsedFunction {
protected:
  /// The product of unsharded matrices of these sizes on one device.
  EinsumOp parseChain(const std::vector<int64_t> &sizes) {
    std::vector<std::string> arguments;
    std::string operands, labels, types;
    for (size_t i = 0; i + 1 < sizes.size(); ++i) {
      arguments.push_back("f32[" + std::to_string(sizes[i]) + ", " + std::to_string(sizes[i + 1]) + "]");
      std::string comma = i ? ", " : "";
      operands += comma + "%x" + std::to_string(i);
      labels += comma + "[" + std::to_string(i) + ", " + std::to_string(i + 1) + "]";
      types += comma + "!spmd.array<" + arguments.back() + ">";
    }
    std::string result = "f32[" + std::to_string(sizes.front()) + ", " + std::to_string(sizes.back()) + "]";
    parse("a=1", arguments,
          "%y = array.einsum " + operands + " labels [" + labels + "] -> [0, " + std::to_string(sizes.size() - 1) +
              "] : " + types + " -> <" + result + ">",
          result);
    return get<EinsumOp>();
  }
  CostModel model;
};

/// The least multiply-adds of a product of matrices, by the classical recursion over its last product.
double countLeast(const std::vector<int64_t> &sizes, size_t begin, size_t end) {
  if (end - begin == 1)
    return 0;
  double least = std::numeric_limits<double>::infinity();
  for (size_t middle = begin + 1; middle < end; ++middle)
    least = std::min(least, countLeast(sizes, begin, middle) + countLeast(sizes, middle, end) +
                                static_cast<double>(sizes[begin]) * static_cast<double>(sizes[middle]) *
                                    static_cast<double>(sizes[end]));
  return least;
}

// On one device, the order of a chain of matrices is that of the fewest multiplications.
TEST_F(ContractionOrderTest, ChainsOfMatricesOnOneDevice) {
  model.flopsPerSecond = 1;
  model.memoryPerSecond = 1e30;
  std::mt19937 random(5);
  for (size_t count = 2; count <= kMostContracted; ++count)
    for (int round = 0; round < 3; ++round) {
      std::vector<int64_t> sizes;
      for (size_t i = 0; i <= count; ++i)
        sizes.push_back(1 + static_cast<int64_t>(random() % 30));
      EinsumOp op = parseChain(sizes);
      ReshardPlanner planner(mesh(), model);
      std::optional<ContractionOrder> order = findContractionOrder(planner, op);
      ASSERT_TRUE(order);
      EXPECT_EQ(order->steps.size(), count - 1);
      // Equal up to the tolerance with which prices are compared.
      double least = 2 * countLeast(sizes, 0, count);
      EXPECT_GE(order->price.seconds, least);
      EXPECT_LE(order->price.seconds, least * (1 + Price::kAlike));
    }
}

TEST_F(ContractionOrderTest, NamesOfOrders) {
  model.flopsPerSecond = 1;
  model.memoryPerSecond = 1e30;
  // 2 x 90, 90 x 2, 2 x 90: 2 * 90 * 2 products for the first two.
  EinsumOp op = parseChain({2, 90, 2, 90});
  ReshardPlanner planner(mesh(), model);
  ContractionOrder order = *findContractionOrder(planner, op);
  EXPECT_EQ(order.str(), "((0 * 1) * 2)");
  EXPECT_EQ(order.steps[0].type.getNumElements(), 2 * 2);
  EXPECT_EQ(order.price.linkBytes, 0);
}

// The first product sums over the sharded dimension of 64: its partial sums have the fewest elements. Each of 4 devices
// receives 3/4 of 2 * 3 elements, twice.
TEST_F(ContractionOrderTest, PartialSumsOfTheSmallestProduct) {
  model.link = {0, 1, 0};
  model.flopsPerSecond = model.memoryPerSecond = 1e30;
  parse("a=4", {"f32[2@_, 64@a]", "f32[64@a, 3@_]", "f32[3@_, 50@_]"},
        "%y = array.einsum %x0, %x1, %x2 labels [[0, 1], [1, 2], [2, 3]] -> [0, 3] : "
        "!spmd.array<f32[2@_, 64@a]>, !spmd.array<f32[64@a, 3@_]>, !spmd.array<f32[3@_, 50@_]> -> <f32[2@_, 50@_]>",
        "f32[2@_, 50@_]");
  ReshardPlanner planner(mesh(), model);
  ContractionOrder order = *findContractionOrder(planner, get<EinsumOp>());
  EXPECT_EQ(order.str(), "((0 * 1) * 2)");
  EXPECT_EQ(order.price.linkBytes, 2 * 3 * (2 * 3 * 4));
}

} // namespace
} // namespace spmdc
