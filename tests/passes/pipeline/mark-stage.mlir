// RUN: spmd-opt %s --spmdc-mark-stage=stage=partitioned | FileCheck %s
// RUN: not spmd-opt %s --spmdc-mark-stage=stage=somewhere 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// The stage is an attribute of the module, so that spmdc can continue from a dumped file.
// CHECK: module attributes {spmd.stage = "partitioned"}
// UNKNOWN: error: 'somewhere' is not a stage
module {}
