//===- ShardingText.h - what shardings and arrays share as text -*- C++ -*-===//
#pragma once

#include "ir/spmd/SpmdTypes.h"

#include "mlir/IR/OpImplementation.h"

namespace spmdc {

mlir::FailureOr<llvm::SmallVector<AxisRefAttr>> parseAxisList(mlir::AsmParser &parser,
                                                              mlir::AsmParser::Delimiter delimiter);
void printAxisList(llvm::raw_ostream &os, llvm::ArrayRef<AxisRefAttr> axes);

/// What stands behind a dimension's size, if anything: `@a`, `@"(a, b)?"`.
mlir::FailureOr<DimShardingAttr> parseOptionalDimSharding(mlir::AsmParser &parser);
/// Prints `@a`; nothing for an open dimension without axes. In IR more than a name is quoted, `@"(a, b)?"`, since
/// MLIR's lexer would stop there.
void printDimSharding(llvm::raw_ostream &os, DimShardingAttr dim, bool isIR = true);

/// ` unreduced(a, b)`, if anything.
mlir::ParseResult parseUnreduced(mlir::AsmParser &parser, llvm::SmallVectorImpl<AxisRefAttr> &unreduced);
void printUnreduced(llvm::raw_ostream &os, llvm::ArrayRef<AxisRefAttr> unreduced);

} // namespace spmdc
