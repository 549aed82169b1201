//===- Passes.td - bookkeeping of the pipeline ----------------*- tablegen -*-===//
#ifndef SPMDC_PIPELINE_PASSES
#define SPMDC_PIPELINE_PASSES

include "mlir/Pass/PassBase.td"

def MarkStage : Pass<"spmdc-mark-stage", "mlir::ModuleOp"> {
  let summary = "Notes on the module which stage it has reached";
  let description = [{
    Sets the module's attribute `spmd.stage`, so that a dumped file can be given to `spmdc` again and goes on from
    where it was written: `module attributes {spmd.stage = "partitioned"}`.
  }];
  let options = [Option<"stage", "stage", "std::string", "\"\"", "The stage's name, as --emit= has it">];
}

#endif
