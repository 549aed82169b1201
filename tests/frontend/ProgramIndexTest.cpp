//===- ProgramIndexTest.cpp - values of places in a program ---------------===//

#include "frontend/editor/ProgramIndex.h"
#include "ir/spmd/ValueNames.h"
#include "tests/frontend/FrontendTestHelper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace spmdc;
using namespace spmdc::testing;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

namespace {

/// A compiled program with its index.
struct Indexed {
  explicit Indexed(std::string text, FrontendOptions options = {}) : text(std::move(text)) {
    options.index = &index;
    compiled.emplace(this->text, options);
  }

  /// The instances at the first place with this text after `from`.
  std::vector<std::string> at(const std::string &what, size_t from = 0) const {
    auto begin = static_cast<uint32_t>(text.find(what, from));
    const IndexedPlace *place = index.find({begin, begin + static_cast<uint32_t>(what.size())});
    std::vector<std::string> descriptions;
    for (const IndexedInstance &instance : place ? place->instances : std::vector<IndexedInstance>())
      descriptions.push_back(instance.description);
    return descriptions;
  }

  std::string text;
  ProgramIndex index;
  std::optional<Compiled> compiled;
};

} // namespace

TEST(ProgramIndex, NamesAndExpressionsHaveTypes) {
  Indexed program("const N = 2 * 4; fn main(x: f32[N]) { let (y, n) = (x + 1, 3); return y * n; }");
  EXPECT_THAT(program.at("N"), ElementsAre("8"));
  EXPECT_THAT(program.at("x"), ElementsAre("f32[8]"));
  EXPECT_THAT(program.at("x + 1"), ElementsAre("f32[8]"));
  EXPECT_THAT(program.at("(x + 1, 3)"), ElementsAre("(f32[8], 3)"));
  EXPECT_THAT(program.at("n", program.text.find("let")), ElementsAre("3"));
  EXPECT_THAT(program.at("y * n"), ElementsAre("f32[8]"));
}

// Each call is an instance; a body that is emitted several times has one.
TEST(ProgramIndex, InstancesFollowCalls) {
  Indexed program("fn f(v) { return v * 2; } fn main(x: f32[8], i: i32[2]) { return (f(x), f(i), f(x)); }");
  EXPECT_THAT(program.at("v * 2"), ElementsAre("f32[8]", "i32[2]", "f32[8]"));
  Indexed loop("fn main(x: f32[]) { return for i in 0..3 carry (s = 0) { yield s + x; }; }");
  EXPECT_THAT(loop.at("s + x"), ElementsAre("f32[]"));
  EXPECT_THAT(loop.at("s"), ElementsAre("f32[]"));
}

TEST(ProgramIndex, OfManyInstancesThereAreAFew) {
  std::string text = "fn f(v) { return v; } fn main(x: f32[8]) { return (";
  for (int i = 0; i < 20; ++i)
    text += "f(x), ";
  Indexed program(text + "x); }");
  EXPECT_EQ(program.at("v").size(), ProgramIndex::maxInstances);
  EXPECT_EQ(program.index.find({5, 6})->instanceCount, 20u);
}

// Values next to an error are known; values that depend on it are not.
TEST(ProgramIndex, ErrorsLeaveTheRest) {
  Indexed program("fn main(x: f32[8]) { let y = x + q; let z = x * 2; return y + z; }");
  EXPECT_FALSE(program.compiled->isGood());
  EXPECT_THAT(program.at("z"), ElementsAre("f32[8]"));
  EXPECT_THAT(program.at("y"), IsEmpty());
}

TEST(ProgramIndex, LeavesOfStructsAndFields) {
  Indexed program("struct L { w: f32[4], b: f32[] } fn main(p: L) { return [p, p][0].w; }");
  EXPECT_THAT(program.at("p"), ElementsAre("L"));
  EXPECT_THAT(program.at("[p, p]"), ElementsAre("[L; 2]"));
  auto begin = static_cast<uint32_t>(program.text.find("p: L"));
  const std::vector<IndexedLeaf> &leaves = program.index.find({begin, begin + 1})->instances[0].leaves;
  ASSERT_EQ(leaves.size(), 2u);
  EXPECT_EQ(leaves[1].path, "b");
  EXPECT_EQ(leaves[1].type, "f32[]");
  auto use = static_cast<uint32_t>(program.text.rfind('w'));
  EXPECT_THAT(program.index.getFields(), ElementsAre(std::pair(TextSpan{use, use + 1}, TextSpan{11, 12})));
}

// Only a compile with an index puts handles on values, and no code takes them for names.
TEST(ProgramIndex, HandlesAreNoNames) {
  Indexed program("fn main(x: f32[8]) { let y = x + 1; return y; }");
  mlir::Value y = program.compiled->function().getBody().front().getTerminator()->getOperand(0);
  EXPECT_EQ(getValueHandles(y).size(), 1u);
  ASSERT_EQ(getValueNames(y).size(), 1u);
  EXPECT_EQ(getValueNames(y)[0].name, "y");
  EXPECT_EQ(getValueName(y)->str(), "y");
  Compiled without(program.text);
  EXPECT_THAT(getValueHandles(without.function().getBody().front().getTerminator()->getOperand(0)), IsEmpty());
}
