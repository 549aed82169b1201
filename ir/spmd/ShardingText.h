//===- ShardingText.h - text of shardings -----------------------*- C++ -*-===//
#pragma once

#include "ir/spmd/SpmdTypes.h"

#include "mlir/IR/OpImplementation.h"

namespace spmdc {

mlir::FailureOr<llvm::SmallVector<AxisRefAttr>> parseAxisList(mlir::AsmParser &parser,
                                                              mlir::AsmParser::Delimiter delimiter);
void printAxisList(llvm::raw_ostream &os, llvm::ArrayRef<AxisRefAttr> axes);

/// Parses the optional sharding after a dimension's size: `@a`, `@"(a, b)?"`.
mlir::FailureOr<DimShardingAttr> parseOptionalDimSharding(mlir::AsmParser &parser);
/// Prints `@a`; nothing for an open dimension without axes. In IR, text that is more than a name is quoted, `@"(a,
/// b)?"`, since MLIR's lexer would stop there.
void printDimSharding(llvm::raw_ostream &os, DimShardingAttr dim, bool isIR = true);

/// Parses the optional ` unreduced(a, b)`.
mlir::ParseResult parseUnreduced(mlir::AsmParser &parser, llvm::SmallVectorImpl<AxisRefAttr> &unreduced);
void printUnreduced(llvm::raw_ostream &os, llvm::ArrayRef<AxisRefAttr> unreduced);

} // namespace spmdc
