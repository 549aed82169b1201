//===- NarrowTypes.h - the types of narrow numbers --------------*- C++ -*-===//
#pragma once

#include "runtime/support/ElementFormat.h"

#include "mlir/IR/BuiltinTypes.h"

namespace spmdc::stablehlo {

/// The format of an element type such as `f8E4M3FN` or `ui4`; null for all others.
const spmd::NarrowFormat *findNarrowElement(mlir::Type element);
/// The same of a tensor's elements.
const spmd::NarrowFormat *findNarrow(mlir::Type tensor);

/// The element type of numbers of a narrow format; null for the other formats.
mlir::Type narrowElement(mlir::MLIRContext *context, spmd::ElementFormat format);

/// The number of bits of an element, as the program has it.
unsigned bitsOf(mlir::Type element);

/// The type of the bytes of a format: `ui8`, or `i8` of signed integers.
mlir::Type storageOf(mlir::MLIRContext *context, const spmd::NarrowFormat &format);
/// The tensor of the bytes of one of narrow numbers; all other types are unchanged.
mlir::Type storageOf(mlir::Type tensor);

/// The first element type in the text of a program that StableHLO has, and no format here: `f6E2M3FN`; empty if
/// there is none. A view of the text.
llvm::StringRef findUnreadElement(llvm::StringRef text);

/// The names of the element types of all formats, separated by spaces, for messages.
std::string listNarrowTypes();

} // namespace spmdc::stablehlo
