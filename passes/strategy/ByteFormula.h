//===- ByteFormula.h - values computed from an array of bytes ---*- C++ -*-===//
//
// The number of a float of 8 bits is a formula of some twenty operations on its byte (frontend/stablehlo/narrow). Such
// a value is rematerialized from the bytes: devices exchange these in the place of its two or four bytes. No operation
// of the formula is of one array (Rematerialization.h), but all of them together are.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/spmd/SpmdTypes.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace spmdc {

struct ByteFormula {
  mlir::Value bytes; ///< i8 or u8, of the value's shape.
  /// From the bytes and rematerializable values to the value; an operation is behind those that it reads.
  llvm::SmallVector<mlir::Operation *> operations;
};

/// The formula of a value of wider elements; nullopt if there is none, or it is not made of bit operations,
/// comparisons, selections and conversions alone, which take less time than bytes on a wire. `getOriginal` maps a copy
/// of a value in another sharding to the value. Visits a bounded number of operations.
std::optional<ByteFormula> findByteFormula(mlir::Value value, llvm::function_ref<mlir::Value(mlir::Value)> getOriginal);

} // namespace spmdc
