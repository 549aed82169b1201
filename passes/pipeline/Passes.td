//===- Passes.td - bookkeeping of the pipeline ----------------*- tablegen -*-===//
#ifndef SPMDC_PIPELINE_PASSES
#define SPMDC_PIPELINE_PASSES

include "mlir/Pass/PassBase.td"

def MarkStage : Pass<"spmdc-mark-stage", "mlir::ModuleOp"> {
  let summary = "Records the stage of the module as an attribute";
  let description = [{
    Sets the module's attribute `spmd.stage`, so that `spmdc` can continue from a dumped file: `module attributes
    {spmd.stage = "partitioned"}`.
  }];
  let options = [Option<"stage", "stage", "std::string", "\"\"", "The stage's name, as in --emit=">];
}

#endif
