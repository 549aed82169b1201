//===- Dialects.h - StableHLO, CHLO and Shardy ------------------*- C++ -*-===//
//
// The dialects of exported JAX programs. They exist in the importer alone: no pass behind it sees them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/spmd/SpmdTypes.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"

#include "frontend/stablehlo/dialect/ChloOpsDialect.h.inc"
#include "frontend/stablehlo/dialect/SdyOpsDialect.h.inc"
#include "frontend/stablehlo/dialect/StablehloOpsDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "frontend/stablehlo/dialect/SdyOpsAttrs.h.inc"
#define GET_ATTRDEF_CLASSES
#include "frontend/stablehlo/dialect/StablehloOpsAttrs.h.inc"

#define GET_OP_CLASSES
#include "frontend/stablehlo/dialect/ChloOps.h.inc"
#define GET_OP_CLASSES
#include "frontend/stablehlo/dialect/SdyOps.h.inc"
#define GET_OP_CLASSES
#include "frontend/stablehlo/dialect/StablehloOps.h.inc"

namespace spmdc::stablehlo {

/// The composite that an exported program has for array.threefry2x32: of two words of a key and two of a counter it
/// gives both words of the block.
inline constexpr llvm::StringLiteral kThreefry = "spmdc.threefry2x32";

} // namespace spmdc::stablehlo
