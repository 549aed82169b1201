#include "runtime/artifact/ResultNames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace spmd;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

std::vector<ValueInfo> named(const std::vector<std::string> &names) {
  std::vector<ValueInfo> values;
  for (const std::string &name : names)
    values.push_back({name, DType::F32, {}, {}, {}});
  return values;
}

/// Returns `2=w 3=b`: the arrays and their keys.
std::string found(const std::vector<ValueInfo> &values, const std::string &name) {
  std::string text;
  for (const NamedLeaf &leaf : findLeaves(values, name))
    text += (text.empty() ? "" : " ") + std::to_string(leaf.index) + "=" + leaf.key + (leaf.isField ? "" : "!");
  return text;
}

// return (loss, p, h + 1, q): a named struct, and an unnamed array and struct.
TEST(ResultNames, a_name_and_an_index_refer_to_a_result) {
  std::vector<ValueInfo> values = named({"loss", "p.layers.0.w", "p.layers.1.w", "p.scale", "2", "3.a", "3.b"});
  EXPECT_THAT(resultNumbers(values), ElementsAre(0, 1, 1, 1, 2, 3, 3));
  EXPECT_EQ(found(values, "loss"), "0=loss!");
  EXPECT_EQ(found(values, "0"), "0=loss!");
  EXPECT_EQ(found(values, "p"), "1=layers.0.w 2=layers.1.w 3=scale");
  EXPECT_EQ(found(values, "1"), "1=layers.0.w 2=layers.1.w 3=scale");
  EXPECT_EQ(found(values, "1.layers"), "1=0.w 2=1.w");
  EXPECT_EQ(found(values, "p.layers.1"), "2=w");
  EXPECT_EQ(found(values, "1.scale"), "3=p.scale!");
  EXPECT_EQ(found(values, "2"), "4=2!");
  EXPECT_EQ(found(values, "3"), "5=a 6=b");
  EXPECT_EQ(found(values, "3.b"), "6=3.b!");
  EXPECT_EQ(found(values, "4"), "");
  EXPECT_EQ(found(values, "1.nothing"), "");
  EXPECT_EQ(found(values, "p.lay"), "");
  EXPECT_EQ(found(values, "lo"), "");
}

// The second of two results with the same name is named by its index.
TEST(ResultNames, one_value_twice) {
  std::vector<ValueInfo> values = named({"p.w", "p.b", "1.w", "1.b"});
  EXPECT_EQ(found(values, "0"), "0=w 1=b");
  EXPECT_EQ(found(values, "1"), "2=w 3=b");
}

TEST(ResultNames, misuse) {
  std::vector<ValueInfo> values = named({"x"});
  for (const char *name :
       {"", ".", "0.", "-1", "1e0", "0x", "00000000000000000000000000000000000001", "99999999999999999999"})
    EXPECT_EQ(found(values, name), "") << name;
  EXPECT_THAT(findLeaves({}, "0"), IsEmpty());
}

} // namespace
