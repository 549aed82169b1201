//===- StreamedStoresTest.cpp - large outputs, past the caches ------------===//
//
// Outputs above the limit of passes/cpu/StreamedStores.cpp, of sizes that no line and no block divides: the same bits
// as the reference, with the range split in all ways, so that parts begin anywhere in a line.
//
//===----------------------------------------------------------------------===//

#include "tests/passes/cpu/CompiledProgramHelper.h"
#include "tests/passes/support/ReferenceCheck.h"

#include <gtest/gtest.h>

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
