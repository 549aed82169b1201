// RUN: spmd-opt %s --spmdc-warn-replication 2>&1 | FileCheck %s --implicit-check-not=warning:

module attributes {spmd.mesh = #spmd.mesh<m, a=4, b=2, one=1>} {
// One place gets one warning.
// CHECK: w.spmd:1:2: warning: 2 arrays f32[512@a, 512@_] are replicated on every device, 1.0 MiB each: sort
func.func @twice(%x: !spmd.array<f32[512@a, 512@_]>, %y: !spmd.array<f32[512@a, 512@_]>) {
  %0 = spmd.reshard %x {why = "sort"} : <f32[512@a, 512@_]> -> <f32[512@_, 512@_]> loc(#sorted)
  %1 = spmd.reshard %y {why = "sort"} : <f32[512@a, 512@_]> -> <f32[512@_, 512@_]> loc(#sorted)
  return
}

// An array that is replicated only because an axis has one device is not one that the user wants replicated.
// CHECK: x.spmd:3:11: warning: f32[512@a, 512@one] is replicated on every device, 1.0 MiB each: written
func.func @written_over_an_axis_of_one_device(%x: !spmd.array<f32[512@a, 512@one]>) {
  %0 = spmd.reshard %x {why = "written"} : <f32[512@a, 512@one]> -> <f32[512@_, 512@one]> loc(#written)
  return
}
}
#sorted = loc("w.spmd":1:2)
#expr = loc("x.spmd":3:11)
#type = loc("x.spmd":3:7)
#written = loc(fused<"mark">[#expr, #type])
