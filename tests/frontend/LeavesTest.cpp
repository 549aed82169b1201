//===- LeavesTest.cpp - flattening trees of values ------------------------===//

#include "frontend/emit/Leaves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace spmdc;
using ::testing::ElementsAre;

namespace {

Value number(int64_t value) { return Value::ofConstant(Constant::ofInt(value), Range()); }

Value tree(ValueKind kind, std::vector<Value> elements) {
  Value value;
  value.kind = kind;
  value.elements = std::move(elements);
  return value;
}

class Leaves : public ::testing::Test {
protected:
  Leaves() {
    layer.name.text = "Layer";
    layer.fields = {{{"w", Range()}, nullptr}, {{"b", Range()}, nullptr}};
  }
  Value makeLayer(int64_t w, int64_t b) {
    Value value = tree(ValueKind::Struct, {number(w), number(b)});
    value.structDecl = &layer;
    return value;
  }
  static std::vector<int64_t> numbers(const std::vector<Value> &values) {
    std::vector<int64_t> result;
    for (const Value &value : values)
      result.push_back(value.constant.i);
    return result;
  }
  StructDecl layer;
};

// Depth first, in the order of the declaration; empty tuples have no leaves.
TEST_F(Leaves, inOrder) {
  Value value = tree(ValueKind::Tuple, {number(1), tree(ValueKind::List, {makeLayer(2, 3), makeLayer(4, 5)}),
                                        tree(ValueKind::Tuple, {}), number(6)});
  EXPECT_THAT(numbers(getLeaves(value)), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(leafNames(value, "p"), ElementsAre("p.0", "p.1.0.w", "p.1.0.b", "p.1.1.w", "p.1.1.b", "p.3"));
  EXPECT_THAT(leafNames(value), ElementsAre("0", "1.0.w", "1.0.b", "1.1.w", "1.1.b", "3"));
}

TEST_F(Leaves, ofALeaf) {
  EXPECT_THAT(numbers(getLeaves(number(7))), ElementsAre(7));
  EXPECT_THAT(leafNames(number(7), "x"), ElementsAre("x"));
  EXPECT_THAT(leafNames(number(7)), ElementsAre(""));
  EXPECT_EQ(withLeaves(number(7), {number(8)}).constant.i, 8);
}

TEST_F(Leaves, replaced) {
  Value value = tree(ValueKind::Tuple, {makeLayer(1, 2), number(3)});
  Value other = withLeaves(value, {number(10), number(20), number(30)});
  EXPECT_FALSE(structureDifference(value, other));
  EXPECT_THAT(numbers(getLeaves(other)), ElementsAre(10, 20, 30));
  EXPECT_EQ(other.elements[0].structDecl, &layer);
  EXPECT_THAT(numbers(getLeaves(value)), ElementsAre(1, 2, 3));
}

TEST_F(Leaves, differences) {
  StructDecl twin = layer; // Another struct with the same fields is another type.
  twin.name.text = "Twin";
  Value left = makeLayer(1, 2), right = makeLayer(1, 2);
  right.structDecl = &twin;
  EXPECT_EQ(structureDifference(left, right), "a Layer against a Twin");
  EXPECT_EQ(structureDifference(tree(ValueKind::Tuple, {number(1), left}), tree(ValueKind::Tuple, {number(1)})),
            "a tuple of 2 against a tuple of 1");
  EXPECT_EQ(structureDifference(tree(ValueKind::Tuple, {number(1), left}), tree(ValueKind::List, {number(1), left})),
            "a tuple of 2 against a list of 2");
  Value nested = makeLayer(1, 2);
  nested.elements[1] = tree(ValueKind::Tuple, {number(1), number(2)});
  EXPECT_EQ(structureDifference(tree(ValueKind::Tuple, {left, left}), tree(ValueKind::Tuple, {left, nested})),
            "the integer 2 against a tuple of 2 at 1.b");
  EXPECT_FALSE(structureDifference(number(1), number(2)));
}

} // namespace
