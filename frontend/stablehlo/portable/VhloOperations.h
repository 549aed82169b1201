//===- VhloOperations.h - the operations of VHLO ----------------*- C++ -*-===//
//
// VHLO has each operation of StableHLO once for each version of its attributes: `vhlo.gather_v1`, `vhlo.gather_v2`. All
// attributes are present, and those that StableHLO groups are single ones: `offset_dims` of a gather's dimensions.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/stablehlo/portable/Bytes.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OperationSupport.h"

#include <optional>
#include <string>

namespace spmdc::stablehlo::portable {

/// The names of the attributes in an operation's properties, in the order of the bytes. `name` is that of a dialect's
/// operation: `vhlo.gather_v2`, `sdy.mesh`. Nullopt for an operation that is not known.
std::optional<llvm::SmallVector<llvm::StringRef>> attributesOf(llvm::StringRef name);

/// The operation of StableHLO or `func`: `stablehlo.gather` of `gather_v2`. A return is that of its function or region.
std::string nameInStablehlo(llvm::StringRef vhloName, bool isInFunction);

/// Turns the attributes of `vhlo.NAME` into those of the operation `target`. Damaged ones set the failure.
void convertAttributes(llvm::StringRef target, mlir::NamedAttrList &attributes, mlir::MLIRContext *context,
                       ReadFailure &failure);

} // namespace spmdc::stablehlo::portable
