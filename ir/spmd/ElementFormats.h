//===- ElementFormats.h - formats of arguments and results ------*- C++ -*-===//
//
// IR has neither complex numbers nor narrow ones: an array of them is an array of another type, as
// runtime/support/ElementFormat.h says. An attribute tells the reports, and the files that a run reads and writes.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/support/ElementFormat.h"

#include "mlir/IR/BuiltinAttributes.h"

namespace spmdc {

/// Argument and result attribute: the name of the format of the array's elements, a text. Absent for a plain one.
inline constexpr llvm::StringLiteral kFormatAttrName = "spmd.format";

inline mlir::Attribute getFormatAttr(mlir::MLIRContext *context, spmd::ElementFormat format) {
  return mlir::StringAttr::get(context, spmd::elementFormatNames[static_cast<size_t>(format)]);
}

/// The format that the attribute names. Plain if it is absent, or names none, as in IR that a user wrote.
inline spmd::ElementFormat formatOf(mlir::Attribute attribute) {
  auto name = llvm::dyn_cast_or_null<mlir::StringAttr>(attribute);
  for (size_t i = 0; name && i < spmd::elementFormatNames.size(); ++i)
    if (name.getValue() == llvm::StringRef(spmd::elementFormatNames[i]))
      return static_cast<spmd::ElementFormat>(i);
  return spmd::ElementFormat::Plain;
}

} // namespace spmdc
