//===- GpuProgramsTest.cpp - programs on one emulated GPU -----------------===//
//
// A program on all layers except the GPU: the compiler, the executor, the fake driver, and the kernels in the emulator;
// compared with the same program on a CPU device.
//
//===----------------------------------------------------------------------===//

#include "tests/runtime/exec/cuda/ProgramCheckHelper.h"

#include <gtest/gtest.h>

using namespace spmd;
using namespace spmd::test;

namespace {

// exp and tanh differ from the CPU's by the roundings of both.
TEST(GpuPrograms, Elementwise) {
  SKIP_WITHOUT_LIBDEVICE();
  checkOnGpus("fn main(x: f32[37, 5], y: f32[37, 5], i: i32[100]) {\n"
              "  return (tanh(x) * 0.5, exp(x * 0.1), where(x > y, x, -y), x * y + 1.0, i * i - 3, cast(i, i8));\n"
              "}\n",
              {.ulps = 4});
}

TEST(GpuPrograms, ElementTypes) {
  for (const char *type : {"f64", "f32", "bf16", "f16", "i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8"})
    checkOnGpus(std::string("fn main(x: T[19, 3], y: T[19, 3]) {\n"
                            "  return (x + y, x * y, maximum(x, y), x < y, x.T, concatenate([x, y], axis=1));\n"
                            "}\n"),
                {.type = type});
}

// Sums of small integers are exact in any order.
TEST(GpuPrograms, Reductions) {
  checkOnGpus("fn main(x: f32[33, 70], i: i32[33, 70]) {\n"
              "  return (sum(x, axis=0), sum(x, axis=1), sum(x), max(x, axis=1), argmax(x, axis=1), min(i),\n"
              "          prod(i, axis=0), cumsum(x, axis=1), any(x > 2.0, axis=0), mean(x, axis=0));\n"
              "}\n",
              {.areExact = true});
}

TEST(GpuPrograms, MatrixProducts) {
  for (const char *type : {"f32", "f64", "bf16", "i32"})
    checkOnGpus("fn main(x: T[17, 40], w: T[40, 23], b: T[23], u: T[3, 9, 12], v: T[3, 12, 5]) {\n"
                "  return (x @ w, maximum(x @ w + b, x[0, 0]), w.T @ x.T, einsum(\"bij,bjk->bik\", u, v), x[0] @ w);\n"
                "}\n",
                {.type = type, .areExact = true});
}

TEST(GpuPrograms, Loops) {
  SKIP_WITHOUT_LIBDEVICE();
  checkOnGpus("fn main(x: f32[50], w: f32[4, 50]) {\n"
              "  let s = for i in 0..4 carry (s = x) { yield s + w[i] * cast(i, f32); };\n"
              "  let (y, steps) = while sum(abs(y)) < 5000.0 carry (y = x + 1.0, steps = 0) {\n"
              "    yield (y * 2.0, steps + 1);\n"
              "  };\n"
              "  let z = if sum(x) > 0.0 { s + 1.0 } else { s - 1.0 };\n"
              "  let t = for i in 0..3 carry (t = z) {\n"
              "    yield if i % 2 == 0 { for j in 0..2 carry (t = t) { yield t + cast(i + j, f32); } } else { -t };\n"
              "  };\n"
              "  return (s, y, steps, z, t);\n"
              "}\n",
              {.areExact = true});
}

TEST(GpuPrograms, SortScatterAndSlices) {
  checkOnGpus("fn main(x: f32[9, 41], i: i32[9, 41], k: i32[12], u: f32[12, 41], p: i32, w: f32[2, 7]) {\n"
              "  let at = abs(k) % 9;\n"
              "  return (sort(x, axis=1), argsort(i, axis=0), scatter_add(x, at, u), take(x, at, axis=0),\n"
              "          update(x, w, start=[abs(p), abs(p) + 3]), top_k(x, 3)[1], scatter_add(i, at, cast(u, i32)));\n"
              "}\n",
              {.areExact = true});
}

// A parameter that is a result, a result twice, no computed result, one without elements.
TEST(GpuPrograms, Results) {
  checkOnGpus("fn main(x: f32[6], y: i32[0, 4]) { let z = x + 1.0; return (x, z, z, y, y + 1, 7, sum(y)); }\n");
  checkOnGpus("fn main(x: f32[6, 2]) { return x; }\n");
}

TEST(GpuPrograms, RandomNumbers) {
  checkOnGpus("fn main(n: i32) {\n"
              "  let k = fold_in(key(3), n);\n"
              "  return (bits(k, u32[70]), randint(k, i32[9, 9], -5, 5), uniform(k, f32[40]), key_data(split(k, 3)));\n"
              "}\n");
}

} // namespace
