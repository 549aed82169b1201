//===- BudgetTest.cpp - limits for the code of hot kernels ----------------===//
//
// Figures of generated code that determine its speed, for kernels that every model has: the width of accesses, the
// numbers of blocks, launches and registers of a thread, and no spills. A change that makes one of them worse fails
// here, without a GPU.
//
//===----------------------------------------------------------------------===//

#include "tests/passes/gpu/GpuProgramHelper.h"
#include "tests/passes/support/ProgramCases.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <regex>

using namespace mlir;
using namespace spmdc;

namespace {

/// Multiprocessors of an H100.
constexpr int64_t kMultiprocessors = 132;

struct Budget {
  std::string name, program;
  size_t kernels = 1;
  /// For the first kernel, which reads the array: the bytes of each access to global memory, the most loads, and the
  /// registers.
  int64_t accessBytes = 16;
  size_t maxLoads = 2;
  int maxRegisters = 64;
};

std::string fill(std::string text, const std::string &type, const std::string &shape) {
  for (size_t at = text.find("$t"); at != std::string::npos; at = text.find("$t"))
    text.replace(at, 2, "<" + type + "[" + shape + "]>");
  return text;
}

/// x / sqrt(sum of squares) * scale, along rows.
std::string rowNorm(const std::string &type, const std::string &rows, const std::string &size) {
  std::string row = type + "[" + rows + "]", line = type + "[" + size + "]",
              all = type + "[" + rows + ", " + size + "]";
  std::string one = type + "[" + rows + ", 1]";
  return "func.func @main(%x: !spmd.array<" + all + ">, %s: !spmd.array<" + line + ">) -> !spmd.array<" + all +
         "> {\n" + "%0 = array.multiply %x, %x : <" + all + ">\n" + "%1 = array.reduce sum %0 dims [1] : <" + all +
         "> -> <" + row + ">\n" + "%2 = array.rsqrt %1 : <" + row + ">\n" + "%3 = array.reshape %2 : <" + row +
         "> -> <" + one + ">\n" + "%4 = array.broadcast_in_dim %3 dims [0, 1] : <" + one + "> -> <" + all + ">\n" +
         "%5 = array.broadcast_in_dim %s dims [1] : <" + line + "> -> <" + all + ">\n" +
         "%6 = array.multiply %x, %4 : <" + all + ">\n" + "%7 = array.multiply %6, %5 : <" + all +
         ">\nreturn %7 : !spmd.array<" + all + ">\n}";
}

std::string softmax(const std::string &type, const std::string &rows, const std::string &size) {
  std::string text = softmaxProgram(rows, size);
  for (size_t at = text.find("f32["); type != "f32" && at != std::string::npos; at = text.find("f32[", at + 5))
    text.replace(at, 3, type);
  return text;
}

std::string sum(const std::string &from, const std::string &dim, const std::string &to) {
  return "func.func @main(%x: !spmd.array<" + from + ">) -> !spmd.array<" + to +
         "> {\n  %0 = array.reduce sum %x dims [" + dim + "] : <" + from + "> -> <" + to +
         ">\n  return %0 : !spmd.array<" + to + ">\n}";
}

std::string scan(const std::string &type, const std::string &dim) {
  return "func.func @main(%x: !spmd.array<" + type + ">) -> !spmd.array<" + type +
         "> {\n  %0 = array.cumulative sum %x dim " + dim + " : <" + type + "> -> <" + type +
         ">\n  return %0 : !spmd.array<" + type + ">\n}";
}

std::string transpose(const std::string &type) {
  return fill(R"(func.func @main(%x: !spmd.array$t) -> !spmd.array$t {
    %0 = array.transpose %x perm [1, 0] : $t -> $t
    return %0 : !spmd.array$t
  })",
              type, "8192, 8192");
}

/// x / 2 * (1 + tanh(x + x * x * x)), and the loads of one argument before a second function.
std::string gelu(const std::string &type) {
  return fill(R"(func.func @main(%x: !spmd.array$t) -> !spmd.array$t {
    %1 = array.multiply %x, %x : $t
    %2 = array.multiply %1, %x : $t
    %3 = array.add %2, %x : $t
    %4 = array.tanh %3 : $t
    %5 = array.multiply %x, %4 : $t
    %6 = array.add %5, %x : $t
    %7 = array.exp %6 : $t
    return %7 : !spmd.array$t
  })",
              type, "8192, 4096");
}

/// x / |x|: the factor of all elements depends on more than one block.
std::string normalized(const std::string &type) {
  return fill(R"(func.func @main(%x: !spmd.array$t) -> !spmd.array$t {
    %q = array.multiply %x, %x : $t
    %s = array.reduce sum %q dims [0, 1] : $t -> <f32[]>
    %r = array.rsqrt %s : <f32[]>
    %b = array.broadcast_in_dim %r dims [] : <f32[]> -> $t
    %y = array.multiply %x, %b : $t
    return %y : !spmd.array$t
  })",
              type, "8192, 8192");
}

std::vector<Budget> getBudgets() {
  return {
      {"gelu of f32", gelu("f32"), 1, 16, 1, 40},
      {"gelu of bf16", gelu("bf16"), 1, 16, 1, 48},
      {"sums of columns of f32", sum("f32[8192, 8192]", "0", "f32[8192]"), 2, 16, 4, 128},
      {"sums of columns of bf16", sum("bf16[8192, 8192]", "0", "bf16[8192]"), 2, 16, 2, 96},
      {"sums of few columns", sum("f32[1048576, 64]", "0", "f32[64]"), 2, 16, 4, 128},
      {"sum of everything", sum("f32[67108864]", "0", "f32[]"), 2, 16, 4, 128},
      {"sums of few long rows", sum("bf16[16, 4194304]", "1", "bf16[16]"), 2, 16, 2, 96},
      {"sums of rows", sum("f32[8192, 8192]", "1", "f32[8192]"), 1, 16, 8, 64},
      {"sums of narrow rows", sum("f32[1048576, 64]", "1", "f32[1048576]"), 1, 16, 4, 32},
      {"softmax of narrow rows", softmax("f32", "131072", "64"), 1, 16, 4, 32},
      {"norm of everything", normalized("f32"), 3, 16, 4, 128},
      {"scan", scan("f32[16777216]", "0"), 1, 16, 4, 48},
      {"scan of columns", scan("f32[65536, 256]", "0"), 3, 16, 4, 128},
      {"scan of rows", scan("f32[8192, 4096]", "1"), 1, 16, 4, 72},
      {"transpose of f32", transpose("f32"), 1, 4, 4, 40},
      {"transpose of bf16", transpose("bf16"), 1, 4, 8, 64},
      {"transpose of bytes", transpose("i8"), 1, 4, 16, 80},
      {"softmax of f32", softmax("f32", "8192", "4096"), 1, 16, 4, 32},
      {"softmax of bf16", softmax("bf16", "8192", "4096"), 1, 16, 2, 32},
      {"softmax of rows for blocks of 1,024 threads", softmax("f32", "2048", "16384"), 1, 16, 4, 32},
      {"softmax of long rows of bf16", softmax("bf16", "2048", "32768"), 1, 16, 2, 32},
      {"softmax of very long rows of f32", softmax("f32", "256", "131072"), 1, 16, 8, 42},
      {"softmax of long rows of f32", softmax("f32", "1024", "32768"), 1, 16, 4, 32},
  };
}

/// Bytes of an access such as `ld.global.nc.v4.f32`.
int64_t bytesOf(const std::smatch &access) {
  int64_t count = access[1].matched ? std::stoi(access[1]) : 1;
  return count * std::stoi(access[2]) / 8;
}

/// The code of one kernel.
std::string entryOf(const std::string &ptx, const std::string &symbol) {
  size_t begin = ptx.find(".entry " + symbol + "(");
  return begin == std::string::npos ? "" : ptx.substr(begin, ptx.find("\n}\n", begin) - begin);
}

/// The stores of the only kernel; expects that all are of 16 bytes.
size_t countStoresOf16Bytes(const GpuProgram &program) {
  std::string entry = entryOf(program.artifact.code, program.artifact.plan.kernels[0].symbol);
  std::regex access("st\\.global(?:\\.v(\\d))?\\.[a-z](\\d+)\\b");
  size_t stores = 0;
  for (std::sregex_iterator it(entry.begin(), entry.end(), access), end; it != end; ++it, ++stores)
    EXPECT_EQ(bytesOf(*it), 16) << entry;
  return stores;
}

int registersOf(const std::string &report, const std::string &symbol) {
  size_t at = report.find("'" + symbol + "' for");
  std::smatch match;
  std::string rest = at == std::string::npos ? "" : report.substr(at);
  return std::regex_search(rest, match, std::regex("Used (\\d+) registers")) ? std::stoi(match[1]) : 0;
}

} // namespace

TEST(GpuBudget, HotKernels) {
  SKIP_WITHOUT_LIBDEVICE();
  for (const Budget &budget : getBudgets()) {
    SCOPED_TRACE(budget.name);
    std::unique_ptr<MLIRContext> context = makeTestContext();
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(budget.program, context.get());
    ASSERT_TRUE(module);
    GpuProgram program(*module);
    ASSERT_TRUE(program.isGood());
    const std::vector<spmd::KernelInfo> &kernels = program.artifact.plan.kernels;
    EXPECT_EQ(kernels.size(), budget.kernels);
    EXPECT_GE(kernels[0].gridBlocks, kMultiprocessors);
    if (budget.name == "norm of everything")
      EXPECT_GE(kernels.back().gridBlocks, kMultiprocessors);
    std::string entry = entryOf(program.artifact.code, kernels[0].symbol);
    ASSERT_NE(entry, "");
    std::regex access("ld\\.global(?:\\.nc)?(?:\\.v(\\d))?\\.[a-z](\\d+)\\b");
    size_t loads = 0, wide = 0;
    for (std::sregex_iterator it(entry.begin(), entry.end(), access), end; it != end; ++it) {
      ++loads;
      wide += bytesOf(*it) >= budget.accessBytes;
    }
    EXPECT_EQ(wide, loads) << entry;
    EXPECT_GT(loads, 0u) << entry;
    EXPECT_LE(loads, budget.maxLoads) << entry;
  }
}

/// Stores of rows of 16-bit elements, of which a thread has several rounds: LLVM alone left single elements.
TEST(GpuBudget, StoresOfVeryLongRows) {
  SKIP_WITHOUT_LIBDEVICE();
  std::unique_ptr<MLIRContext> context = makeTestContext();
  for (const std::string &text : {softmax("bf16", "256", "131072"), rowNorm("bf16", "256", "131072")}) {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, context.get());
    ASSERT_TRUE(module) << text;
    GpuProgram program(*module);
    ASSERT_TRUE(program.isGood());
    ASSERT_EQ(program.artifact.plan.kernels.size(), 1u);
    EXPECT_EQ(program.findFault(), "");
    EXPECT_GT(countStoresOf16Bytes(program), 0u);
  }
}

/// A forward pass with values kept for the gradient: stores to one output must not come between those to another.
TEST(GpuBudget, StoresOfSeveralOutputs) {
  SKIP_WITHOUT_LIBDEVICE();
  std::unique_ptr<MLIRContext> context = makeTestContext();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(fill(R"(
    func.func @main(%x: !spmd.array$t) -> (!spmd.array$t, !spmd.array$t, !spmd.array$t) {
      %1 = array.multiply %x, %x : $t
      %2 = array.tanh %1 : $t
      %3 = array.add %2, %x : $t
      return %1, %2, %3 : !spmd.array$t, !spmd.array$t, !spmd.array$t
    })",
                                                                  "bf16", "8192, 4096"),
                                                             context.get());
  ASSERT_TRUE(module);
  GpuProgram program(*module);
  ASSERT_TRUE(program.isGood());
  ASSERT_EQ(program.artifact.plan.kernels.size(), 1u);
  EXPECT_EQ(countStoresOf16Bytes(program), 3u);
}

TEST(GpuBudget, Registers) {
  SKIP_WITHOUT_LIBDEVICE();
  if (!GpuProgram::hasPtxas())
    GTEST_SKIP() << "no ptxas: the CUDA toolkit is not installed";
  for (const Budget &budget : getBudgets()) {
    SCOPED_TRACE(budget.name);
    std::unique_ptr<MLIRContext> context = makeTestContext();
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(budget.program, context.get());
    ASSERT_TRUE(module);
    GpuProgram program(*module);
    EXPECT_EQ(program.findFault(), "");
    auto [status, report] = GpuProgram::assemble(program.artifact.code);
    int registers = registersOf(report, program.artifact.plan.kernels[0].symbol);
    EXPECT_GT(registers, 0) << report;
    EXPECT_LE(registers, budget.maxRegisters);
  }
}
