//===- ProgramTest.cpp - compiled programs against the reference ----------===//
//
// Each is compared with the reference evaluator, and run with the ranges of its kernels split, which must give the same
// bits.
//
//===----------------------------------------------------------------------===//

#include "tests/passes/cpu/CompiledProgramHelper.h"
#include "tests/passes/support/ProgramCases.h"

#include <gtest/gtest.h>

using namespace spmdc;

// tanh, of at most 1, is within 4 units of the last place; if x cancels it, these units remain.
TEST(Program, Elementwise) {
  for (std::string shape : {"7", "1000", "131, 1000", "3, 5, 7"})
    checkProgram(elementwiseProgram(shape), {.tolerances = {{.ulps = 4, .absolute = 4 * 0x1p-24}}}, compileForCpu);
}

TEST(Program, Softmax) {
  for (std::string rows : {"1", "7"})
    for (std::string size : {"1", "3", "1000"})
      checkProgram(softmaxProgram(rows, size), {.tolerances = {{.ulps = 16}}}, compileForCpu);
}

TEST(Program, SoftmaxOverFirstDimension) {
  checkProgram(softmaxOverFirstProgram("33", "301"), {.tolerances = {{.ulps = 16}}}, compileForCpu);
}

// Few iterations of each row are emitted one by one: reductions of windows, and what follows in the same kernel.
TEST(Program, ShortReductions) {
  for (std::string channels : {"1", "5", "64", "133"}) {
    checkProgram(windowsProgram("sum", "7", channels), {.inputs = InputKind::Exact}, compileForCpu);
    checkProgram(windowsProgram("max", "7", channels), {.inputs = InputKind::Wild}, compileForCpu);
  }
  for (std::string size : {"2", "4", "5"}) {
    checkProgram(softmaxProgram("301", size), {.tolerances = {{.ulps = 16}}}, compileForCpu);
    checkProgram(softmaxOverFirstProgram(size, "301"), {.tolerances = {{.ulps = 16}}}, compileForCpu);
  }
}

// All rows are computed for a block of lanes, the last of which is not full, then for the next.
TEST(Program, BlocksOfLanes) {
  for (std::string inner : {"6", "20"})
    for (std::string lanes : {"133", "300"})
      checkProgram(laneProductsProgram(inner, lanes), {.inputs = InputKind::Exact}, compileForCpu);
}

// The elements of a row that fill no vector, and rows that fill none; the widths of vectors differ by type.
TEST(Program, RowsOfEveryRemainder) {
  for (int64_t size = 2; size < 50; ++size) {
    SCOPED_TRACE(size);
    checkProgram(softmaxProgram("19", std::to_string(size)), {.tolerances = {{.ulps = 16}}}, compileForCpu);
    for (std::string type : {"f32", "f64", "i8"}) {
      checkProgram(rowsProgram("sum", type, "19", size), {.inputs = InputKind::Exact}, compileForCpu);
      checkProgram(rowsProgram("min", type, "19", size), {.inputs = InputKind::Wild}, compileForCpu);
    }
  }
}

// Rows of every length times a vector, and long ones that are split.
TEST(Program, VectorProducts) {
  for (std::string type : {"f32", "f64", "bf16", "f16", "i8", "i32"}) {
    InputKind inputs = type[0] == 'i' ? InputKind::Wild : InputKind::Exact;
    for (int64_t size : {0, 1, 2, 3, 8, 15, 16, 17, 31, 33, 100})
      for (int64_t batch : {1, 3}) {
        SCOPED_TRACE(type + " of " + std::to_string(batch) + " x 37 x " + std::to_string(size));
        checkProgram(vectorProductProgram(type, batch, 37, size), {.inputs = inputs}, compileForCpu);
      }
    checkProgram(vectorProductProgram(type, 1, 2, 70003), {.inputs = inputs}, compileForCpu);
    checkProgram(vectorProductProgram(type, 5, 1, 20), {.inputs = inputs}, compileForCpu);
  }
}

// Columns of short rows: rows are added to rows of another block, with and without a remainder; the column of an
// element is a remainder of its position.
TEST(Program, ColumnsOfShortRows) {
  constexpr int64_t elements = 1 << 16; // The fewest that are added in blocks.
  for (int64_t columns : {1, 2, 3, 4, 7, 8, 12, 16, 31})
    for (int64_t rows : {elements / columns + columns, elements / columns / 64 * 64 + 128}) {
      std::string r = std::to_string(rows), c = std::to_string(columns);
      SCOPED_TRACE(r + " x " + c);
      checkProgram(columnsProgram("sum", "i32", r, c), {.inputs = InputKind::Wild}, compileForCpu);
      checkProgram(columnsProgram("max", "bf16", r, c), {.inputs = InputKind::Exact}, compileForCpu);
    }
  for (std::string columns : {"4", "10"})
    checkProgram(softmaxOverFirstProgram("17000", columns), {.tolerances = {{.ulps = 64}}}, compileForCpu);
}

TEST(Program, FullReductionInBlocks) {
  for (std::string size : {"70003", "65536"})
    checkProgram(fullReductionProgram(size), {.tolerances = {{.ulps = 1e4}}}, compileForCpu);
}

// Blocks of several dimensions, with and without a remainder, and of long rows.
TEST(Program, FullReductionOfSeveralDimensions) {
  for (std::string sizes : {"256, 1024", "997, 3, 61", "37, 20011", "3, 40009"})
    checkProgram(fullReductionProgram(sizes, sizes == "997, 3, 61" ? "0, 1, 2" : "0, 1"),
                 {.tolerances = {{.ulps = 1e4}}}, compileForCpu);
}

// Loops are split where another array begins, and each part reads one array.
TEST(Program, JoinedArrays) {
  for (std::string rows : {"2", "40"})
    for (std::string size : {"1", "17", "133"})
      checkProgram(joinedProgram(rows, size), {.tolerances = {{.ulps = 1}, {}, {}}}, compileForCpu);
}

// The test for padding runs once for a range: of rows and columns, of only one of them, and of ranges without padding.
TEST(Program, PaddedArrays) {
  for (std::string rows : {"2", "9", "40"})
    for (std::string size : {"3", "17", "133"})
      checkProgram(paddedProgram(rows, size), {.inputs = InputKind::Wild}, compileForCpu);
}

TEST(Program, Transposes) { checkProgram(transposeProgram(), {.inputs = InputKind::Wild}, compileForCpu); }

TEST(Program, Scans) { checkProgram(scanProgram(), {.inputs = InputKind::Wild}, compileForCpu); }

TEST(Program, ArgumentReturnedAndResultTwice) {
  checkProgram(returnProgram(), {.inputs = InputKind::Wild}, compileForCpu);
}
