// RUN: spmd-opt %s --spmdc-mark-stage=stage=partitioned | FileCheck %s
// RUN: not spmd-opt %s --spmdc-mark-stage=stage=somewhere 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// The station stands on the module, so that a dumped file can be taken up again.
// CHECK: module attributes {spmd.stage = "partitioned"}
// UNKNOWN: error: 'somewhere' is not a stage
module {}
