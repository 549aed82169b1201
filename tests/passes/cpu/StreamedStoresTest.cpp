//===- StreamedStoresTest.cpp - large outputs, past the caches ------------===//
//
// Outputs above the limit of passes/cpu/StreamedStores.cpp, of sizes that no line and no block divides: the same bits
// as the reference, with the range split in all ways, so that parts begin anywhere in a line.
//
//===----------------------------------------------------------------------===//

#include "tests/passes/cpu/CompiledProgramHelper.h"
#include "tests/passes/support/ReferenceCheck.h"

#include <gtest/gtest.h>

#include <tuple>

using namespace spmdc;

namespace {

/// A sum of two arrays of this type.
std::string sumProgram(const std::string &type) {
  std::string array = "!spmd.array<" + type + ">";
  return "func.func @main(%x: " + array + ", %y: " + array + ") -> " + array + " {\n  %0 = array.add %x, %y : <" +
         type + ">\n  return %0 : " + array + "\n}";
}

} // namespace

TEST(StreamedStores, EveryWidth) {
  for (std::string type : {"f64[1050011]", "bf16[4200011]"}) {
    SCOPED_TRACE(type);
    checkProgram(sumProgram(type), {}, compileForCpu);
  }
}

TEST(StreamedStores, Transpose) {
  checkProgram(R"(func.func @main(%x: !spmd.array<f32[1447, 1463]>, %y: !spmd.array<f32[1463, 1447]>)
      -> !spmd.array<f32[1463, 1447]> {
    %0 = array.transpose %x perm [1, 0] : <f32[1447, 1463]> -> <f32[1463, 1447]>
    %1 = array.subtract %0, %y : <f32[1463, 1447]>
    return %1 : !spmd.array<f32[1463, 1447]>
  })",
               {}, compileForCpu);
}

// Blocks of several rows: short rows (more and fewer elements than a line), of which the reads are far apart or under a
// condition; a second output of other rows, with which each row is a block.
TEST(StreamedStores, ShortRows) {
  for (auto [rows, heads, width] : {std::tuple{701, 3, 1001}, {16001, 11, 13}}) {
    std::string r = std::to_string(rows), h = std::to_string(heads), w = std::to_string(width);
    std::string in = r + ", " + h + ", " + w, out = h + ", " + r + ", " + w;
    SCOPED_TRACE(in);
    checkProgram("func.func @main(%x: !spmd.array<f32[" + in + "]>, %y: !spmd.array<f32[" + w +
                     "]>) -> !spmd.array<f32[" + out + "]> {\n  %0 = array.transpose %x perm [1, 0, 2] : <f32[" + in +
                     "]> -> <f32[" + out + "]>\n  %1 = array.broadcast_in_dim %y dims [2] : <f32[" + w + "]> -> <f32[" +
                     out + "]>\n  %2 = array.subtract %0, %1 : <f32[" + out + "]>\n  return %2 : !spmd.array<f32[" +
                     out + "]>\n}",
                 {}, compileForCpu);
  }
}

TEST(StreamedStores, ShortRowsOfPads) {
  checkProgram(R"(func.func @main(%x: !spmd.array<f32[60000, 33]>) -> !spmd.array<f32[60001, 35]> {
    %zero = array.constant dense<2.5> : tensor<f32> -> <f32[]>
    %0 = array.pad %x with %zero low [1, 1] high [0, 1] interior [0, 0] : <f32[60000, 33]>, <f32[]> -> <f32[60001, 35]>
    return %0 : !spmd.array<f32[60001, 35]>
  })",
               {}, compileForCpu);
}

TEST(StreamedStores, ShortRowsOfTwoOrders) {
  checkProgram(R"(func.func @main(%x: !spmd.array<f32[4001, 9, 64]>)
      -> (!spmd.array<f32[4001, 9, 64]>, !spmd.array<f32[9, 4001, 64]>) {
    %0 = array.negate %x : <f32[4001, 9, 64]>
    %1 = array.transpose %0 perm [1, 0, 2] : <f32[4001, 9, 64]> -> <f32[9, 4001, 64]>
    return %0, %1 : !spmd.array<f32[4001, 9, 64]>, !spmd.array<f32[9, 4001, 64]>
  })",
               {}, compileForCpu);
}

// One output is in memory of its own, the other one replaces the input.
TEST(StreamedStores, InPlace) {
  EXPECT_EQ(checkKernels(R"(module attributes {spmd.mesh = #spmd.mesh<m, d=1>, spmd.stage = "partitioned"} {
    func.func @main(%x: !spmd.array<i32[2100007]>) -> (!spmd.array<i32[2100007]>, !spmd.array<i32[2100007]>) {
      %0 = array.negate %x : <i32[2100007]>
      %1 = array.multiply %x, %x : <i32[2100007]>
      return %0, %1 : !spmd.array<i32[2100007]>, !spmd.array<i32[2100007]>
    }
  })",
                         {}, compileForCpu),
            2);
}
