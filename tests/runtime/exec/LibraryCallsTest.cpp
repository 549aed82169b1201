//===- LibraryCallsTest.cpp - library steps with their types --------------===//

#include "runtime/exec/LibraryCalls.h"

#include "tests/runtime/exec/PlanHelper.h"

#include <gtest/gtest.h>

namespace spmd {
namespace {

// A matrix times itself is symmetric if one of the sides is transposed.
TEST(LibraryCalls, ProductsOfOneMatrix) {
  test::PlanBuilder builder({{}});
  BufferId x = builder.parameter(DType::F32, {200, 200}), w = builder.parameter(DType::F32, {200, 200});
  BufferId y = builder.result(DType::F32, {200, 200});
  auto isGram = [&](BufferId lhs, BufferId rhs, bool transposeLhs, bool transposeRhs) {
    return toMatmulShape(MatmulStep{lhs, rhs, y, 1, 200, 200, 200, transposeLhs, transposeRhs, -1, {}}, builder.plan())
        .isGram;
  };
  EXPECT_TRUE(isGram(x, x, true, false));
  EXPECT_TRUE(isGram(x, x, false, true));
  EXPECT_FALSE(isGram(x, x, false, false));
  EXPECT_FALSE(isGram(x, x, true, true));
  EXPECT_FALSE(isGram(x, w, true, false));
}

} // namespace
} // namespace spmd
