// RUN: spmd-opt %s --spmdc-schedule-kernels --spmdc-assign-buffers --verify-diagnostics -o /dev/null

!large = !spmd.array<f32[18014398509481984]>

// Each of two values that are live together fits; their sum does not, and no offset wraps around.
// expected-error @+1 {{intermediate arrays would need more than 2^56 bytes on each device}}
func.func @two_that_are_large(%x: !large) -> !large {
  %0 = plan.launch @exp(%x) : (!large) -> !large
  %1 = plan.launch @exp(%0) : (!large) -> !large
  %2 = plan.launch @exp(%1) : (!large) -> !large
  %3 = plan.launch @add(%1, %2) : (!large, !large) -> !large
  %4 = plan.launch @add(%1, %3) : (!large, !large) -> !large
  return %4 : !large
}
plan.kernel @exp(%x: !large) {
  %0 = array.exp %x : <f32[18014398509481984]>
  plan.return %0 : !large
}
plan.kernel @add(%x: !large, %y: !large) {
  %0 = array.add %x, %y : <f32[18014398509481984]>
  plan.return %0 : !large
}
