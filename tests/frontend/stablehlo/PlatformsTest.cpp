//===- PlatformsTest.cpp - exports for several platforms ------------------===//
//
// portable/two_platforms.bin is the export of `lax.platform_dependent(x, cpu=jnp.sin, default=jnp.cos)` for cpu and
// cuda (make_exported.py --portable).
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/Import.h"
#include "frontend/stablehlo/ShardingTexts.h"
#include "frontend/stablehlo/portable/Portable.h"
#include "tests/frontend/stablehlo/RefusalsHelper.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <fstream>

using namespace spmdc;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

namespace {

std::string exportForTwo() {
  std::ifstream file(SPMDC_SOURCE_DIR "/tests/frontend/stablehlo/portable/two_platforms.bin", std::ios::binary);
  std::string cause, bytes(std::istreambuf_iterator<char>(file), {});
  auto text = stablehlo::textOfPortable(bytes, cause);
  EXPECT_TRUE(succeeded(text)) << cause;
  return succeeded(text) ? *text : "";
}

FrontendOptions optionsFor(const std::string &platform) {
  FrontendOptions options;
  options.platform = platform;
  return options;
}

std::string importedFor(const std::string &platform) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  Diagnostics diagnostics;
  auto module = importStablehlo(exportForTwo(), "f.bin", optionsFor(platform), context, diagnostics);
  std::string ir;
  llvm::raw_string_ostream os(ir);
  if (module)
    module->print(os);
  return ir;
}

} // namespace

TEST(Platforms, TheTargetChooses) {
  EXPECT_THAT(importedFor("cpu"), AllOf(HasSubstr("@main(%arg0: !spmd.array<f32[3, 4]> {spmd.name = \"x\"})"),
                                        HasSubstr("array.sin"), Not(HasSubstr("array.cos"))));
  EXPECT_THAT(importedFor("cuda"), AllOf(HasSubstr("array.cos"), Not(HasSubstr("array.sin"))));
}

TEST(Platforms, OthersAreRefused) {
  EXPECT_THAT(importErrors(exportForTwo(), optionsFor("rocm")),
              HasSubstr("the program is not for the platform 'rocm' of the target; export it for this one, too: "
                        "jax.export.export(f, platforms=['rocm', ...])"));
}

// The text that JAX itself writes has no list of the platforms.
TEST(Platforms, TextsWithoutTheirOrder) {
  auto text = [](const std::string &result) {
    return "func.func @main(%p: tensor<i32> {jax.global_constant = \"_platform_index\"}, %x: tensor<i32>) -> "
           "tensor<i32> { %0 = stablehlo.add " +
           result + ", %x : tensor<i32> return %0 : tensor<i32> }";
  };
  EXPECT_EQ(importErrors(text("%x")), "");
  EXPECT_THAT(importErrors(text("%p")),
              HasSubstr("the program is for several platforms, whose order the text does not have; give the file that "
                        "exported.serialize() returns, or export for one platform: jax.export.export(f, "
                        "platforms=['cpu'])"));
}

TEST(Platforms, ShardingsOfOtherArguments) {
  Source source("f.mlir", "func.func public @main(%arg0: tensor<i32> {jax.global_constant = \"_platform_index\"}, "
                          "%arg1: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"a\"}]>} loc(\"x\")) {");
  stablehlo::ShardingTexts texts = stablehlo::findShardings(source, "main");
  ASSERT_EQ(texts.arguments.size(), 1u);
  ASSERT_TRUE(texts.arguments[0]);
  EXPECT_EQ(texts.arguments[0]->label, "in_shardings of x");
}
