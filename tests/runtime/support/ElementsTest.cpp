#include "runtime/support/Elements.h"
#include "tests/support/ElementTypes.h"

#include <cmath>
#include <gtest/gtest.h>
#include <type_traits>

using namespace spmd;

namespace {

const std::vector<DType> kTypes = test::elementTypes();

TEST(Elements, AreAsWideAsTheTypeSays) {
  for (DType dtype : kTypes) {
    int64_t bytes =
        visitElement(dtype, [](auto element) { return int64_t(sizeof(typename decltype(element)::Stored)); });
    EXPECT_EQ(bytes, byteSize(dtype)) << dtypeName(dtype);
  }
}

TEST(Elements, AreOfTheKindThatTheTypeSays) {
  for (DType dtype : kTypes) {
    auto [floats, integers] = visitElement(dtype, [](auto element) {
      using Value = typename decltype(element)::Value;
      return std::pair(std::is_floating_point_v<Value>, std::is_integral_v<Value> && !std::is_same_v<Value, bool>);
    });
    EXPECT_EQ(floats, isFloat(dtype)) << dtypeName(dtype);
    EXPECT_EQ(integers, isInteger(dtype)) << dtypeName(dtype);
  }
}

TEST(Elements, ComeBackAsTheyWereStored) {
  for (DType dtype : kTypes)
    for (double number : {0.0, 1.0, 100.0, -2.5}) {
      if (number < 0 && !isFloat(dtype))
        continue;
      double back = visitElement(dtype, [&](auto element) { return double(element.load(element.store(number))); });
      EXPECT_EQ(back, dtype == DType::Bool ? number != 0 : number) << dtypeName(dtype);
    }
}

TEST(Elements, EachTypeRoundsAndWraps) {
  EXPECT_EQ(Bf16Element::store(1.0), 0x3f80);
  EXPECT_EQ(F16Element::store(1.0), 0x3c00);
  EXPECT_EQ(F16Element::store(65520.0), 0x7c00); // To infinity.
  EXPECT_TRUE(std::isnan(Bf16Element::load(Bf16Element::store(NAN))));
  EXPECT_EQ(PlainElement<uint8_t>::store(int64_t(300)), 44);
  EXPECT_EQ(PlainElement<int8_t>::store(int64_t(200)), -56);
  EXPECT_EQ(PlainElement<uint16_t>::store(int64_t(-1)), 65535);
  EXPECT_EQ(PlainElement<int16_t>::store(int64_t(40000)), -25536);
  EXPECT_EQ(PlainElement<uint64_t>::store(int64_t(-1)), UINT64_MAX);
  EXPECT_EQ(BoolElement::store(0.25), 1);
  EXPECT_EQ(BoolElement::load(2), true);
}

} // namespace
