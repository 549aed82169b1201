//===- LargeShapeTest.cpp - large shapes on a GPU -------------------------===//
//
// Columns that several threads share, reductions and scans that are split into blocks, narrow elements in squares, rows
// that are kept in the shared memory of a launch: each with sizes that leave remainders, with one element, and with
// NaN, emulated and compared with the reference.
//
//===----------------------------------------------------------------------===//

#include "tests/passes/gpu/GpuProgramHelper.h"
#include "tests/passes/support/ProgramCases.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace spmdc;

namespace {

std::string replaceAll(std::string text, const std::vector<std::pair<std::string, std::string>> &values) {
  for (const auto &[name, value] : values)
    for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + value.size()))
      text.replace(at, name.size(), value);
  return text;
}

/// One operation on one array.
std::string oneOperation(const std::string &operation, const std::string &from, const std::string &to) {
  return replaceAll(R"(func.func @main(%x: !spmd.array<$from>) -> !spmd.array<$to> {
    %0 = array.$operation : <$from> -> <$to>
    return %0 : !spmd.array<$to>
  })",
                    {{"$operation", operation}, {"$from", from}, {"$to", to}});
}

std::string columns(const std::string &kind, const std::string &type, const std::string &rows,
                    const std::string &size) {
  return oneOperation("reduce " + kind + " %x dims [0]", type + "[" + rows + ", " + size + "]",
                      type + "[" + size + "]");
}

std::string scan(const std::string &kind, const std::string &type, const std::string &shape, int dim,
                 const std::string &direction = "") {
  std::string array = type + "[" + shape + "]";
  return oneOperation("cumulative " + kind + " %x dim " + std::to_string(dim) + direction, array, array);
}

void check(const std::string &text, InputKind inputs, Tolerance tolerance = {}) {
  SCOPED_TRACE(text);
  checkProgram(text, {.inputs = inputs, .tolerances = {tolerance}}, compileForGpu);
}

std::string codeOf(const std::string &text) {
  std::unique_ptr<MLIRContext> context = makeTestContext();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, context.get());
  return GpuProgram(*module).artifact.code;
}

/// The launches of a program, and the shared memory that the largest of them requests.
std::pair<size_t, int32_t> launchesOf(const std::string &text, const std::string &chip = "sm_90") {
  std::unique_ptr<MLIRContext> context = makeTestContext();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, context.get());
  GpuProgram program(*module, chip);
  int32_t most = 0;
  for (const spmd::KernelInfo &kernel : program.artifact.plan.kernels)
    most = std::max(most, kernel.sharedBytes);
  return {program.artifact.plan.kernels.size(), most};
}

} // namespace

// One strip and several, neighbouring columns in a thread, and lanes without a column of their own.
TEST(GpuLargeShape, SumsOfColumns) {
  for (auto [rows, size] : std::vector<std::pair<std::string, std::string>>{
           {"1", "1"}, {"1", "40"}, {"7", "3"}, {"64", "1"}, {"300", "130"}, {"33", "1027"}, {"130", "256"}}) {
    check(columns("sum", "i32", rows, size), InputKind::Wild);
    check(columns("max", "f32", rows, size), InputKind::Wild);
    check(columns("sum", "bf16", rows, size), InputKind::Exact);
  }
  check(columns("prod", "i64", "40", "70"), InputKind::Wild);
  check(columns("min", "f16", "70", "40"), InputKind::Wild);
  check(columns("or", "bool", "50", "64"), InputKind::Wild);
}

// Split into blocks of rows: without a remainder, and with one, since 4099 is prime.
TEST(GpuLargeShape, SumsOfLongColumns) {
  for (auto [rows, size] :
       std::vector<std::pair<std::string, std::string>>{{"4096", "80"}, {"4099", "65"}, {"300007", "1"}}) {
    check(columns("sum", "i32", rows, size), InputKind::Wild);
    check(columns("max", "f32", rows, size), InputKind::Wild);
    check(columns("min", "bf16", rows, size), InputKind::Wild);
  }
  check(columns("sum", "f32", "4099", "65"), InputKind::Ordinary, {.ulps = 64, .absolute = 0.05});
}

// A reduction of a middle dimension: the adjacent elements of a thread are along another dimension.
TEST(GpuLargeShape, SumsOfMiddleDimensions) {
  check(oneOperation("reduce sum %x dims [1]", "i32[5, 70, 64]", "i32[5, 64]"), InputKind::Wild);
  check(oneOperation("reduce sum %x dims [0, 2]", "i32[70, 64, 70]", "i32[64]"), InputKind::Wild);
  check(oneOperation("reduce max %x dims [0, 1]", "f32[70, 70, 64]", "f32[64]"), InputKind::Wild);
  // Short rows are adjacent in memory.
  check(oneOperation("reduce sum %x dims [1]", "i32[3000, 5]", "i32[3000]"), InputKind::Wild);
}

TEST(GpuLargeShape, SumsOfEverything) {
  for (std::string size : {"327680", "262147"}) {
    check(oneOperation("reduce sum %x dims [0]", "i32[" + size + "]", "i32[]"), InputKind::Wild);
    check(oneOperation("reduce max %x dims [0]", "bf16[" + size + "]", "bf16[]"), InputKind::Wild);
  }
  for (std::string size : {"131072", "100003"})
    check(oneOperation("reduce sum %x dims [1]", "i32[3, " + size + "]", "i32[3]"), InputKind::Wild);
}

// Rows that some lanes of a warp share: all of them in use or not, with rows left for a last block, and so many rows
// that a thread takes several rounds.
TEST(GpuLargeShape, SumsOfNarrowRows) {
  for (auto [rows, size] : std::vector<std::pair<std::string, std::string>>{
           {"3", "20"}, {"77", "12"}, {"65", "64"}, {"33", "31"}, {"40001", "56"}}) {
    std::string from = "[" + rows + ", " + size + "]", to = "[" + rows + "]";
    check(oneOperation("reduce sum %x dims [1]", "i32" + from, "i32" + to), InputKind::Wild);
    check(oneOperation("reduce max %x dims [1]", "bf16" + from, "bf16" + to), InputKind::Wild);
  }
}

TEST(GpuLargeShape, SoftmaxOfNarrowRows) {
  SKIP_WITHOUT_LIBDEVICE();
  check(softmaxProgram("40001", "32"), InputKind::Ordinary, {.ulps = 16});
}

// The threads beyond the last row may read elements of it that its own threads have overwritten.
TEST(GpuLargeShape, NarrowRowsAreReadBeforeTheyAreWritten) {
  std::string text = replaceAll(R"(func.func @main(%x: !spmd.array$t) -> (!spmd.array$t, !spmd.array<i32[77]>) {
    %m = array.reduce max %x dims [1] : $t -> <i32[77]>
    %mb = array.broadcast_in_dim %m dims [0] : <i32[77]> -> $t
    %d = array.subtract %x, %mb : $t
    return %d, %m : !spmd.array$t, !spmd.array<i32[77]>
  })",
                                {{"$t", "<i32[77, 12]>"}});
  EXPECT_EQ(checkKernels(text, {.inputs = InputKind::Wild}, compileForGpu), 1);
}

// Values computed from a column's sums, and values stored for each element: the strips of a column share both.
TEST(GpuLargeShape, CentredColumns) {
  for (auto [rows, size] : std::vector<std::pair<std::string, std::string>>{{"300", "130"}, {"65", "1"}, {"1", "9"}})
    check(replaceAll(R"(func.func @main(%x: !spmd.array$t) -> (!spmd.array$t, !spmd.array<i32[$size]>) {
      %m = array.reduce max %x dims [0] : $t -> <i32[$size]>
      %mb = array.broadcast_in_dim %m dims [1] : <i32[$size]> -> $t
      %d = array.subtract %x, %mb : $t
      %s = array.reduce sum %d dims [0] : $t -> <i32[$size]>
      %sb = array.broadcast_in_dim %s dims [1] : <i32[$size]> -> $t
      %r = array.multiply %d, %sb : $t
      return %r, %s : !spmd.array$t, !spmd.array<i32[$size]>
    })",
                     {{"$t", "<i32[" + rows + ", " + size + "]>"}, {"$size", size}}),
          InputKind::Wild);
}

// Each input and output of columns that several threads share may share memory.
TEST(GpuLargeShape, ColumnsAreReadBeforeTheyAreWritten) {
  std::string text = replaceAll(R"(func.func @main(%x: !spmd.array$t, %b: !spmd.array<i32[70]>)
      -> (!spmd.array$t, !spmd.array<i32[70]>) {
    %b0 = array.broadcast_in_dim %b dims [1] : <i32[70]> -> $t
    %s = array.add %x, %b0 : $t
    %m = array.reduce max %s dims [0] : $t -> <i32[70]>
    %mb = array.broadcast_in_dim %m dims [1] : <i32[70]> -> $t
    %d = array.subtract %x, %mb : $t
    %sum = array.add %m, %b : <i32[70]>
    return %d, %sum : !spmd.array$t, !spmd.array<i32[70]>
  })",
                                {{"$t", "<i32[500, 70]>"}});
  EXPECT_EQ(checkKernels(text, {.inputs = InputKind::Wild}, compileForGpu), 2);
}

// Several adjacent elements in a thread, over several rounds, with warps and blocks; and split into blocks, with a
// remainder. Of 600 and 300 rows, two and four rounds are computed at once, and others follow.
TEST(GpuLargeShape, ScansOfRows) {
  for (std::string shape :
       {"1, 1", "3, 2", "5, 1300", "7, 4096", "2, 5004", "300, 36", "2, 60000", "600, 700", "300, 5800"}) {
    check(scan("sum", "i32", shape, 1), InputKind::Wild);
    check(scan("max", "f32", shape, 1), InputKind::Wild);
  }
  check(scan("sum", "i64", "262150", 0), InputKind::Wild);
  check(scan("sum", "f16", "3, 1000", 1), InputKind::Exact);
}

// Blocks of which each passes on its total: a remainder, several lines, narrow and wide elements, more blocks than a
// group has.
TEST(GpuLargeShape, ScansOfBlocks) {
  check(scan("sum", "i32", "65539", 0), InputKind::Wild);
  check(scan("sum", "i32", "69632", 0, " reversed"), InputKind::Wild);
  check(scan("min", "bf16", "65540", 0), InputKind::Wild);
  check(scan("prod", "i32", "65539", 0), InputKind::Wild);
  // Partial sums stay in f32: each element is rounded once.
  check(scan("sum", "bf16", "66048", 0), InputKind::Exact);
  check(scan("sum", "i32", "3, 65536", 1), InputKind::Wild);
  check(scan("max", "f32", "2, 3, 66000, 1", 2, " reversed"), InputKind::Wild);
  check(scan("sum", "i8", "65542", 0), InputKind::Wild);
  check(scan("max", "bool", "65542", 0), InputKind::Wild);
  check(scan("sum", "i32", "2, 528392", 1), InputKind::Wild);
}

// The threads of a block keep the elements from which the sums of rows were subtracted, then scan all rows as one; the
// scans of each row are another kernel. Blocks of 2051 elements leave some threads without any.
TEST(GpuLargeShape, ScansOfBlocksBesideReductions) {
  for (auto [rows, size, count] : {std::tuple("17", "4096", "69632"), std::tuple("33", "2051", "67683")}) {
    std::string text = replaceAll(R"(func.func @main(%x: !spmd.array$t)
        -> (!spmd.array$t, !spmd.array$f, !spmd.array$f, !spmd.array$t) {
      %s = array.reduce sum %x dims [1] : $t -> <i32[$rows]>
      %b = array.broadcast_in_dim %s dims [0] : <i32[$rows]> -> $t
      %y = array.subtract %x, %b : $t
      %f = array.reshape %y : $t -> $f
      %c = array.cumulative sum %f dim 0 : $f -> $f
      %m = array.cumulative max %f dim 0 : $f -> $f
      %r = array.cumulative sum %y dim 1 : $t -> $t
      return %y, %c, %m, %r : !spmd.array$t, !spmd.array$f, !spmd.array$f, !spmd.array$t
    })",
                                  {{"$rows", rows},
                                   {"$t", "<i32[" + std::string(rows) + ", " + size + "]>"},
                                   {"$f", "<i32[" + std::string(count) + "]>"}});
    EXPECT_EQ(checkKernels(text, {.inputs = InputKind::Wild}, compileForGpu), 2) << size;
  }
}

TEST(GpuLargeShape, ScansOfColumns) {
  for (std::string shape : {"1, 1", "300, 65", "4099, 65", "8192, 40", "3, 4100, 33"}) {
    int dim = shape[0] == '3' && shape.size() > 10 ? 1 : 0;
    check(scan("sum", "i32", shape, dim), InputKind::Wild);
    check(scan("max", "bf16", shape, dim, " reversed"), InputKind::Wild);
  }
}

// 2 and 4 adjacent elements if both sides allow it, else fewer.
TEST(GpuLargeShape, TransposesOfNarrowElements) {
  for (std::string type : {"bf16", "f16", "i8", "bool"})
    for (auto [rows, size] : std::vector<std::pair<std::string, std::string>>{
             {"64", "64"}, {"66", "130"}, {"65", "33"}, {"128", "256"}, {"132", "68"}, {"8", "8"}, {"9", "8"}})
      check(oneOperation("transpose %x perm [1, 0]", type + "[" + rows + ", " + size + "]",
                         type + "[" + size + ", " + rows + "]"),
            InputKind::Wild);
  // Elements of two widths in one square.
  check(R"(func.func @main(%x: !spmd.array<bf16[66, 70]>, %y: !spmd.array<f32[70, 66]>) -> !spmd.array<f32[70, 66]> {
    %t = array.transpose %x perm [1, 0] : <bf16[66, 70]> -> <bf16[70, 66]>
    %w = array.convert %t : <bf16[70, 66]> -> <f32[70, 66]>
    %0 = array.add %w, %y : <f32[70, 66]>
    return %0 : !spmd.array<f32[70, 66]>
  })",
        InputKind::Wild);
}

// In registers, in shared memory that the kernel declares, in that of the launch, or not kept; by a block, and by
// clusters of blocks.
TEST(GpuLargeShape, LongRowsAreKept) {
  SKIP_WITHOUT_LIBDEVICE();
  auto compileForBlocks = [](ModuleOp module) { return std::make_unique<GpuProgram>(module, "sm_80"); };
  for (std::string size : {"4096", "16384", "20000", "40004"}) {
    std::string text = softmaxProgram("2", size);
    for (const MakeProgram &compile : {MakeProgram(compileForGpu), MakeProgram(compileForBlocks)}) {
      checkProgram(text, {.tolerances = {{.ulps = 16}}}, compile);
      checkProgram(replaceAll(text, {{"f32", "bf16"}}), {.tolerances = {{.ulps = 4}}}, compile);
    }
  }
  // There are enough rows; with few blocks, a kernel would end after the sums.
  checkProgram(softmaxProgram("44", "40004"), {.tolerances = {{.ulps = 16}}}, compileForBlocks);
  check(softmaxProgram("33", "66004"), InputKind::Ordinary, {.ulps = 16});
  // A block of sm_80 has memory for ten rounds of four neighbours by 1024 threads; one of sm_90 for 14, and eight such
  // blocks share a row. Fewer rounds are in registers, or leave room for other blocks.
  constexpr int32_t kRound = 4 * 1024 * 4;
  for (auto [chip, size, rounds] :
       std::vector<std::tuple<std::string, std::string, int32_t>>{{"sm_80", "40000", 10},
                                                                  {"sm_80", "41216", 0},
                                                                  {"sm_90", "40000", 0},
                                                                  {"sm_90", "131072", 4},
                                                                  {"sm_90", "458752", 14}}) {
    auto [kernels, sharedBytes] = launchesOf(softmaxProgram("64", size), chip);
    EXPECT_EQ(kernels, 1u) << size;
    EXPECT_EQ(sharedBytes, rounds * kRound) << size;
  }
  auto [kernels, sharedBytes] = launchesOf(softmaxProgram("64", "458756"));
  EXPECT_GT(kernels, 1u);
  EXPECT_EQ(sharedBytes, 0);
}

// One thread of a cluster overwrites an input that the threads of all its blocks read; and layer norms keep two values.
TEST(GpuLargeShape, RowsOfClusters) {
  std::string text = replaceAll(R"(func.func @main(%x: !spmd.array$t, %b: !spmd.array<i32[3]>)
      -> (!spmd.array$t, !spmd.array<i32[3]>) {
    %b0 = array.broadcast_in_dim %b dims [0] : <i32[3]> -> $t
    %s = array.add %x, %b0 : $t
    %m = array.reduce max %s dims [1] : $t -> <i32[3]>
    %mb = array.broadcast_in_dim %m dims [0] : <i32[3]> -> $t
    %d = array.subtract %x, %mb : $t
    %sum = array.add %m, %b : <i32[3]>
    return %d, %sum : !spmd.array$t, !spmd.array<i32[3]>
  })",
                                {{"$t", "<i32[3, 20003]>"}});
  EXPECT_NE(codeOf(text).find(".reqnctapercluster 4, 1, 1"), std::string::npos);
  EXPECT_EQ(checkKernels(text, {.inputs = InputKind::Wild}, compileForGpu), 2);
}

// Every distance to the next bf16, ties among them; subnormal numbers, infinities and NaN. All bits are compared.
TEST(GpuLargeShape, RoundingToBf16) {
  for (std::string chip : {"sm_90", "sm_75"})
    checkProgram(R"(func.func @main() -> (!spmd.array<bf16[65536]>, !spmd.array<bf16[65536]>) {
      %i = array.iota dim 0 : <i32[65536]>
      %c = array.constant dense<65536> : tensor<65536xi32> -> <i32[65536]>
      %h = array.constant dense<32768> : tensor<65536xi32> -> <i32[65536]>
      %p = array.constant dense<65497> : tensor<65536xi32> -> <i32[65536]>
      %high = array.multiply %i, %c : <i32[65536]>
      %tie = array.add %high, %h : <i32[65536]>
      %any = array.multiply %i, %p : <i32[65536]>
      %x = array.bitcast_convert %tie : <i32[65536]> -> <f32[65536]>
      %y = array.bitcast_convert %any : <i32[65536]> -> <f32[65536]>
      %0 = array.convert %x : <f32[65536]> -> <bf16[65536]>
      %1 = array.convert %y : <f32[65536]> -> <bf16[65536]>
      return %0, %1 : !spmd.array<bf16[65536]>, !spmd.array<bf16[65536]>
    })",
                 {}, [&](ModuleOp module) { return std::make_unique<GpuProgram>(module, chip); });
}

// Values that only move are not converted, since that would replace a NaN by another one.
TEST(GpuLargeShape, MovedBf16KeepsItsBits) {
  std::string text = R"(func.func @main(%x: !spmd.array<bf16[64, 34]>) -> !spmd.array<bf16[68, 64]> {
    %n = array.negate %x : <bf16[64, 34]>
    %t = array.concatenate %n, %x dim 1 : !spmd.array<bf16[64, 34]>, !spmd.array<bf16[64, 34]> -> <bf16[64, 68]>
    %r = array.transpose %t perm [1, 0] : <bf16[64, 68]> -> <bf16[68, 64]>
    return %r : !spmd.array<bf16[68, 64]>
  })";
  check(text, InputKind::Wild);
  EXPECT_EQ(codeOf(text).find("cvt.rn.bf16"), std::string::npos);
  EXPECT_NE(codeOf(columns("sum", "bf16", "3", "3")).find("cvt.rn.bf16.f32"), std::string::npos);
}
