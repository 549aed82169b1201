#include "runtime/artifact/PlanPrinter.h"

#include "tests/runtime/artifact/ExampleArtifact.h"

#include <gtest/gtest.h>

using namespace spmd;

// The full text, because users and scripts read it.
TEST(PlanPrinter, prints_every_kind_of_step) {
  EXPECT_EQ(printPlan(exampleArtifact().plan), R"(plan main for cpu:x86-64-v4
  mesh (a=4, b=2), arena 4096 bytes
  features avx512f, amx-bf16
params:
  x: f32[7, 6] @ P(a, b), local f32[2, 3]
  p.w: bf16[8, 2] @ P(a:(2)2, _) unreduced(b), local bf16[4, 2]
results:
  z: f32[7, 6] @ P(a, _), local f32[2, 6]
  1: f32[8] @ P((a, b)), local f32[1]
buffers:
  %0: f32[2, 3] in argument 0
  %1: bf16[4, 2] in argument 1
  %2: f32[2, 6] in result 0
  %3: f32[2, 3] in arena + 64
  %4: f32[] in constant + 4
  %5: bool[] in arena + 128
  %6: f32[3, 6] in arena + 256
  %7: f32[1, 3] in arena + 512
  %8: f32[1] in result 1
  %9: f32[4, 3] in arena + 1024
kernels:
  fused_relu
  fused_bias, 12 blocks of 128 threads, 1024 shared bytes
steps:
  launch fused_relu(%0, %3) range 6 grain 2                         // mlp.spmd:3:7
  matmul %2 = %3 x %6.T [1 x 2, 6, k 3] then fused_bias(%2, %4)     // mlp.spmd:4:7
  start #0 %3 = all_reduce max over (b) %0                          // mlp.spmd:5:7
  start #1 %2 = all_gather over (b) concat 1 %0                     // mlp.spmd:5:7
  done #0                                                           // mlp.spmd:5:7
  done #1                                                           // mlp.spmd:5:7
  start #2 %7 = reduce_scatter sum over (a:(2)2) split 0 %3         // mlp.spmd:6:7
  done #2                                                           // mlp.spmd:6:7
  start #3 %9 = all_to_all over (b) split 1 concat 0 %2             // mlp.spmd:6:7
  done #3                                                           // mlp.spmd:6:7
  if %5 {                                                           // mlp.spmd:7:7
    start #4 %3 = collective_permute over (a) pairs 0->1, 1->0, 3->2 %0 // mlp.spmd:8:7
    done #4                                                         // mlp.spmd:8:7
    while %5 computed by {                                          // mlp.spmd:10:7
      launch fused_bias(%4, %5) range 1 grain 1                     // mlp.spmd:11:7
    } do {
      copy %3 = %0                                                  // mlp.spmd:12:7
    }
  } else {
    copy %3 = %3                                                    // mlp.spmd:13:7
  }
  start #5 %3 = exchange from P(a, _) to P(a, b) of f32[7, 6] %2    // mlp.spmd:14:7
  done #5                                                           // mlp.spmd:14:7
  print "loss " %2 "\n"                                             // mlp.spmd:15:7
  copy %8 = %4                                                      // unknown
)");
}
