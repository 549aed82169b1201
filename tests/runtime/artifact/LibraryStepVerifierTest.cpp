//===- LibraryStepVerifierTest.cpp - what library steps may not be --------===//

#include "runtime/artifact/LibraryStepVerifier.h"

#include <climits>
#include <cmath>
#include <gtest/gtest.h>

using namespace spmd;

namespace {

BufferInfo bufferOf(DType dtype, std::vector<int64_t> shape) {
  BufferInfo info;
  info.dtype = dtype;
  info.shape = std::move(shape);
  return info;
}

std::string problemOf(LibraryFunction function, std::vector<int64_t> sizes, const std::vector<BufferInfo> &inputs,
                      const BufferInfo &result) {
  LibraryStep step;
  step.function = function;
  step.sizes = std::move(sizes);
  return findProblem(step, inputs, result);
}

TEST(LibraryStepVerifier, Sorts) {
  const BufferInfo lines = bufferOf(DType::F32, {2, 6, 3}), two = bufferOf(DType::F32, {2, 2, 3});
  const BufferInfo positions = bufferOf(DType::I32, {2, 2, 3}), wide = bufferOf(DType::I64, {2, 6, 3});
  using enum LibraryFunction;
  EXPECT_EQ(problemOf(Sort, {2, 6, 3}, {lines}, lines), "");
  EXPECT_EQ(problemOf(Argsort, {2, 6, 3}, {lines}, wide), "");
  EXPECT_EQ(problemOf(Sort, {2, 6, 3, 4, 6}, {lines}, two), "");
  EXPECT_EQ(problemOf(ArgsortDescending, {2, 6, 3, 0, 2}, {lines}, positions), "");
  EXPECT_EQ(problemOf(Sort, {2, 6, 3, 6, 6}, {lines}, bufferOf(DType::F32, {0})), "");
  EXPECT_EQ(problemOf(Sort, {2, 6, 3, 5, 7}, {lines}, two), "returns places that its lines do not have");
  EXPECT_EQ(problemOf(Sort, {2, 6, 3, 4, 2}, {lines}, two), "returns places that its lines do not have");
  EXPECT_EQ(problemOf(Sort, {2, 6, 3, -2, 0}, {lines}, two), "has a negative size");
  EXPECT_EQ(problemOf(Sort, {2, 6, 3, 0, 3}, {lines}, two), "has other a result than its sizes say");
  EXPECT_EQ(problemOf(Argsort, {2, 6, 3, 0, 2}, {lines}, two), "has other a result than its sizes say");
  EXPECT_EQ(problemOf(Sort, {2, 5, 3, 0, 2}, {lines}, two), "has other an operand than its sizes say");
  EXPECT_EQ(problemOf(Sort, {2, 6, 3, 0}, {lines}, two), "has 4 sizes");
  EXPECT_EQ(problemOf(Sort, {2, 6, 3}, {lines, lines}, lines), "has 2 inputs");
  EXPECT_EQ(problemOf(Sort, {int64_t(1) << 40, int64_t(1) << 40, 1}, {lines}, lines),
            "has other an operand than its sizes say");
}

TEST(LibraryStepVerifier, FourierTransforms) {
  const BufferInfo numbers = bufferOf(DType::F32, {2, 8, 3, 2}), reals = bufferOf(DType::F32, {2, 8, 3, 1});
  const BufferInfo half = bufferOf(DType::F32, {2, 5, 3, 2}), integers = bufferOf(DType::I32, {2, 8, 3, 2});
  using enum LibraryFunction;
  EXPECT_EQ(problemOf(Fft, {2, 8, 3, 2, 2, 1}, {numbers}, numbers), "");
  EXPECT_EQ(problemOf(InverseFft, {2, 8, 3, 2, 1, 8}, {half}, reals), "");
  EXPECT_EQ(problemOf(Fft, {2, 8, 3, 1, 2, 1}, {reals}, half), "");
  EXPECT_EQ(problemOf(Fft, {0, 8, 3, 1, 2, 1}, {bufferOf(DType::F32, {0})}, bufferOf(DType::F32, {0})), "");
  EXPECT_EQ(problemOf(Fft, {2, 8, 3, 2, 2}, {numbers}, numbers), "has 5 sizes");
  EXPECT_EQ(problemOf(Fft, {2, 8, 3, 2, 2, 1}, {numbers, numbers}, numbers), "has 2 inputs");
  EXPECT_EQ(problemOf(Fft, {2, 8, 3, 1, 1, 1}, {reals}, reals), "has neither real nor complex numbers");
  EXPECT_EQ(problemOf(Fft, {2, 8, 3, 3, 2, 1}, {numbers}, numbers), "has neither real nor complex numbers");
  // The passes have room for radices up to 127.
  EXPECT_EQ(problemOf(Fft, {1, 131, 1, 2, 2, 1}, {numbers}, numbers), "transforms 131 elements");
  EXPECT_EQ(problemOf(Fft, {1, 0, 1, 2, 2, 1}, {numbers}, numbers), "transforms 0 elements");
  EXPECT_EQ(problemOf(Fft, {2, 8, 3, 2, 2, 0}, {numbers}, numbers), "divides by zero");
  EXPECT_EQ(problemOf(Fft, {2, 8, 3, 2, 2, 1}, {integers}, integers), "transforms other numbers than f32 and f64");
  EXPECT_EQ(problemOf(Fft, {2, 8, 4, 2, 2, 1}, {numbers}, numbers), "has other an operand than its sizes say");
  EXPECT_EQ(problemOf(Fft, {2, 8, 3, 1, 2, 1}, {reals}, numbers), "has other a result than its sizes say");
}

TEST(LibraryStepVerifier, WindowsAndScatters) {
  const BufferInfo array = bufferOf(DType::F32, {8, 6}), update = bufferOf(DType::F32, {1, 6});
  const BufferInfo start = bufferOf(DType::I32, {}), indices = bufferOf(DType::I64, {3});
  const BufferInfo rows = bufferOf(DType::F32, {3, 6});
  using enum LibraryFunction;
  EXPECT_EQ(problemOf(UpdateSlice, {8, 6, 1, 6}, {array, update, start, start}, array), "");
  EXPECT_EQ(problemOf(UpdateSlice, {8, 6, 1, 7}, {array, update, start, start}, array),
            "has a window that does not fit");
  EXPECT_EQ(problemOf(UpdateSlice, {8, 6, 1, 6}, {array, update, start, array}, array),
            "has other a start than its sizes say");
  EXPECT_EQ(problemOf(UpdateSlice, {8, 6, 1}, {array, update, start}, array), "has 3 sizes");
  EXPECT_EQ(problemOf(ScatterAdd, {1, 8, 3, 6}, {array, indices, rows}, array), "");
  EXPECT_EQ(problemOf(ScatterAdd, {1, 8, 4, 6}, {array, indices, rows}, array), "has other indices than its sizes say");
  EXPECT_EQ(problemOf(ScatterAddAlong, {1, 8, 3, 6}, {array, indices, rows}, array),
            "has other indices than its sizes say");
  EXPECT_EQ(problemOf(ScatterMax, {1, 8, 3, 6}, {array, indices, rows}, array), "");
  EXPECT_EQ(problemOf(ScatterProdAlong, {1, 8, 3, 6}, {array, indices, rows}, array),
            "has other indices than its sizes say");
  EXPECT_EQ(problemOf(ScatterOr, {1, 8, 3, 6}, {array, indices, rows}, array), "combines bits of floats");
  const BufferInfo keys = bufferOf(DType::Key, {8}), newKeys = bufferOf(DType::Key, {3});
  EXPECT_EQ(problemOf(ScatterReplace, {1, 8, 3, 1}, {keys, indices, newKeys}, keys), "");
  EXPECT_EQ(problemOf(ScatterAdd, {1, 8, 3, 1}, {keys, indices, newKeys}, keys), "computes with random keys");
}

TEST(LibraryStepVerifier, Epilogues) {
  const BufferInfo product = bufferOf(DType::F32, {2, 4, 6}), result = bufferOf(DType::BF16, {2, 4, 6});
  const BufferInfo row = bufferOf(DType::BF16, {6}), wideRow = bufferOf(DType::F32, {6});
  using enum LibraryEpilogue::Function;
  auto problemOf = [](const LibraryEpilogue &epilogue, const std::vector<BufferInfo> &operands, int64_t rows = 4) {
    MatmulStep step;
    step.batch = 2;
    step.m = rows;
    step.n = 6;
    step.epilogueKernel = 0;
    step.libraryEpilogue = epilogue;
    return findProblem(step, operands);
  };
  EXPECT_EQ(problemOf({Gelu, 2, 0, -1, 1}, {product, row, result}), "");
  EXPECT_EQ(problemOf({Identity, 1, -1, 1, 2}, {product, result, row, result}), "");
  EXPECT_EQ(problemOf({GeluGradient, 1, 0, 1, -1}, {product, result, result}), "");
  EXPECT_EQ(problemOf({Gelu, 1, 0, -1, 2}, {product, row, result}), "has no input 2"); // The result.
  EXPECT_EQ(problemOf({Gelu, 1, 0, -1, 0}, {product, row, result}), "has no input 0"); // The product.
  EXPECT_EQ(problemOf({Gelu, 1, 0, -1, INT32_MAX}, {product, row, result}), "has no input 2147483647");
  EXPECT_EQ(problemOf({Gelu, 1, 0, -2, -1}, {product, row, result}), "has no input -2");
  EXPECT_EQ(problemOf({Gelu, 1, 0, -1, 1}, {product, wideRow, result}),
            "has an input 1 that is not 6 elements of bf16");
  EXPECT_EQ(problemOf({Identity, 1, 1, 1, -1}, {product, row, result}),
            "has an input 1 that is not 48 elements of bf16");
  EXPECT_EQ(problemOf({Gelu, 1, 0, -1, 1}, {product, row, row}), "writes 12 bytes of 48 elements");
  EXPECT_EQ(problemOf({Gelu, 1, 0, -1, 1}, {product, row, result}, int64_t(1) << 60), "writes 96 bytes of -1 elements");
  EXPECT_EQ(problemOf({GeluGradient, 1, 0, -1, -1}, {product, result, result}), "has wrong operands");
  EXPECT_EQ(problemOf({GeluGradient, 1, 0, 1, 2}, {product, result, row, result}), "has wrong operands");
  EXPECT_EQ(problemOf({Gelu, HUGE_VAL, 0, -1, 1}, {product, row, result}), "has factors that are not finite");
  EXPECT_EQ(problemOf({Gelu, 1, 0, -1, -1}, {}), "has no epilogue");
}

} // namespace
