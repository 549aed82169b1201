//===- EmitTest.cpp - the IR that programs become -------------------------===//

#include "tests/frontend/FrontendTestHelper.h"

#include "ir/spmd/Location.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

using namespace spmdc;
using namespace spmdc::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

std::string readExample(const std::string &name) {
  std::ifstream file(SPMDC_SOURCE_DIR "/examples/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The seed's example: shardings on the parameters, an open result, names; what the prelude writes has the place of the
// user's call, and a product that of its left operand's first character.
TEST(Emit, psum) {
  Compiled psum(readExample("psum.spmd"));
  ASSERT_TRUE(psum.isGood()) << psum.diagnostics.str();
  EXPECT_EQ(psum.print(),
            "module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2>} {\n"
            "  func.func @main(%arg0: !spmd.array<f32[4096@a, 2048@b]> {spmd.name = \"x\"}, "
            "%arg1: !spmd.array<f32[2048@b, 4096]> {spmd.name = \"y\"}) -> "
            "(!spmd.array<f32[4096, 4096]> {spmd.name = \"0\"}) {\n"
            "    %0 = array.dot_general %arg0, %arg1 contract [1] x [0] batch [] x [] : <f32[4096@a, 2048@b]>, "
            "<f32[2048@b, 4096]> -> <f32[4096, 4096]>\n"
            "    %1 = array.constant dense<0.000000e+00> : tensor<4096x4096xf32> -> <f32[4096, 4096]>\n"
            "    %2 = array.maximum %0, %1 : <f32[4096, 4096]>\n"
            "    return %2 : !spmd.array<f32[4096, 4096]>\n"
            "  }\n"
            "}\n");
  std::vector<std::string> places;
  psum.function().walk([&](mlir::Operation *op) {
    if (auto place = getSourcePosition(op->getLoc()))
      places.push_back(op->getName().getStringRef().str() + " " + place->str());
  });
  EXPECT_THAT(places, ElementsAre("array.dot_general t.spmd:8:15", "array.constant t.spmd:8:10",
                                  "array.maximum t.spmd:8:10", "func.return t.spmd:8:10", "func.func t.spmd:7:1"));
}

// The seed's toy: integers become f32 under sin; the sum is the seed's.
TEST(Emit, toy) {
  Compiled toy(readExample("toy.spmd"));
  ASSERT_TRUE(toy.isGood()) << toy.diagnostics.str();
  EXPECT_THAT(toy.print(), HasSubstr("spmd.constraint %1 : <i32[4, 8]> -> <i32[4@i, 8@j]>"));
  EXPECT_THAT(toy.print(), HasSubstr("array.convert %2 : <i32[4@i, 8@j]> -> <f32[4, 8]>"));
  std::vector<Tensor> results = toy.run();
  ASSERT_EQ(results.size(), 1u);
  EXPECT_NEAR(results[0].elements[0].f, -0.12398731, 2e-6);
}

TEST(Emit, nearestCentroid) {
  Compiled centroid(readExample("nearest_centroid.spmd"));
  ASSERT_TRUE(centroid.isGood()) << centroid.diagnostics.str();
  EXPECT_THAT(centroid.resultTypes(), ElementsAre("i32[1797]", "f32[]"));
  EXPECT_THAT(centroid.print(), HasSubstr("-> (!spmd.array<i32[1797]> {spmd.name = \"predictions\"}, "
                                          "!spmd.array<f32[]> {spmd.name = \"accuracy\"})"));
}

// A value that `let` names has the name on its location, and behind the expression's place that of the name.
TEST(Emit, letNamesValues) {
  Compiled compiled("fn main(x: f32[4]) {\n  let h = x + 1.0;\n  let g = h;\n  return g;\n}");
  ASSERT_TRUE(compiled.isGood());
  std::vector<std::string> names;
  compiled.function().walk([&](mlir::Operation *op) {
    if (auto name = getValueName(op->getLoc()))
      names.push_back(name->str() + " " + getSourcePosition(op->getLoc())->str());
  });
  EXPECT_THAT(names, ElementsAre("h t.spmd:2:11"));
  EXPECT_THAT(compiled.print(true), HasSubstr("loc(\"t.spmd\":2:7)"));
  EXPECT_THAT(compiled.print(), HasSubstr("spmd.name = \"g\""));
}

} // namespace
