//===- ManyKernelsTest.cpp - a program with very many kernels -------------===//
//
// Beyond some number of kernels, LLVM compiles the smallest ones with a short pipeline, in modules of their own that
// are linked with the others. 200 different kernels on integers give the results of the same arithmetic in C++.
//
//===----------------------------------------------------------------------===//

#include "ir/spmd/SpmdTypes.h"
#include "tests/programs/support/Case.h"
#include "tests/programs/support/CompiledRun.h"

#include "gtest/gtest.h"

using namespace spmdc;

namespace {

constexpr int kStatements = 200, kRows = 10, kColumns = 5;

using Rows = std::array<std::array<uint32_t, kColumns>, kRows>;

/// Computes v = roll(v, 1, axis=0) * a + max(v, axis=1) % b, wrapping.
Rows step(const Rows &v, uint32_t a, uint32_t b) {
  Rows next{};
  for (int r = 0; r < kRows; ++r)
    for (int c = 0; c < kColumns; ++c)
      next[r][c] = v[(r + kRows - 1) % kRows][c] * a + *std::max_element(v[r].begin(), v[r].end()) % b;
  return next;
}

class ManyKernels : public ::testing::TestWithParam<int> {};

TEST_P(ManyKernels, GiveTheSameValues) {
  std::string text = "mesh m(a=3)\nfn main(x: u32[10@a, 5]) {\n  let v = x;\n";
  Rows expected{};
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  loadDialects(context);
  Tensor x({kRows, kColumns}, getElementType(&context, spmd::DType::U32));
  for (int i = 0; i < kRows * kColumns; ++i) {
    expected[i / kColumns][i % kColumns] = i * 2654435761u;
    x.elements[i] = Scalar::ofInt(expected[i / kColumns][i % kColumns]);
  }
  for (int i = 0; i < kStatements; ++i) {
    text += "  let v = roll(v, 1, axis=0) * " + std::to_string(2 * i + 3) + " + max(v, axis=1, keepdims=true) % " +
            std::to_string(i + 2) + ";\n";
    expected = step(expected, 2 * i + 3, i + 2);
  }
  std::string error;
  auto artifact = compileText("many.spmd", text + "  return v;\n}\n", GetParam(), error);
  ASSERT_TRUE(artifact) << error;
  auto results = CompiledProgram(artifact).run(context, {x}, Poison::Nan, error);
  ASSERT_TRUE(mlir::succeeded(results)) << error;
  for (int i = 0; i < kRows * kColumns; ++i)
    ASSERT_EQ((*results)[0].elements[i].i, expected[i / kColumns][i % kColumns]) << i;
}

INSTANTIATE_TEST_SUITE_P(Levels, ManyKernels, ::testing::Values(0, 1, 3));

} // namespace
