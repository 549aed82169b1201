//===- PlanOps.h - kernels and the steps of a device ------------*- C++ -*-===//
#pragma once

#include "ir/array/ArrayOps.h"
#include "runtime/support/OperandView.h"

#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

#include "ir/plan/PlanOpsDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "ir/plan/PlanOpsAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/plan/PlanOpsTypes.h.inc"
#define GET_OP_CLASSES
#include "ir/plan/PlanOps.h.inc"
