//===- CollectiveBroadcast.td - a broadcast from a run-time root --*- tablegen -*-===//
//
// Created by the partitioner, and by the importer of StableHLO in manual regions; the language has no name for it, so it
// has no derivative. It has a file of its own to keep SpmdOps.td short.
//
//===----------------------------------------------------------------------===//

#ifndef SPMDC_COLLECTIVE_BROADCAST
#define SPMDC_COLLECTIVE_BROADCAST

include "ir/interfaces/OpInterfaces.td"
include "ir/spmd/SpmdBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Spmd_CollectiveBroadcastOp
    : Op<Spmd_Dialect, "collective_broadcast", [Pure, DeclareOpInterfaceMethods<CollectiveOpInterface>,
         DeclareOpInterfaceMethods<ShardingRuleOpInterface>]> {
  let summary = "Sends the operand of one device to all devices of its group";
  let description = [{
    StableHLO's collective_broadcast, with a source that is known at run time: `root` (i32) is its position in the
    group. All devices of the group must have the same `root`, which must be in range.
    `spmd.collective_broadcast %x from %root over <a> : <f32[300]>, <i32[]> -> <f32[300]>`
  }];
  let arguments = (ins Spmd_ArrayType:$operand, Spmd_ArrayType:$root, Spmd_AxesAttr:$axes, OptionalAttr<StrAttr>:$why);
  let results = (outs Spmd_ArrayType:$result);
  let assemblyFormat = [{
    $operand `from` $root `over` $axes attr-dict `:` type($operand) `,` type($root) `->` type($result)
  }];
  let hasVerifier = 1;
}

#endif
