//===- ShardingProjectionTest.cpp - dimensions seen as factors ------------===//
//
// Each test gives one operation as MLIR text, whose rule connects the dimensions and whose types hold the shardings,
// and checks the axes per factor, or what comes back after extending them.
//
//===----------------------------------------------------------------------===//

#include "passes/propagate/ShardingProjection.h"

#include "ir/array/ArrayOps.h"
#include "passes/pipeline/Registration.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

namespace spmdc {
namespace {

using ::testing::ElementsAre;

class ShardingProjectionTest : public ::testing::Test {
protected:
  ShardingProjectionTest() {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// Projects the one operation of a function; operands and results as their types say.
  ShardingProjection &project(llvm::StringRef mesh, llvm::StringRef arguments, llvm::StringRef op) {
    std::string text = ("module attributes {spmd.mesh = #spmd.mesh<m, " + mesh + ">} { func.func @f(" + arguments +
                        ") { " + op + " return } }")
                           .str();
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    axes.emplace(getMesh(*module));
    module->walk([&](ShardingRuleOpInterface found) {
      rule = found.getShardingRule();
      llvm::SmallVector<mlir::Value> values(found->getOperands());
      llvm::append_range(values, found->getResults());
      for (mlir::Value value : values)
        shardings.push_back(getTensorSharding(*axes, llvm::cast<ArrayType>(value.getType()).getShardingOrOpen()));
    });
    llvm::SmallVector<const TensorSharding *> pointers;
    for (const TensorSharding &sharding : shardings)
      pointers.push_back(&sharding);
    projection.emplace(rule, pointers);
    return *projection;
  }

  /// The axes of each factor of an array: `-` where it lacks the factor, ` + ` before overflow, `!` for closed.
  std::vector<std::string> factors(unsigned tensor) {
    std::vector<std::string> result;
    for (size_t factor = 0; factor < rule.factors.size(); ++factor) {
      const FactorSharding *sharding = projection->getTensors()[tensor].getFactor(factor);
      if (!sharding) {
        result.push_back("-");
        continue;
      }
      std::string text = axes->str(sharding->axes);
      if (!sharding->overflow.empty())
        text += " + " + axes->str(sharding->overflow);
      result.push_back(text + (sharding->isClosed ? "!" : ""));
    }
    return result;
  }

  std::vector<std::string> dims(unsigned tensor) {
    std::vector<std::string> result;
    for (const AxisList &dim : projection->getTensors()[tensor].projectBack())
      result.push_back(axes->str(dim));
    return result;
  }

  /// Extends every factor of `to` by what `from` has.
  void copyFactors(unsigned from, unsigned to) {
    for (size_t factor = 0; factor < rule.factors.size(); ++factor)
      if (const FactorSharding *sharding = projection->getTensors()[from].getFactor(factor))
        projection->getTensor(to).extend(factor, sharding->axes);
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::optional<MeshAxes> axes;
  ShardingRule rule;
  std::deque<TensorSharding> shardings;
  std::optional<ShardingProjection> projection;
};

TEST_F(ShardingProjectionTest, MatmulHasOneFactorPerDimension) {
  project("a=4, b=2", "%x: !spmd.array<f32[8@a, 16@b]>, %y: !spmd.array<f32[16@b, 4]>", R"(
    %z = array.dot_general %x, %y contract [1] x [0] batch [] x []
      : <f32[8@a, 16@b]>, <f32[16@b, 4]> -> <f32[8, 4]>)");
  // Factors: rows, columns, contraction.
  EXPECT_THAT(factors(0), ElementsAre("a!", "-", "b!"));
  EXPECT_THAT(factors(1), ElementsAre("-", "_", "b!"));
  EXPECT_THAT(factors(2), ElementsAre("_", "_", "-"));
  copyFactors(0, 2);
  EXPECT_THAT(dims(2), ElementsAre("a", "_"));
  EXPECT_EQ(projection->getTensors()[0].getSize(), 128);
}

TEST_F(ShardingProjectionTest, AnAxisLargerThanAFactorIsCut) {
  project("a=4", "%x: !spmd.array<f32[8@a]>", "%y = array.reshape %x : <f32[8@a]> -> <f32[2, 4]>");
  EXPECT_THAT(factors(0), ElementsAre("a:(1)2!", "a:(2)2!"));
  copyFactors(0, 1);
  EXPECT_THAT(dims(1), ElementsAre("a:(1)2", "a:(2)2"));
  EXPECT_THAT(dims(0), ElementsAre("a"));
}

TEST_F(ShardingProjectionTest, TheExampleOfTheHeader) {
  project("a=4, b=2", "%x: !spmd.array<f32[8@\"(a, b)\"]>",
          "%y = array.reshape %x : <f32[8@\"(a, b)\"]> -> <f32[2, 4]>");
  EXPECT_THAT(factors(0), ElementsAre("a:(1)2!", "(a:(2)2, b)!"));
  copyFactors(0, 1);
  EXPECT_THAT(dims(1), ElementsAre("a:(1)2", "(a:(2)2, b)"));
}

TEST_F(ShardingProjectionTest, PartsThatFollowOneAnotherAreMerged) {
  project("a=4", "%x: !spmd.array<f32[2@\"a:(1)2\", 4@\"a:(2)2\"]>",
          "%y = array.reshape %x : <f32[2@\"a:(1)2\", 4@\"a:(2)2\"]> -> <f32[8]>");
  copyFactors(0, 1);
  EXPECT_THAT(dims(1), ElementsAre("a"));
}

TEST_F(ShardingProjectionTest, AMinorFactorNeedsItsMajorOnesCutToSingleElements) {
  // Devices along b would own elements 0, 1, 4, 5: no block of the result.
  project("a=2, b=2", "%x: !spmd.array<f32[4, 4@b]>", "%y = array.reshape %x : <f32[4, 4@b]> -> <f32[16]>");
  copyFactors(0, 1);
  EXPECT_THAT(factors(1), ElementsAre("_", "b"));
  EXPECT_THAT(dims(1), ElementsAre("_"));
}

TEST_F(ShardingProjectionTest, AHalfCutMajorFactorHidesTheMinorOne) {
  project("a=2, b=2", "%x: !spmd.array<f32[4@a, 4@b]>", "%y = array.reshape %x : <f32[4@a, 4@b]> -> <f32[16]>");
  copyFactors(0, 1);
  EXPECT_THAT(dims(1), ElementsAre("a"));
}

TEST_F(ShardingProjectionTest, AxesWithoutACommonDivisorOverflow) {
  // 2 x 4 over an axis of 3: no part of the axis shards the factor of 2 evenly, and no axis may follow it.
  project("a=3, b=2", "%x: !spmd.array<f32[8@\"(a, b)?\"]>",
          "%y = array.reshape %x : <f32[8@\"(a, b)?\"]> -> <f32[2, 4]>");
  EXPECT_THAT(factors(0), ElementsAre("_ + (a, b)", "_!"));
  EXPECT_THAT(dims(0), ElementsAre("(a, b)")) << "overflow comes back";
}

TEST_F(ShardingProjectionTest, TheLastFactorTakesAllThatIsLeft) {
  // 24 = 2 x 12 over (a=2, b=8): b does not divide 12, and yet it is the dimension's.
  project("a=2, b=8", "%x: !spmd.array<f32[24@\"(a, b)\"]>",
          "%y = array.reshape %x : <f32[24@\"(a, b)\"]> -> <f32[2, 12]>");
  EXPECT_THAT(factors(0), ElementsAre("a!", "b!"));
  EXPECT_THAT(dims(0), ElementsAre("(a, b)"));
  EXPECT_FALSE(projection->getTensors()[0].getFactor(1)->isAlone);
  EXPECT_TRUE(projection->getTensors()[1].getFactor(1)->isAlone);
}

TEST_F(ShardingProjectionTest, SeveralAxesOnOneDimensionStayInOrder) {
  project("a=2, b=2, c=2", "%x: !spmd.array<f32[8@\"(c, a)\", 4@b]>",
          "%y = array.transpose %x perm [1, 0] : <f32[8@\"(c, a)\", 4@b]> -> <f32[4, 8]>");
  copyFactors(0, 1);
  EXPECT_THAT(dims(1), ElementsAre("b", "(c, a)"));
}

TEST_F(ShardingProjectionTest, AMiddleFactorIsCutFromBothSides) {
  // 4 x 6 -> 8 x 3: factors 4, 2, 3; the operand's second dimension is [j k], the result's first [i j].
  project("a=4, b=2", "%x: !spmd.array<f32[4@a, 6@b]>", "%y = array.reshape %x : <f32[4@a, 6@b]> -> <f32[8, 3]>");
  EXPECT_THAT(factors(0), ElementsAre("a!", "b!", "_!"));
  copyFactors(0, 1);
  EXPECT_THAT(dims(1), ElementsAre("(a, b)", "_"));
}

TEST_F(ShardingProjectionTest, ADimensionWithoutAFactorKeepsItsAxesAndBlocksThem) {
  project("a=4, b=2", "%x: !spmd.array<f32[1@b, 8]>", "%y = array.reshape %x : <f32[1@b, 8]> -> <f32[8]>");
  EXPECT_THAT(projection->getTensors()[0].getBlocked(), ElementsAre(AxisPart{1, 1, 2}));
  EXPECT_THAT(dims(0), ElementsAre("b", "_"));
}

TEST_F(ShardingProjectionTest, PartialSumsBlockTheirAxes) {
  project("a=4, b=2", "%x: !spmd.array<f32[8] unreduced(b)>",
          "%y = array.negate %x : (<f32[8] unreduced(b)>) -> <f32[8]>");
  EXPECT_THAT(projection->getTensors()[0].getBlocked(), ElementsAre(AxisPart{1, 1, 2}));
}

TEST_F(ShardingProjectionTest, ExtendOnlyEverExtends) {
  project("a=4, b=2", "%x: !spmd.array<f32[8@\"a?\"]>", "%y = array.negate %x : (<f32[8@\"a?\"]>) -> <f32[8]>");
  TensorProjection &tensor = projection->getTensor(0);
  AxisPart a{0, 1, 4}, b{1, 1, 2};
  EXPECT_FALSE(tensor.extend(0, {b}));
  EXPECT_FALSE(tensor.extend(0, {a}));
  EXPECT_FALSE(tensor.extend(0, {}));
  EXPECT_TRUE(tensor.extend(0, {a, b}));
  EXPECT_THAT(dims(0), ElementsAre("(a, b)"));
}

TEST_F(ShardingProjectionTest, AnEmptyArrayProjects) {
  project("a=4", "%x: !spmd.array<f32[0@a, 4]>", "%y = array.reshape %x : <f32[0@a, 4]> -> <f32[4, 0]>");
  EXPECT_THAT(dims(0), ElementsAre("a", "_"));
}

} // namespace
} // namespace spmdc
