//===- RandomRefusalsTest.cpp - messages about random bits ---------------====//

#include "tests/frontend/stablehlo/RefusalsHelper.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace spmdc;
using ::testing::HasSubstr;

namespace {

TEST(RandomRefusals, StatesAndAlgorithms) {
  auto bits = [](const std::string &algorithm, const std::string &state, const std::string &type) {
    return importErrors(program("%s = stablehlo.constant dense<1> : tensor<" + state +
                                ">\n%0, %1 = stablehlo.rng_bit_generator %s, algorithm = " + algorithm + " : (tensor<" +
                                state + ">) -> (tensor<" + state + ">, tensor<" + type + ">)"));
  };
  EXPECT_EQ(bits("PHILOX", "3xui64", "5xui32"), "");
  EXPECT_EQ(bits("DEFAULT", "2xui64", "3x8xi32"), "");
  std::string state = "takes a state of two u64 and makes integers; for Philox the state may have three";
  EXPECT_THAT(bits("THREE_FRY", "3xui64", "5xui32"), HasSubstr(state));
  EXPECT_THAT(bits("PHILOX", "4xui32", "5xui32"), HasSubstr(state));
  EXPECT_THAT(bits("PHILOX", "2xui64", "5xf32"), HasSubstr(state));
  EXPECT_THAT(bits("MERSENNE", "2xui64", "5xui32"), HasSubstr("has no algorithm 'MERSENNE'; use THREE_FRY or PHILOX"));
}

} // namespace
